#include "model/dpt_head.hpp"

namespace lingbot_map {
namespace {

class Dpt {
 public:
  Dpt(Pass& pass, const DptWeights& weights)
      : pass_(pass), backend_(pass.backend), weights_(weights), grid_(pass.tables.grid) {}

  void run(const std::array<Tensor, 4>& taps, const Tensor& out) {
    const Arena::Scope scope(pass_.arena);
    std::array<Tensor, 4> levels;
    for (std::size_t i = 0; i < 4; ++i) levels[i] = level(i, taps[i]);
    Tensor path;
    for (int i = 3; i >= 0; --i) {
      const auto index = static_cast<std::size_t>(i);
      const std::int64_t height = i > 0 ? levels[index - 1].dim(0) : 2 * levels[0].dim(0);
      const std::int64_t width = i > 0 ? levels[index - 1].dim(1) : 2 * levels[0].dim(1);
      path = fuse(weights_.fusion[index], path, levels[index], height, width);
    }
    finish(path, out);
  }

 private:
  Tensor image(std::int64_t height, std::int64_t width, std::int64_t channels) {
    return pass_.arena.allocate(DType::f32, {height, width, channels});
  }
  void add_code(const SizeTables::Code& code, const Tensor& x) {
    backend_.add_positions(code.columns.view(DType::f32, {code.width, code.channels / 2}),
                           code.rows.view(DType::f32, {code.height, code.channels / 2}), x);
  }
  Tensor convolve(const Tensor& x, const Convolution& convolution, Activation activation, std::int64_t height,
                  std::int64_t width) {
    const Tensor y = image(height, width, convolution.product.weight->out());
    backend_.convolve(x, convolution, activation, y);
    return y;
  }
  Tensor expand(const Tensor& x, const Linear& product, int factor) {
    const std::int64_t channels = product.weight->out() / (factor * factor);
    const Tensor y = image(grid_.rows * factor, grid_.columns * factor, channels);
    const Arena::Scope scope(pass_.arena);
    const Tensor wide = pass_.arena.allocate(DType::f32, {grid_.patches(), product.weight->out()});
    backend_.linear(x, product, Activation::none, wide);
    backend_.depth_to_space(wide, grid_.rows, grid_.columns, factor, y);
    return y;
  }

  /// One tap as a map of dpt_features channels at its own scale: 4, 2, 1 and about 1/2 of the patch grid.
  Tensor level(std::size_t index, const Tensor& tap) {
    const std::int64_t factor = index == 0 ? 4 : index == 1 ? 2 : 1;
    const std::int64_t height = index == 3 ? (grid_.rows - 1) / 2 + 1 : grid_.rows * factor;
    const std::int64_t width = index == 3 ? (grid_.columns - 1) / 2 + 1 : grid_.columns * factor;
    const Convolution& adapt = weights_.adapt[index];
    const Tensor y = image(height, width, adapt.product.weight->out());
    const Arena::Scope scope(pass_.arena);
    const Linear& project = weights_.projects[index];
    const Tensor normed = pass_.arena.allocate(DType::f32, {grid_.patches(), tap.dim(1)});
    backend_.layer_norm(tap, weights_.norm, normed);
    const Tensor projected = pass_.arena.allocate(DType::f32, {grid_.patches(), project.weight->out()});
    backend_.linear(normed, project, Activation::none, projected);
    const Tensor map = projected.reshape({grid_.rows, grid_.columns, project.weight->out()});
    add_code(pass_.tables.level_codes[index], map);
    Tensor scaled = map;
    if (index == 0) scaled = expand(projected, weights_.expand4, 4);
    if (index == 1) scaled = expand(projected, weights_.expand2, 2);
    if (index == 3) scaled = convolve(map, weights_.reduce, Activation::none, height, width);
    backend_.convolve(scaled, adapt, Activation::none, y);
    return y;
  }

  /// target += conv2(relu(conv1(x))), the part of a residual unit beside its skip connection; x is rectified already.
  /// The skip connection carries the rectified x, not x.
  void add_residual(const ResidualUnit& unit, const Tensor& x, const Tensor& target) {
    const Arena::Scope scope(pass_.arena);
    const Tensor hidden = convolve(x, unit.conv1, Activation::relu, x.dim(0), x.dim(1));
    backend_.convolve(hidden, unit.conv2, Activation::add_to_target, target);
  }

  /// Merges a level into the coarser path and scales the result up. The 1x1 convolution runs before the resize, which
  /// it commutes with, on a quarter of the pixels.
  Tensor fuse(const FusionWeights& weights, const Tensor& path, const Tensor& level, std::int64_t height,
              std::int64_t width) {
    const std::int64_t channels = level.dim(2);
    const Tensor y = image(height, width, channels);
    const Arena::Scope scope(pass_.arena);
    Tensor merged = level;
    if (weights.skip) {
      backend_.relu(level);
      backend_.add(level, path);
      add_residual(*weights.skip, level, path);
      merged = path;
    }
    backend_.relu(merged);
    add_residual(weights.merge, merged, merged);
    const Tensor mixed = image(merged.dim(0), merged.dim(1), weights.out.weight->out());
    const std::int64_t pixels = merged.dim(0) * merged.dim(1);
    backend_.linear(merged.reshape({pixels, channels}), weights.out, Activation::none,
                    mixed.reshape({pixels, weights.out.weight->out()}));
    backend_.resize(mixed, y);
    return y;
  }

  void finish(const Tensor& path, const Tensor& out) {
    const std::int64_t pixels = grid_.height * grid_.width;
    const Tensor coarse = convolve(path, weights_.out1, Activation::none, path.dim(0), path.dim(1));
    const Tensor fine = image(grid_.height, grid_.width, coarse.dim(2));
    backend_.resize(coarse, fine);
    add_code(pass_.tables.pixel_code, fine);
    const Tensor hidden = convolve(fine, weights_.out2, Activation::relu, grid_.height, grid_.width);
    backend_.linear(hidden.reshape({pixels, hidden.dim(2)}), weights_.out3, Activation::none,
                    out.reshape({pixels, out.dim(2)}));
  }

  Pass& pass_;
  Backend& backend_;
  const DptWeights& weights_;
  const FrameGrid& grid_;
};

}  // namespace

void run_dpt(Pass& pass, const DptWeights& weights, const std::array<Tensor, 4>& taps, const Tensor& out) {
  Dpt(pass, weights).run(taps, out);
}

}  // namespace lingbot_map
