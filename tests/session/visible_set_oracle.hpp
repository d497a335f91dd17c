#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "attention/attention.hpp"
#include "backend/make_backend.hpp"
#include "checkpoint/synthetic.hpp"
#include "config/manifest.hpp"
#include "geometry/camera.hpp"
#include "lingbot_map/session.hpp"
#include "model/network.hpp"
#include "model/weight_loader.hpp"

namespace lingbot_map::test {

/// Attention over rows that are named one by one, computed the slow way in double precision.
class AttentionOverRows final : public Attention {
 public:
  explicit AttentionOverRows(std::unique_ptr<Attention> within) : within_(std::move(within)) {}

  std::vector<std::int64_t> tokens;       ///< what run() sees
  std::vector<std::int64_t> camera_rows;  ///< what over_rows() sees

  [[nodiscard]] AttentionKind kind() const noexcept override { return AttentionKind::sdpa; }
  void within_frames(const Tensor& q, const Tensor& k, const Tensor& v, int frames, int heads,
                     const Tensor& out) override {
    within_->within_frames(q, k, v, frames, heads, out);
  }
  void plan(const TwoStreamCache&, std::int64_t) override {}
  void run(const KvStore& store, int layer, const Tensor& q, int heads, const Tensor& out) override {
    attend(q, store.keys(layer), store.values(layer), tokens, heads, out);
  }
  void over_rows(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor&, int heads,
                 const Tensor& out) override {
    attend(q, k, v, camera_rows, heads, out);
  }

 private:
  static void attend(const Tensor& q, const Tensor& k, const Tensor& v, const std::vector<std::int64_t>& rows,
                     int heads, const Tensor& out) {
    const std::int64_t dim = q.dim(1) / heads;
    const auto at = [](const Tensor& x, std::int64_t row, std::int64_t column) -> float& {
      return x.data<float>()[row * x.row_stride() + column];
    };
    std::vector<double> weights(rows.size());
    std::vector<double> sum(static_cast<std::size_t>(dim));
    for (std::int64_t query = 0; query < q.dim(0); ++query) {
      for (std::int64_t first = 0; first < q.dim(1); first += dim) {
        double total = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          double product = 0;
          for (std::int64_t c = first; c < first + dim; ++c) product += double{at(q, query, c)} * at(k, rows[i], c);
          total += weights[i] = std::exp(product / std::sqrt(static_cast<double>(dim)));
        }
        std::fill(sum.begin(), sum.end(), 0.0);
        for (std::size_t i = 0; i < rows.size(); ++i)
          for (std::int64_t c = 0; c < dim; ++c)
            sum[static_cast<std::size_t>(c)] += weights[i] * at(v, rows[i], first + c);
        for (std::int64_t c = 0; c < dim; ++c)
          at(out, query, first + c) = static_cast<float>(sum[static_cast<std::size_t>(c)] / total);
      }
    }
  }

  std::unique_ptr<Attention> within_;
};

/// The slow truth of flow-based selection. Every frame, kept or not, has rows of its own for ever, in the caches of the
/// aggregator and of the camera head, and nothing is ever taken back. What a frame sees is written down from the rule:
///
///     patches of the scale frames, of the last `window` kept frames and of itself;
///     special tokens, and rows of the camera head, of the scale frames, of all kept frames and of itself.
class VisibleSetOracle {
 public:
  VisibleSetOracle(const Config& config, std::uint64_t seed, const SessionOptions& options, int width, int height,
                   std::int64_t most_frames)
      : config_(config),
        options_(options),
        most_frames_(most_frames),
        backend_(make_backend(Device::cpu(), 0)),
        network_(config_, load_weights(*synthetic_checkpoint(manifest(config_), seed, config_.to_json()), config_,
                                       *backend_, DType::f32, false)),
        grid_(config_, width, height),
        tables_(network_.make_tables(*backend_, grid_)),
        attention_(make_attention(*backend_, AttentionKind::automatic, DType::f32, config_.num_heads)),
        store_({.layers = config_.depth, .slot_tokens = most_frames * grid_.tokens(), .width = config_.embed_dim}),
        camera_cache_(options.camera_iterations, config_.camera_trunk_depth, 2 * config_.embed_dim),
        arena_(backend_->allocate(std::size_t{64} << 20)) {
    store_.prepare({0, most_frames * grid_.tokens()});
  }

  /// Results of a whole sequence, with the types that the rule gives them.
  std::vector<FrameResult> run(const std::vector<Image>& images) {
    const auto scale = static_cast<std::size_t>(options_.scale_frames);
    std::vector<FrameResult> results = forward({images.begin(), images.begin() + options_.scale_frames}, 0);
    for (std::size_t i = 0; i < scale; ++i) kept_.push_back(static_cast<std::int64_t>(i));
    std::size_t last_kept = scale - 1;
    for (std::size_t i = scale; i < images.size(); ++i) {
      FrameResult result = forward({images[i]}, static_cast<std::int64_t>(i)).front();
      const double flow = flow_between(result, results[last_kept]);
      flows.push_back(flow);
      const bool keep = i == scale || flow > options_.flow_threshold ||
                        static_cast<int>(i - last_kept) >= options_.max_non_keyframe_gap;
      result.type = keep ? FrameType::keyframe : FrameType::non_keyframe;
      results.push_back(std::move(result));
      if (!keep) continue;
      kept_.push_back(static_cast<std::int64_t>(i));
      last_kept = i;
    }
    return results;
  }

