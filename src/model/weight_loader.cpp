#include "model/weight_loader.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "model/fingerprint.hpp"

namespace lingbot_map {
namespace {

constexpr float kEncoderEpsilon = 1e-6F;
constexpr float kTrunkEpsilon = 1e-5F;

/// Leaves new elements as they are: every one is about to be read from a file.
template <typename T>
struct Unfilled : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = Unfilled<U>;
  };
  template <typename U, typename... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) > 0) ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};
using Values = std::vector<float, Unfilled<float>>;

class WeightLoader {
 public:
  WeightLoader(const Checkpoint& checkpoint, const Config& config, Backend& backend, DType dtype)
      : checkpoint_(checkpoint), config_(config), backend_(backend), trunk_(precision_of(dtype)) {}

  NetworkWeights load(bool point_head) {
    NetworkWeights weights;
    weights.aggregator = aggregator();
    weights.camera = camera();
    weights.depth = dpt("depth_head.");
    if (point_head && config_.has_point_head) weights.points = dpt("point_head.");
    weights.bytes = bytes_;
    weights.fingerprint = fingerprint_.finish(config_.to_json());
    return weights;
  }

 private:
  // ---- Tensors -----------------------------------------------------------------------------------------------------
  [[nodiscard]] const TensorInfo& info(const std::string& name) const {
    const TensorInfo* found = checkpoint_.find(name);
    check(found != nullptr, "tensor ", name, " is in the manifest but not in ", checkpoint_.source());
    return *found;
  }
  [[nodiscard]] bool has(const std::string& name) const { return checkpoint_.find(name) != nullptr; }
  [[nodiscard]] Values read(const std::string& name) {
    const TensorInfo& tensor = info(name);
    Values values(static_cast<std::size_t>(tensor.elements()));
    checkpoint_.read(tensor, values);
    fingerprint_.add(tensor, values);
    return values;
  }
  Buffer upload(std::span<const float> values) {
    Buffer buffer = backend_.allocate(values.size_bytes());
    backend_.upload(std::as_bytes(values), buffer.view(DType::f32, {static_cast<std::int64_t>(values.size())}));
    bytes_ += values.size_bytes();
    return buffer;
  }
  std::shared_ptr<const Matrix> pack(std::span<const float> values, std::int64_t out, Precision precision) {
    auto matrix = backend_.pack(values, out, static_cast<std::int64_t>(values.size()) / out, precision);
    bytes_ += matrix->bytes();
    return matrix;
  }

