#include "bench/operation_cases.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "attention/attention.hpp"
#include "base/message.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::int64_t kHeadDim = 64;
constexpr std::int64_t kCameraFrames = 1000;
constexpr double kFloat = sizeof(float);

std::string sized(std::initializer_list<std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

class Cases {
 public:
  Cases(const Config& config, const FrameGrid& grid, const SessionOptions& session, DType dtype)
      : config_(config), grid_(grid), session_(session), dtype_(dtype), width_(config.embed_dim) {}

  std::vector<OperationCase> all(const std::vector<AttentionKind>& kinds) {
    add_embedding();
    add_rows();
    add_trunk_products();
    add_attention_within_frame(kinds);
    add_attention_over_cache(kinds);
    if (dtype_ == DType::f32) add_camera();
    add_depth_head();
    return std::move(cases_);
  }

 private:
  [[nodiscard]] Precision trunk() const { return precision_of(dtype_); }
  [[nodiscard]] Precision dense() const { return dtype_ == DType::f32 ? Precision::f32 : Precision::tf32; }
  [[nodiscard]] double element() const { return static_cast<double>(size_of(dtype_)); }
  [[nodiscard]] std::int64_t tokens() const { return grid_.tokens(); }

  void add(const std::string& name, std::initializer_list<std::int64_t> shape, Precision precision, double flops,
           double bytes, std::function<PreparedOperation(Backend&, Operands&)> prepare) {
    cases_.push_back({name, sized(shape), precision, flops, bytes, std::move(prepare)});
  }

  /// A product of rows with weights; y is float32 or of the weights' type.
  void add_product(const std::string& name, std::int64_t rows, std::int64_t in, std::int64_t out, Precision precision,
                   Activation activation, bool to_float) {
    const DType type = storage_of(precision);
    const DType y_type = to_float ? DType::f32 : type;
    const double moved = static_cast<double>(size_of(type)) * static_cast<double>(rows * in + in * out) +
                         static_cast<double>(size_of(y_type)) * static_cast<double>(rows * out) *
                             (activation == Activation::add_to_target ? 2 : 1);
    add("product/" + name, {rows, in, out}, precision, 2.0 * static_cast<double>(rows * in * out), moved,
        [=](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(type, {rows, in});
          const Tensor y = operands.tensor(y_type, {rows, out});
          return {[&backend, x, y, activation, linear = operands.linear(out, in, precision)] {
                    backend.linear(x, linear, activation, y);
                  },
                  {y}};
        });
  }

  void add_embedding() {
    const std::int64_t patches = grid_.patches();
    const int patch = config_.patch_size;
    const std::int64_t values = 3 * std::int64_t{patch} * patch;
    const std::int64_t prefix = 1 + config_.num_register_tokens;
    add("embed_patches", {grid_.height, grid_.width}, trunk(), 2.0 * static_cast<double>(patches * values * width_),
        static_cast<double>(patches * values) + 2 * kFloat * static_cast<double>(patches * width_) +
            element() * static_cast<double>(values * width_),
        [=, grid = grid_, width = width_, precision = trunk()](Backend& backend,
                                                               Operands& operands) -> PreparedOperation {
          const Tensor images = operands.tensor(DType::u8, {1, grid.height, grid.width, 3});
          const Tensor positions = operands.tensor(DType::f32, {patches, width});
          const Tensor x = operands.tensor(DType::f32, {1, prefix + patches, width});
          return {[&backend, images, positions, x, patch, prefix, linear = operands.linear(width, values, precision)] {
                    backend.embed_patches(images, patch, linear, positions, prefix, x);
                  },
                  {x}};
        });
  }

  void add_rows() {
    const auto elements = static_cast<double>(tokens() * width_);
    add("layer_norm", {tokens(), width_}, trunk(), 0, elements * (kFloat + element()),
        [rows = tokens(), width = width_, dtype = dtype_](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(DType::f32, {rows, width});
          const Tensor y = operands.tensor(dtype, {rows, width});
          return {[&backend, x, y, norm = operands.norm(width)] { backend.layer_norm(x, norm, y); }, {y}};
        });
    for (const bool global : {false, true}) {
      add(global ? "split_heads/global" : "split_heads/frame", {tokens(), 3 * width_}, trunk(), 0,
          3 * elements * (kFloat + element()),
          [this_grid = grid_, width = width_, dtype = dtype_, global, heads = config_.num_heads](
              Backend& backend, Operands& operands) -> PreparedOperation {
            const std::int64_t rows = this_grid.tokens();
            const Tensor qkv = operands.tensor(DType::f32, {rows, 3 * width});
            const Tensor q = operands.tensor(dtype, {rows, width});
            KeyValueTarget target{.keys = operands.tensor(dtype, {rows, width}),
                                  .values = operands.tensor(dtype, {rows, width})};
            if (global) {
              target.places = operands.integers({1, 2}, {0, this_grid.patches()});
              target.specials = this_grid.specials;
            }
            const auto norm = std::make_shared<Norm>(operands.norm(kHeadDim));
            HeadSplit split{.heads = heads,
                            .head_dim = static_cast<int>(kHeadDim),
                            .q_norm = norm.get(),
                            .k_norm = norm.get(),
                            .rotary = {.interleaved = global}};
            if (global) split.rotary.temporal = operands.tensor(DType::f32, {1, 10, 2});
            split.rotary.spatial = operands.tensor(DType::f32, {rows, global ? 22 : 32, 2});
            return {[&backend, qkv, q, target, norm, split] { backend.split_heads(qkv, 1, split, q, target); },
                    {q, target.keys, target.values}};
          });
    }
    if (dtype_ != DType::f32) return;
    add("copy", {tokens(), width_}, Precision::f32, 0, 2 * kFloat * elements,
        [rows = tokens(), width = width_](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(DType::f32, {rows, width});
          const Tensor y = operands.tensor(DType::f32, {rows, width});
          return {[&backend, x, y] { backend.copy(x, y); }, {y}};
        });
    add("clear", {tokens(), width_}, Precision::f32, 0, kFloat * elements,
        [rows = tokens(), width = width_](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor y = operands.tensor(DType::f32, {rows, width});
          return {[&backend, y] { backend.clear(y); }, {y}};
        });
  }

  void add_trunk_products() {
    add_product("qkv", tokens(), width_, 3 * width_, trunk(), Activation::none, true);
    add_product("projection", tokens(), width_, width_, trunk(), Activation::add_to_target, true);
    add_product("fc1", tokens(), width_, 4 * width_, trunk(), Activation::gelu, false);
    add_product("fc2", tokens(), 4 * width_, width_, trunk(), Activation::add_to_target, true);
  }

  // ---- Attention ---------------------------------------------------------------------------------------------------
  [[nodiscard]] static double attention_flops(std::int64_t queries, std::int64_t keys, std::int64_t width) {
    return 4.0 * static_cast<double>(queries) * static_cast<double>(keys * width);
  }
  /// The CPU has one way, whatever is asked for.
  static std::shared_ptr<Attention> attention_on(Backend& backend, AttentionKind kind, DType dtype, int heads) {
    if (backend.device().kind == Device::Kind::cpu) kind = AttentionKind::automatic;
    return make_attention(backend, kind, dtype, heads);
  }

  void add_attention_within_frame(const std::vector<AttentionKind>& kinds) {
    for (const AttentionKind kind : kinds) {
      add(message("attention/within_frame/", name_of(kind)), {tokens(), tokens()}, trunk(),
          attention_flops(tokens(), tokens(), width_), 4 * element() * static_cast<double>(tokens() * width_),
          [rows = tokens(), width = width_, dtype = dtype_, kind, heads = config_.num_heads](
              Backend& backend, Operands& operands) -> PreparedOperation {
            const Tensor q = operands.tensor(dtype, {rows, width});
            const Tensor k = operands.tensor(dtype, {rows, width});
            const Tensor v = operands.tensor(dtype, {rows, width});
            const Tensor out = operands.tensor(dtype, {rows, width});
            return {[q, k, v, out, heads, attention = attention_on(backend, kind, dtype, heads)] {
                      attention->within_frames(q, k, v, 1, heads, out);
                    },
                    {out}};
          });
    }
  }

  /// A cache in which the window is full and the last keyframe attends.
  [[nodiscard]] TwoStreamCache full_cache() const {
    TwoStreamCache cache({.scale_frames = session_.scale_frames,
                          .window = session_.window,
                          .patches_per_frame = static_cast<int>(grid_.patches()),
                          .special_tokens = static_cast<int>(grid_.specials)});
    (void)cache.append_scale_frames(session_.scale_frames);
    for (int i = 0; i < session_.window; ++i) {
      if (i > 0) cache.commit();
      (void)cache.begin_frame(FrameRole::keyframe);
    }
    return cache;
  }

  void add_attention_over_cache(const std::vector<AttentionKind>& kinds) {
    const TwoStreamCache cache = full_cache();
    const std::int64_t keys = cache.visible().tokens;
    for (const AttentionKind kind : kinds) {
      add(message("attention/cache/", name_of(kind)), {tokens(), keys}, trunk(),
          attention_flops(tokens(), keys, width_), 2 * element() * static_cast<double>((tokens() + keys) * width_),
          [cache, rows = tokens(), width = width_, dtype = dtype_, kind, heads = config_.num_heads](
              Backend& backend, Operands& operands) -> PreparedOperation {
            auto store = std::make_shared<KvStore>(
                KvStore::Shape{.layers = 1, .slot_tokens = cache.slot_tokens(), .width = width, .dtype = dtype},
                backend.growing_memory());
            const std::shared_ptr<Attention> attention = attention_on(backend, kind, dtype, heads);
            const VisibleRange range = cache.visible();
            store->prepare(attention->touched(range));
            for (const Tensor& plane : {store->keys(0), store->values(0)}) {
              const Tensor block = operands.tensor(dtype, {rows, width});
              for (std::int64_t row = range.first_token; row < range.end(); row += rows) {
                const std::int64_t count = std::min(rows, range.end() - row);
                backend.copy(block.rows(0, count), plane.rows(row, count));
              }
            }
            const Tensor q = operands.tensor(dtype, {rows, width});
            const Tensor out = operands.tensor(dtype, {rows, width});
            attention->plan(cache, rows);
            return {[q, out, heads, store, attention] { attention->run(*store, 0, q, heads, out); }, {out}};
          });
    }
  }

  // ---- Camera head -------------------------------------------------------------------------------------------------
  void add_camera() {
    const std::int64_t width = 2 * width_;
    add_product("camera/modulation", 1, width, 3 * width, Precision::f32, Activation::none, true);
    add_product("camera/fc1", 1, width, 4 * width, Precision::f32, Activation::gelu, true);
    add_product("camera/fc2", 1, 4 * width, width, Precision::f32, Activation::add_to_target, true);
    add("silu", {1, width}, Precision::f32, 0, 2 * kFloat * static_cast<double>(width),
        [width](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(DType::f32, {1, width});
          const Tensor y = operands.tensor(DType::f32, {1, width});
          return {[&backend, x, y] { backend.silu(x, y); }, {y}};
        });
    add("modulate", {1, width}, Precision::f32, 0, 5 * kFloat * static_cast<double>(width),
        [width](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(DType::f32, {1, width});
          const Tensor modulation = operands.tensor(DType::f32, {1, 3 * width});
          const Tensor y = operands.tensor(DType::f32, {1, width});
          return {[&backend, x, modulation, y] { backend.modulate(x, modulation, y); }, {y}};
        });
    add("attention/over_rows", {1, kCameraFrames}, Precision::f32, attention_flops(1, kCameraFrames, width),
        2 * kFloat * static_cast<double>((1 + kCameraFrames) * width),
        [width, heads = config_.camera_num_heads](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor k = operands.tensor(DType::f32, {kCameraFrames, width});
          const Tensor v = operands.tensor(DType::f32, {kCameraFrames, width});
          const Tensor q = operands.tensor(DType::f32, {1, width});
          const Tensor out = operands.tensor(DType::f32, {1, width});
          const Tensor count = operands.integers({1}, {kCameraFrames});
          return {[q, k, v, count, out, heads,
                   attention = attention_on(backend, AttentionKind::automatic, DType::f32, heads)] {
                    attention->over_rows(q, k, v, count, heads, out);
                  },
                  {out}};
        });
  }

  // ---- Depth head --------------------------------------------------------------------------------------------------
  struct Extent {
    std::int64_t height;
    std::int64_t width;
  };
  /// Of a level of the pyramid: 4, 2, 1 and about 1/2 of the patch grid.
  [[nodiscard]] Extent level(int index) const {
    if (index == 3) return {(grid_.rows - 1) / 2 + 1, (grid_.columns - 1) / 2 + 1};
    const std::int64_t factor = index == 0 ? 4 : index == 1 ? 2 : 1;
    return {factor * grid_.rows, factor * grid_.columns};
  }

  void add_convolution(const std::string& name, Extent extent, std::int64_t in, std::int64_t out, int stride,
                       Activation activation) {
    const std::int64_t height = (extent.height - 1) / stride + 1;
    const std::int64_t width = (extent.width - 1) / stride + 1;
    add("convolve/" + name, {extent.height, extent.width, in, out}, dense(),
        18.0 * static_cast<double>(height * width * in * out),
        kFloat * static_cast<double>(extent.height * extent.width * in + height * width * out + 9 * in * out),
        [=, precision = dense()](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(DType::f32, {extent.height, extent.width, in});
          const Tensor y = operands.tensor(DType::f32, {height, width, out});
          const Convolution convolution{
              .product = operands.linear(out, 9 * in, precision), .kernel = 3, .stride = stride, .padding = 1};
          return {[&backend, x, y, convolution, activation] { backend.convolve(x, convolution, activation, y); }, {y}};
        });
  }

  void add_depth_head() {
    const std::int64_t features = config_.dpt_features;
    const auto& channels = config_.dpt_out_channels;
    const std::int64_t pixels = grid_.height * grid_.width;
    const Extent fused{2 * level(0).height, 2 * level(0).width};
    add_product("depth/project", grid_.patches(), 2 * width_, channels[3], dense(), Activation::none, true);
    add_product("depth/expand4", grid_.patches(), channels[0], 16 * std::int64_t{channels[0]}, dense(),
                Activation::none, true);
    add_product("depth/fuse1", level(0).height * level(0).width, features, features, dense(), Activation::none, true);
    add_convolution("reduce", level(2), channels[3], channels[3], 2, Activation::none);
    for (int i = 0; i < 4; ++i) {
      const std::string number = std::to_string(i + 1);
      add_convolution("adapt" + number, level(i), channels[static_cast<std::size_t>(i)], features, 1, Activation::none);
      add_convolution("residual" + number, level(i), features, features, 1, Activation::relu);
    }
    add_convolution("residual1_add", level(0), features, features, 1, Activation::add_to_target);
    add_convolution("out1", fused, features, features / 2, 1, Activation::none);
    add_convolution("out2", {grid_.height, grid_.width}, features / 2, 32, 1, Activation::relu);
    if (dtype_ != DType::f32) return;
    add_product("depth/out3", pixels, 32, 2, Precision::f32, Activation::none, true);
    add_maps(features, fused);
  }

  void add_resize(const std::string& name, Extent from, Extent to, std::int64_t channels) {
    add("resize/" + name, {from.height, from.width, to.height, to.width, channels}, Precision::f32, 0,
        kFloat * static_cast<double>((from.height * from.width + to.height * to.width) * channels),
        [=](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(DType::f32, {from.height, from.width, channels});
          const Tensor y = operands.tensor(DType::f32, {to.height, to.width, channels});
          return {[&backend, x, y] { backend.resize(x, y); }, {y}};
        });
  }

  void add_maps(std::int64_t features, Extent fused) {
    const Extent finest = level(0);
    const Extent full{grid_.height, grid_.width};
    const auto pixels = static_cast<double>(full.height * full.width);
    const double map = kFloat * static_cast<double>(finest.height * finest.width * features);
    add_resize("fusion", finest, fused, features);
    add_resize("pixels", fused, full, features / 2);
    add("depth_to_space", {grid_.patches(), 16, features}, Precision::f32, 0, 2 * map,
        [=, grid = grid_](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(DType::f32, {grid.patches(), 16 * features});
          const Tensor y = operands.tensor(DType::f32, {finest.height, finest.width, features});
          return {[&backend, x, y, grid] { backend.depth_to_space(x, grid.rows, grid.columns, 4, y); }, {y}};
        });
    add("relu", {finest.height, finest.width, features}, Precision::f32, 0, 2 * map,
        [=](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(DType::f32, {finest.height, finest.width, features});
          return {[&backend, x] { backend.relu(x); }, {x}};
        });
    add("add", {finest.height, finest.width, features}, Precision::f32, 0, 3 * map,
        [=](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(DType::f32, {finest.height, finest.width, features});
          const Tensor y = operands.tensor(DType::f32, {finest.height, finest.width, features});
          return {[&backend, x, y] { backend.add(x, y); }, {y}};
        });
    add("add_positions", {full.height, full.width, features / 2}, Precision::f32, 0,
        kFloat * pixels * static_cast<double>(features),
        [=](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor columns = operands.tensor(DType::f32, {full.width, features / 4});
          const Tensor rows = operands.tensor(DType::f32, {full.height, features / 4});
          const Tensor x = operands.tensor(DType::f32, {full.height, full.width, features / 2});
          return {[&backend, columns, rows, x] { backend.add_positions(columns, rows, x); }, {x}};
        });
    add("depth_outputs", {full.height, full.width}, Precision::f32, 0, 4 * kFloat * pixels,
        [=](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(DType::f32, {full.height, full.width, 2});
          const Tensor depth = operands.tensor(DType::f32, {full.height, full.width});
          const Tensor confidence = operands.tensor(DType::f32, {full.height, full.width});
          return {[&backend, x, depth, confidence] { backend.depth_outputs(x, depth, confidence); },
                  {depth, confidence}};
        });
    add("point_outputs", {full.height, full.width}, Precision::f32, 0, 8 * kFloat * pixels,
        [=](Backend& backend, Operands& operands) -> PreparedOperation {
          const Tensor x = operands.tensor(DType::f32, {full.height, full.width, 4});
          const Tensor points = operands.tensor(DType::f32, {full.height, full.width, 3});
          const Tensor confidence = operands.tensor(DType::f32, {full.height, full.width});
          return {[&backend, x, points, confidence] { backend.point_outputs(x, points, confidence); },
                  {points, confidence}};
        });
  }

  const Config& config_;
  const FrameGrid& grid_;
  const SessionOptions& session_;
  DType dtype_;
  std::int64_t width_;
  std::vector<OperationCase> cases_;
};

}  // namespace

std::string_view name_of(Precision precision) noexcept {
  switch (precision) {
    case Precision::f32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::bf16: return "bf16";
    case Precision::f16: return "fp16";
  }
  return "?";
}

std::vector<OperationCase> operation_cases(const Config& config, const FrameGrid& grid, const SessionOptions& session,
                                           DType dtype, const std::vector<AttentionKind>& kinds) {
  return Cases(config, grid, session, dtype).all(kinds);
}

}  // namespace lingbot_map::tool