  std::vector<double> flows;  ///< of each streamed frame, since the last kept one

 private:
  std::vector<FrameResult> forward(const std::vector<Image>& images, std::int64_t first) {
    const auto count = static_cast<std::int64_t>(images.size());
    std::vector<FrameSpan> spans;
    std::vector<std::int64_t> with_patches(
        kept_.begin(), kept_.begin() + std::min<std::ptrdiff_t>(std::ssize(kept_), options_.scale_frames));
    for (std::size_t i = with_patches.size(); i < kept_.size(); ++i)
      if (static_cast<int>(kept_.size() - i) <= options_.window) with_patches.push_back(kept_[i]);
    std::vector<std::int64_t> with_specials = kept_;
    for (std::int64_t frame = first; frame < first + count; ++frame) {
      spans.push_back({frame * grid_.patches(), most_frames_ * grid_.patches() + frame * grid_.specials});
      with_patches.push_back(frame);
      with_specials.push_back(frame);
    }
    attention_.tokens.clear();
    for (const std::int64_t frame : with_patches)
      for (std::int64_t i = 0; i < grid_.patches(); ++i) attention_.tokens.push_back(frame * grid_.patches() + i);
    for (const std::int64_t frame : with_specials)
      for (std::int64_t i = 0; i < grid_.specials; ++i)
        attention_.tokens.push_back(most_frames_ * grid_.patches() + frame * grid_.specials + i);
    attention_.camera_rows = with_specials;
    camera_cache_.prepare(count);

    const Arena::Scope scope(arena_);
    const Tensor block = arena_.allocate(DType::u8, {static_cast<std::int64_t>(PassInputs::bytes(count, grid_))});
    const PassInputs inputs = PassInputs::in(block, count, grid_);
    write_position({.spans = spans,
                    .first_frame = static_cast<std::int64_t>(kept_.size()),
                    .first_camera_frame = first,
                    .camera_rows = first},
                   inputs);
    auto* pixels = inputs.images.data<std::uint8_t>();
    for (const Image& image : images) pixels = std::ranges::copy(image.pixels, pixels).out;
    std::vector<TokenVariant> variants(images.size(), first == 0 ? TokenVariant::scale : TokenVariant::streamed);
    if (first == 0) variants.front() = TokenVariant::first;
    StageTimes times;
    Pass pass{.backend = *backend_,
              .attention = attention_,
              .store = store_,
              .camera_cache = camera_cache_,
              .arena = arena_,
              .tables = tables_,
              .times = times,
              .camera_iterations = options_.camera_iterations,
              .inputs = inputs,
              .variants = variants};
    const PassResult found = network_.forward(pass);
    camera_cache_.commit(count);
    return results_of(found, first, count);
  }

  [[nodiscard]] std::vector<FrameResult> results_of(const PassResult& found, std::int64_t first,
                                                    std::int64_t count) const {
    std::vector<FrameResult> results(static_cast<std::size_t>(count));
    const std::int64_t pixels = grid_.width * grid_.height;
    for (std::int64_t i = 0; i < count; ++i) {
      FrameResult& result = results[static_cast<std::size_t>(i)];
      result.index = first + i;
      result.width = static_cast<int>(grid_.width);
      result.height = static_cast<int>(grid_.height);
      std::copy_n(found.pose.data<float>() + 9 * i, 9, result.pose_enc.begin());
      result.pose_enc[7] = std::max(result.pose_enc[7], 0.0F);
      result.pose_enc[8] = std::max(result.pose_enc[8], 0.0F);
      const auto map = [&](const Tensor& maps) {
        return std::vector<float>(maps.data<float>() + i * pixels, maps.data<float>() + (i + 1) * pixels);
      };
      result.depth = map(found.depth);
      result.depth_conf = map(found.depth_conf);
    }
    return results;
  }

  /// The mean flow, by way of the world.
  static double flow_between(const FrameResult& view, const FrameResult& reference) {
    const Intrinsics from = intrinsics_of(view.pose_enc, view.width, view.height);
    const Intrinsics to = intrinsics_of(reference.pose_enc, view.width, view.height);
    const Rigid3 reference_from_world = world_from_camera(reference.pose_enc)->inverse();
    const Rigid3 world_from_view = *world_from_camera(view.pose_enc);
    double total = 0;
    int valid = 0;
    for (int v = 0; v < view.height; v += 8) {
      for (int u = 0; u < view.width; u += 8) {
        const double d = view.depth[static_cast<std::size_t>(v * view.width + u)];
        if (!(d > 1e-6)) continue;
        const Vec3 world = world_from_view * Vec3{(u - from.cx) / from.fx * d, (v - from.cy) / from.fy * d, d};
        const Vec3 seen = reference_from_world * world;
        if (!(seen[2] > 1e-6)) continue;
        total += std::hypot(to.fx * seen[0] / seen[2] + to.cx - u, to.fy * seen[1] / seen[2] + to.cy - v);
        ++valid;
      }
    }
    return valid > 0 ? total / valid : 0;
  }

  Config config_;
  SessionOptions options_;
  std::int64_t most_frames_;
  std::unique_ptr<Backend> backend_;
  Network network_;
  FrameGrid grid_;
  SizeTables tables_;
  AttentionOverRows attention_;
  KvStore store_;
  CameraCache camera_cache_;
  Arena arena_;
  std::vector<std::int64_t> kept_;  ///< scale frames and keyframes
};

}  // namespace lingbot_map::test