  // ---- Layers ------------------------------------------------------------------------------------------------------
  Norm norm(const std::string& name, float epsilon) {
    return {.weight = upload(read(name + ".weight")), .bias = upload(read(name + ".bias")), .epsilon = epsilon};
  }
  Linear linear(const std::string& name, Precision precision) {
    const std::int64_t out = info(name + ".weight").shape.front();
    return {.weight = pack(read(name + ".weight"), out, precision), .bias = upload(read(name + ".bias"))};
  }
  /// gamma (x W^T + b) as one product. In fp16 gamma stays outside: times it, a weight may be too small for the type.
  Linear scaled_linear(const std::string& name, const std::string& gamma_name, Precision precision) {
    const Values gamma = read(gamma_name);
    Values bias = read(name + ".bias");
    Values weight = read(name + ".weight");
    for (std::size_t row = 0; row < gamma.size(); ++row) bias[row] *= gamma[row];
    const auto out = static_cast<std::int64_t>(gamma.size());
    if (precision == Precision::f16) {
      return {.weight = pack(weight, out, precision), .bias = upload(bias), .scale = upload(gamma)};
    }
    const std::size_t in = weight.size() / gamma.size();
    for (std::size_t row = 0; row < gamma.size(); ++row) {
      for (float& value : std::span(weight).subspan(row * in, in)) value *= gamma[row];
    }
    return {.weight = pack(weight, out, precision), .bias = upload(bias)};
  }
  BlockWeights block(const std::string& name, float epsilon, Precision precision) {
    BlockWeights weights;
    weights.norm1 = norm(name + "norm1", epsilon);
    weights.qkv = linear(name + "attn.qkv", precision);
    if (has(name + "attn.q_norm.weight")) {
      weights.q_norm = norm(name + "attn.q_norm", epsilon);
      weights.k_norm = norm(name + "attn.k_norm", epsilon);
    }
    weights.projection = scaled_linear(name + "attn.proj", name + "ls1.gamma", precision);
    weights.norm2 = norm(name + "norm2", epsilon);
    weights.fc1 = linear(name + "mlp.fc1", precision);
    weights.fc2 = scaled_linear(name + "mlp.fc2", name + "ls2.gamma", precision);
    return weights;
  }
  std::vector<BlockWeights> blocks(const std::string& name, int count, float epsilon, Precision precision) {
    std::vector<BlockWeights> all;
    all.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) all.push_back(block(name + std::to_string(i) + ".", epsilon, precision));
    return all;
  }

  // ---- Convolutions ------------------------------------------------------------------------------------------------
  /// Weights [out, in, k, k] with the channel innermost: [out, k, k, in].
  Values channels_last(const std::string& name) {
    const std::vector<std::int64_t>& shape = info(name).shape;
    const auto out = static_cast<std::size_t>(shape[0]);
    const auto in = static_cast<std::size_t>(shape[1]);
    const auto taps = static_cast<std::size_t>(shape[2] * shape[3]);
    const Values source = read(name);
    Values target(source.size());
    for (std::size_t o = 0; o < out; ++o) {
      for (std::size_t i = 0; i < in; ++i) {
        for (std::size_t t = 0; t < taps; ++t) target[(o * taps + t) * in + i] = source[(o * in + i) * taps + t];
      }
    }
    return target;
  }
  Convolution convolution(const std::string& name, int stride, int padding) {
    const std::vector<std::int64_t>& shape = info(name + ".weight").shape;
    Convolution result;
    result.kernel = static_cast<int>(shape[2]);
    result.stride = stride;
    result.padding = padding;
    result.product.weight = pack(channels_last(name + ".weight"), shape[0], dense_);
    if (has(name + ".bias")) result.product.bias = upload(read(name + ".bias"));
    return result;
  }
  Linear pointwise(const std::string& name, Precision precision) {
    return {.weight = pack(read(name + ".weight"), info(name + ".weight").shape[0], precision),
            .bias = upload(read(name + ".bias"))};
  }
  /// A transposed convolution whose stride is its kernel: weights [in, out, k, k] as a product of [k * k * out, in].
  Linear expansion(const std::string& name) {
    const std::vector<std::int64_t>& shape = info(name + ".weight").shape;
    const auto in = static_cast<std::size_t>(shape[0]);
    const auto out = static_cast<std::size_t>(shape[1]);
    const auto taps = static_cast<std::size_t>(shape[2] * shape[3]);
    const Values source = read(name + ".weight");
    const Values bias = read(name + ".bias");
    Values target(source.size());
    for (std::size_t i = 0; i < in; ++i) {
      for (std::size_t o = 0; o < out; ++o) {
        for (std::size_t t = 0; t < taps; ++t) target[(t * out + o) * in + i] = source[(i * out + o) * taps + t];
      }
    }
    Values repeated;
    for (std::size_t t = 0; t < taps; ++t) repeated.insert(repeated.end(), bias.begin(), bias.end());
    return {.weight = pack(target, static_cast<std::int64_t>(taps * out), dense_), .bias = upload(repeated)};
  }

  // ---- Parts -------------------------------------------------------------------------------------------------------
  EncoderWeights encoder() {
    const std::string name = "aggregator.patch_embed.";
    EncoderWeights weights;
    weights.patch.weight = pack(channels_last(name + "patch_embed.proj.weight"), config_.embed_dim, trunk_);
    weights.patch.bias = upload(read(name + "patch_embed.proj.bias"));
    const auto width = static_cast<std::size_t>(config_.embed_dim);
    Values positions = read(name + "pos_embed");
    Values prefix = read(name + "cls_token");
    for (std::size_t i = 0; i < width; ++i) prefix[i] += positions[i];
    const Values registers = read(name + "register_tokens");
    prefix.insert(prefix.end(), registers.begin(), registers.end());
    weights.prefix = upload(prefix);
    weights.position_grid.assign(positions.begin() + static_cast<std::ptrdiff_t>(width), positions.end());
    weights.blocks = blocks(name + "blocks.", config_.encoder_depth, kEncoderEpsilon, trunk_);
    weights.norm = norm(name + "norm", kEncoderEpsilon);
    return weights;
  }
  AggregatorWeights aggregator() {
    AggregatorWeights weights;
    weights.encoder = encoder();
    weights.frame_blocks = blocks("aggregator.frame_blocks.", config_.depth, kTrunkEpsilon, trunk_);
    weights.global_blocks = blocks("aggregator.global_blocks.", config_.depth, kTrunkEpsilon, trunk_);
    weights.special_tokens = special_tokens();
    return weights;
  }
  /// Both files' variants (first frame or not, scale frame or not) combined as TokenVariant has them.
  Buffer special_tokens() {
    const Values camera = read("aggregator.camera_token");
    const Values registers = read("aggregator.register_token");
    const Values scale = read("aggregator.scale_token");
    Values table;
    const auto append = [&](const Values& both, int variant) {
      const auto half = static_cast<std::ptrdiff_t>(both.size() / 2);
      table.insert(table.end(), both.begin() + variant * half, both.begin() + (variant + 1) * half);
    };
    for (const TokenVariant variant : {TokenVariant::first, TokenVariant::scale, TokenVariant::streamed}) {
      append(camera, variant == TokenVariant::first ? 0 : 1);
      append(registers, variant == TokenVariant::first ? 0 : 1);
      append(scale, variant == TokenVariant::streamed ? 1 : 0);
    }
    return upload(table);
  }
  CameraWeights camera() {
    const std::string name = "camera_head.";
    CameraWeights weights;
    weights.token_norm = norm(name + "token_norm", kTrunkEpsilon);
    weights.empty_pose = upload(read(name + "empty_pose_tokens"));
    weights.embed_pose = linear(name + "embed_pose", Precision::f32);
    weights.modulation = linear(name + "poseLN_modulation.1", Precision::f32);
    weights.blocks = blocks(name + "trunk.", config_.camera_trunk_depth, kTrunkEpsilon, Precision::f32);
    weights.trunk_norm = norm(name + "trunk_norm", kTrunkEpsilon);
    weights.fc1 = linear(name + "pose_branch.fc1", Precision::f32);
    weights.fc2 = linear(name + "pose_branch.fc2", Precision::f32);
    return weights;
  }
  ResidualUnit residual_unit(const std::string& name) {
    return {.conv1 = convolution(name + ".conv1", 1, 1), .conv2 = convolution(name + ".conv2", 1, 1)};
  }
  DptWeights dpt(const std::string& name) {
    DptWeights weights;
    weights.norm = norm(name + "norm", kTrunkEpsilon);
    weights.expand4 = expansion(name + "resize_layers.0");
    weights.expand2 = expansion(name + "resize_layers.1");
    weights.reduce = convolution(name + "resize_layers.3", 2, 1);
    const std::string scratch = name + "scratch.";
    for (std::size_t level = 0; level < 4; ++level) {
      const std::string number = std::to_string(level + 1);
      weights.projects[level] = pointwise(name + "projects." + std::to_string(level), dense_);
      weights.adapt[level] = convolution(scratch + "layer" + number + "_rn", 1, 1);
      const std::string fusion = scratch + "refinenet" + number + ".";
      if (level < 3) weights.fusion[level].skip = residual_unit(fusion + "resConfUnit1");
      weights.fusion[level].merge = residual_unit(fusion + "resConfUnit2");
      weights.fusion[level].out = pointwise(fusion + "out_conv", dense_);
    }
    weights.out1 = convolution(scratch + "output_conv1", 1, 1);
    weights.out2 = convolution(scratch + "output_conv2.0", 1, 1);
    weights.out3 = pointwise(scratch + "output_conv2.2", Precision::f32);
    return weights;
  }

  const Checkpoint& checkpoint_;
  const Config& config_;
  Backend& backend_;
  Precision trunk_;
  Precision dense_ = trunk_ == Precision::f32 ? Precision::f32 : Precision::tf32;
  std::size_t bytes_ = 0;
  Fingerprint fingerprint_;
};

}  // namespace

NetworkWeights load_weights(const Checkpoint& checkpoint, const Config& config, Backend& backend, DType dtype,
                            bool point_head) {
  return WeightLoader(checkpoint, config, backend, dtype).load(point_head);
}

}  // namespace lingbot_map
