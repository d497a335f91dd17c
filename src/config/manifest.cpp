#include "config/manifest.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map {
namespace {

constexpr std::int64_t kHeadDim = 64;
constexpr std::int64_t kPose = 9;
constexpr std::size_t kNamedInOneLine = 5;

/// Lists tensors in the order of the parts, under names of the public state dict.
class ManifestWriter {
 public:
  explicit ManifestWriter(const Config& config) : config_(config), width_(config.embed_dim) {}

  std::vector<TensorInfo> write() {
    encoder();
    for (const char* kind : {"frame", "global"}) {
      for (int i = 0; i < config_.depth; ++i) block(message("aggregator.", kind, "_blocks.", i, "."), width_, true);
    }
    add("aggregator.camera_token", {1, 2, 1, width_});
    add("aggregator.register_token", {1, 2, config_.num_register_tokens, width_});
    add("aggregator.scale_token", {1, 2, 1, width_});
    camera_head();
    dpt_head("depth_head.", 2);
    if (config_.has_point_head) dpt_head("point_head.", 4);
    return std::move(tensors_);
  }

 private:
  void add(std::string name, std::vector<std::int64_t> shape) {
    tensors_.push_back({.name = std::move(name), .dtype = DType::f32, .shape = std::move(shape)});
  }
  void norm(const std::string& name, std::int64_t width) {
    add(name + ".weight", {width});
    add(name + ".bias", {width});
  }
  void linear(const std::string& name, std::int64_t out, std::int64_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  }
  void convolution(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t kernel) {
    add(name + ".weight", {out, in, kernel, kernel});
    add(name + ".bias", {out});
  }
  void transposed_convolution(const std::string& name, std::int64_t channels, std::int64_t kernel) {
    add(name + ".weight", {channels, channels, kernel, kernel});
    add(name + ".bias", {channels});
  }

  void block(const std::string& name, std::int64_t width, bool normalises_heads) {
    norm(name + "norm1", width);
    linear(name + "attn.qkv", 3 * width, width);
    if (normalises_heads) {
      norm(name + "attn.q_norm", kHeadDim);
      norm(name + "attn.k_norm", kHeadDim);
    }
    linear(name + "attn.proj", width, width);
    add(name + "ls1.gamma", {width});
    norm(name + "norm2", width);
    linear(name + "mlp.fc1", 4 * width, width);
    linear(name + "mlp.fc2", width, 4 * width);
    add(name + "ls2.gamma", {width});
  }
  void encoder() {
    const std::string name = "aggregator.patch_embed.";
    const std::int64_t grid = config_.grid_size();
    add(name + "cls_token", {1, 1, width_});
    add(name + "pos_embed", {1, grid * grid + 1, width_});
    add(name + "register_tokens", {1, config_.num_register_tokens, width_});
    add(name + "mask_token", {1, width_});
    convolution(name + "patch_embed.proj", width_, 3, config_.patch_size);
    for (int i = 0; i < config_.encoder_depth; ++i) block(message(name, "blocks.", i, "."), width_, false);
    norm(name + "norm", width_);
  }
  void camera_head() {
    const std::string name = "camera_head.";
    const std::int64_t width = 2 * width_;
    for (int i = 0; i < config_.camera_trunk_depth; ++i) block(message(name, "trunk.", i, "."), width, false);
    norm(name + "token_norm", width);
    norm(name + "trunk_norm", width);
    add(name + "empty_pose_tokens", {1, 1, kPose});
    linear(name + "embed_pose", width, kPose);
    linear(name + "poseLN_modulation.1", 3 * width, width);
    linear(name + "pose_branch.fc1", width / 2, width);
    linear(name + "pose_branch.fc2", kPose, width / 2);
  }
  void dpt_head(const std::string& name, std::int64_t outputs) {
    constexpr std::int64_t hidden = 32;
    const std::int64_t features = config_.dpt_features;
    const auto& channels = config_.dpt_out_channels;
    norm(name + "norm", 2 * width_);
    for (std::size_t i = 0; i < channels.size(); ++i)
      convolution(message(name, "projects.", i), channels[i], 2 * width_, 1);
    transposed_convolution(name + "resize_layers.0", channels[0], 4);
    transposed_convolution(name + "resize_layers.1", channels[1], 2);
    convolution(name + "resize_layers.3", channels[3], channels[3], 3);
    const std::string scratch = name + "scratch.";
    for (std::size_t i = 0; i < channels.size(); ++i) {
      add(message(scratch, "layer", i + 1, "_rn.weight"), {features, channels[i], 3, 3});
    }
    for (std::size_t i = 0; i < channels.size(); ++i) {
      const std::string fusion = message(scratch, "refinenet", i + 1, ".");
      convolution(fusion + "out_conv", features, features, 1);
      for (const int unit : {1, 2}) {
        if (unit == 1 && i == 3) continue;  // the coarsest level has nothing to merge with
        convolution(message(fusion, "resConfUnit", unit, ".conv1"), features, features, 3);
        convolution(message(fusion, "resConfUnit", unit, ".conv2"), features, features, 3);
      }
    }
    convolution(scratch + "output_conv1", features / 2, features, 3);
    convolution(scratch + "output_conv2.0", hidden, features / 2, 3);
    convolution(scratch + "output_conv2.2", outputs, hidden, 1);
  }

  const Config& config_;
  std::int64_t width_;
  std::vector<TensorInfo> tensors_;
};

/// "a, b, c and 7 more"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamedInOneLine); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kNamedInOneLine) text += message(" and ", names.size() - kNamedInOneLine, " more");
  return text;
}

}  // namespace

std::vector<TensorInfo> manifest(const Config& config) { return ManifestWriter(config).write(); }

ManifestDifference compare_manifest(const Checkpoint& checkpoint, const Config& config) {
  ManifestDifference difference;
  std::unordered_set<std::string_view> known;
  const std::vector<TensorInfo> expected = manifest(config);
  for (const TensorInfo& tensor : expected) {
    known.insert(tensor.name);
    const TensorInfo* found = checkpoint.find(tensor.name);
    if (found == nullptr) {
      // The encoder's mask token serves training alone: a file without it is as good.
      if (!tensor.name.ends_with(".mask_token")) difference.missing.push_back(tensor.name);
    } else if (found->shape != tensor.shape) {
      difference.wrong_shape.push_back(message("tensor ", tensor.name, ": found shape ", printable(found->shape_text()),
                                               ", expected ", tensor.shape_text()));
    }
  }
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    if (!known.contains(tensor.name)) difference.unexpected.push_back(tensor.name);
  }
  return difference;
}

std::vector<std::string> check_manifest(const Checkpoint& checkpoint, const Config& config) {
  ManifestDifference difference = compare_manifest(checkpoint, config);
  if (!difference.missing.empty()) {
    fail(ErrorCode::input, checkpoint.source(), ": ", difference.missing.size(),
         " tensors of the network are missing: ", listed(difference.missing),
         "; is it a LingBot-Map checkpoint of this configuration (see --config)?");
  }
  if (!difference.wrong_shape.empty())
    fail(ErrorCode::input, checkpoint.source(), ": ", difference.wrong_shape.front());
  return std::move(difference.unexpected);
}

}  // namespace lingbot_map
