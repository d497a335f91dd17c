#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "geometry/camera.hpp"
#include "lingbot_map/lingbot_map.hpp"

namespace lingbot_map::test {

/// Windowed mode as the public system has it, for a sequence that is there as a whole: first every window by a session
/// of its own, then alignment, then stitching. Nothing is shared with WindowedSession but Session itself.
class WindowedOracle {
 public:
  struct Window {
    std::int64_t first = 0;
    std::vector<FrameResult> results{};
    std::int64_t overlap = 0;  ///< with the one before
    double scale = 1;
    Mat3 rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    Vec3 translation = {0, 0, 0};
  };

  WindowedOracle(const Model& model, const WindowedOptions& options) : model_(model), options_(options) {}

  std::vector<FrameResult> run(const std::vector<Image>& images) {
    windows = options_.session.flow_threshold > 0 ? dynamic_windows(images) : planned_windows(images);
    for (std::size_t b = 0; b < windows.size(); ++b) {
      if (b > 0 && windows[b].overlap > 0) align(windows[b - 1], windows[b]);
      warp(windows[b]);
    }
    std::vector<FrameResult> stitched;
    for (std::size_t b = 0; b < windows.size(); ++b) {
      const std::int64_t dropped = b + 1 < windows.size() ? windows[b + 1].overlap : 0;
      const auto& results = windows[b].results;
      for (std::int64_t i = 0; i < std::ssize(results) - dropped; ++i) {
        stitched.push_back(results[static_cast<std::size_t>(i)]);
        stitched.back().index = windows[b].first + i;
      }
    }
    return stitched;
  }

  std::vector<Window> windows;

  /// The frames from `start` to before `end`, by a session of their own.
  [[nodiscard]] std::vector<FrameResult> infer(const std::vector<Image>& images, std::int64_t start,
                                               std::int64_t end) const {
    Session session(model_, options_.session);
    std::vector<FrameResult> all;
    const auto take = [&all](std::vector<FrameResult> results) {
      for (FrameResult& result : results) all.push_back(std::move(result));
    };
    for (std::int64_t i = start; i < end; ++i) take(session.push(images[static_cast<std::size_t>(i)]));
    take(session.finish());
    return all;
  }

  /// Places a window by its frames in common with `a`, which is in the world.
  static void align(const Window& a, Window& b) {
    const std::size_t start = a.results.size() - static_cast<std::size_t>(b.overlap);
    std::vector<std::size_t> paired;
    for (std::size_t o = 0; o < static_cast<std::size_t>(b.overlap); ++o)
      if (a.results[start + o].type != FrameType::non_keyframe && b.results[o].type != FrameType::non_keyframe)
        paired.push_back(o);
    if (paired.empty()) paired.push_back(0);
    std::vector<float> ratios;
    for (const std::size_t o : paired) {
      for (std::size_t i = 0; i < b.results[o].depth.size(); ++i) {
        const float above = a.results[start + o].depth[i];
        const float below = b.results[o].depth[i];
        if (std::isfinite(above) && std::isfinite(below) && std::abs(below) > 1.19e-7F) ratios.push_back(above / below);
      }
    }
    std::sort(ratios.begin(), ratios.end());
    b.scale = ratios.empty() ? 1 : std::clamp<double>(ratios[(ratios.size() - 1) / 2], 1e-3, 1e3);
    const Rigid3 anchor_a = *world_from_camera(a.results[start + paired.back()].pose_enc);
    const Rigid3 anchor_b = *world_from_camera(b.results[paired.back()].pose_enc);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        double sum = 0;
        for (int c = 0; c < 3; ++c) sum += anchor_a.rotation[i * 3 + c] * anchor_b.rotation[j * 3 + c];
        b.rotation[i * 3 + j] = sum;
      }
    for (int i = 0; i < 3; ++i) {
      double turned = 0;
      for (int j = 0; j < 3; ++j) turned += b.rotation[i * 3 + j] * anchor_b.translation[j];
      b.translation[i] = anchor_a.translation[i] - b.scale * turned;
    }
  }

  /// Brings its results into the world.
  static void warp(Window& window) {
    for (FrameResult& result : window.results) {
      Rigid3 camera = *world_from_camera(result.pose_enc);
      Vec3 centre = camera.translation;
      for (double& x : centre) x *= window.scale;
      camera.translation = centre;
      const Rigid3 placed = Rigid3{window.rotation, window.translation} * camera;
      const PoseEncoding encoding = encode_camera(placed, {1, 1, 1, 1}, 2, 2);
      std::copy_n(encoding.begin(), 7, result.pose_enc.begin());
      for (float& depth : result.depth) depth = static_cast<float>(depth * window.scale);
    }
  }

 private:
  [[nodiscard]] std::vector<Window> planned_windows(const std::vector<Image>& images) const {
    const auto frames = std::ssize(images);
    const std::int64_t k = options_.session.keyframe_interval;
    const std::int64_t scale = std::min<std::int64_t>(options_.session.scale_frames, frames);
    const std::int64_t length = scale + std::max<std::int64_t>(options_.window_size - scale, 0) * k;
    std::int64_t overlap = options_.overlap_keyframes ? std::max<std::int64_t>(scale, *options_.overlap_keyframes * k)
                                                      : options_.overlap_size;
    overlap = frames <= 1 ? 0 : std::min<std::int64_t>(overlap, frames - 1);
    const std::int64_t extent = std::min<std::int64_t>(length, frames);
    const std::int64_t step = std::max<std::int64_t>(extent - overlap, 1);
    std::vector<Window> windows;
    for (std::int64_t start = 0;; start += step) {
      const std::int64_t end = std::min<std::int64_t>(start + extent, frames);
      if (end - start >= overlap || end == frames) {
        windows.push_back({.first = start, .results = infer(images, start, end), .overlap = start > 0 ? overlap : 0});
      }
      if (end == frames) return windows;
    }
  }

  [[nodiscard]] std::vector<Window> dynamic_windows(const std::vector<Image>& images) const {
    const auto frames = std::ssize(images);
    const std::int64_t scale = options_.session.scale_frames;
    std::vector<Window> windows;
    for (std::int64_t start = 0, last_end = 0;;) {
      Session session(model_, options_.session);
      Window window{.first = start, .overlap = last_end - start};
      std::int64_t cursor = start;
      int keyframes = 0;
      while (cursor < frames && (cursor < start + scale || keyframes < options_.window_size - scale)) {
        for (FrameResult& result : session.push(images[static_cast<std::size_t>(cursor)])) {
          keyframes += result.type == FrameType::keyframe ? 1 : 0;
          window.results.push_back(std::move(result));
        }
        ++cursor;
      }
      for (FrameResult& result : session.finish()) window.results.push_back(std::move(result));
      windows.push_back(std::move(window));
      if (cursor == frames) return windows;
      last_end = cursor;
      start = std::max(cursor - options_.overlap_size, start + scale);
    }
  }

  Model model_;
  WindowedOptions options_;
};

}  // namespace lingbot_map::test
