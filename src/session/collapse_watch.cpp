#include "lingbot_map/collapse_watch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "base/message.hpp"
#include "geometry/camera.hpp"
#include "geometry/vec3.hpp"

namespace lingbot_map {
namespace {

constexpr double kLeastUsualStep = 0.02;   ///< median depths; else a camera that stood still could not start
constexpr double kTimesUsualScale = 8;     ///< a noisy network's depths change by their noise from frame to frame
constexpr double kLeastCommonShare = 0.2;  ///< of the pixels looked at: fewer say nothing of the scale
constexpr int kStep = 8;                   ///< every so many pixels of every so many rows

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median of a map over a grid; of depth only what is positive. 0 when there is nothing.
double median_over_grid(const std::vector<float>& map, int width, int height, double less) {
  std::vector<double> values;
  for (int v = 0; v < height; v += kStep)
    for (int u = 0; u < width; u += kStep) {
      const double value =
          map[static_cast<std::size_t>(v) * static_cast<std::size_t>(width) + static_cast<std::size_t>(u)] - less;
      if (value > 0 && std::isfinite(value)) values.push_back(value);
    }
  return values.empty() ? 0 : median_of(std::move(values));
}

/// A frame as far as the next one is compared with it.
struct SeenFrame {
  Rigid3 world_from_camera;
  Intrinsics intrinsics;
  int width = 0;
  int height = 0;
  std::vector<float> depth;
  double median_depth = 0;
};

std::optional<SeenFrame> seen_frame(const FrameResult& result) {
  const auto pose = world_from_camera(result.pose_enc);
  if (!pose) return std::nullopt;
  return SeenFrame{.world_from_camera = *pose,
                   .intrinsics = intrinsics_of(result.pose_enc, result.width, result.height),
                   .width = result.width,
                   .height = result.height,
                   .depth = result.depth,
                   .median_depth = median_over_grid(result.depth, result.width, result.height, 0)};
}

/// The median factor by which what both frames see is further away, in its own frame's depth, for the later one.
/// Nothing when too little is seen by both.
std::optional<double> scale_between(const SeenFrame& before, const SeenFrame& now) {
  if (!before.intrinsics.usable() || !now.intrinsics.usable()) return std::nullopt;
  const Rigid3 before_from_now = before.world_from_camera.inverse() * now.world_from_camera;
  std::vector<double> factors;
  int looked_at = 0;
  for (int v = 0; v < now.height; v += kStep)
    for (int u = 0; u < now.width; u += kStep) {
      ++looked_at;
      const double depth =
          now.depth[static_cast<std::size_t>(v) * static_cast<std::size_t>(now.width) + static_cast<std::size_t>(u)];
      if (!(depth > 0) || !std::isfinite(depth)) continue;
      const Vec3 point = before_from_now * unproject(now.intrinsics, u, v, depth);
      if (!(point[2] > 0)) continue;
      const double column = std::round(before.intrinsics.fx * point[0] / point[2] + before.intrinsics.cx);
      const double row = std::round(before.intrinsics.fy * point[1] / point[2] + before.intrinsics.cy);
      if (!(column >= 0 && column < before.width && row >= 0 && row < before.height)) continue;
      const double seen = before.depth[static_cast<std::size_t>(row) * static_cast<std::size_t>(before.width) +
                                       static_cast<std::size_t>(column)];
      if (seen > 0 && std::isfinite(seen)) factors.push_back(point[2] / seen);
    }
  if (static_cast<double>(factors.size()) < kLeastCommonShare * looked_at) return std::nullopt;
  return median_of(std::move(factors));
}

/// The last values of something.
class Recent {
 public:
  explicit Recent(const CollapseLimits& limits) : limits_(limits) {}
  [[nodiscard]] bool settled() const noexcept {
    return values_.size() >= static_cast<std::size_t>(limits_.frames_to_settle);
  }
  [[nodiscard]] double median() const { return median_of({values_.begin(), values_.end()}); }
  void add(double value) {
    values_.push_back(value);
    if (values_.size() > static_cast<std::size_t>(limits_.frames)) values_.pop_front();
  }
  void clear() noexcept { values_.clear(); }

 private:
  CollapseLimits limits_;
  std::deque<double> values_;
};

}  // namespace

std::string_view name_of(CollapseSign sign) noexcept {
  switch (sign) {
    case CollapseSign::pose: return "pose";
    case CollapseSign::translation: return "translation";
    case CollapseSign::scale: return "scale";
    case CollapseSign::confidence: return "confidence";
  }
  return "";
}

std::string Collapse::text() const {
  const auto number = [](double value) { return std::round(value * 1000) / 1000; };
  const std::string name = message("frame ", frame, ": ");
  switch (sign) {
    case CollapseSign::pose: return name + "the camera has no pose";
    case CollapseSign::translation:
      return message(name, "the camera moved by ", number(found), " times the median depth in one frame, usually by ",
                     number(usual));
    case CollapseSign::scale:
      return message(name, "what the frame before saw too is ", number(found), " times as far away");
    case CollapseSign::confidence:
      return message(name, "the median confidence above 1 fell to ", number(found), ", usually ", number(usual));
  }
  return name;
}

class CollapseWatch::Impl {
 public:
  explicit Impl(const CollapseLimits& limits)
      : limits_(limits), steps_(limits), scales_(limits), confidences_(limits) {}

  std::vector<Collapse> look(const FrameResult& result) {
    std::vector<Collapse> signs;
    std::optional<SeenFrame> view = seen_frame(result);
    if (!view) {
      if (!blind_) signs.push_back({.frame = result.index, .sign = CollapseSign::pose});
    } else if (last_) {
      look_at_step(result.index, *view, signs);
      look_at_scale(result.index, *view, signs);
    }
    blind_ = !view;
    look_at_confidence(result, signs);
    last_ = std::move(view);
    return signs;
  }

  void restart() {
    for (Recent* recent : {&steps_, &scales_, &confidences_}) recent->clear();
    last_.reset();
    blind_ = false;
  }

 private:
  void look_at_step(std::int64_t frame, const SeenFrame& view, std::vector<Collapse>& signs) {
    if (!(last_->median_depth > 0)) return;
    const double step =
        distance(view.world_from_camera.translation, last_->world_from_camera.translation) / last_->median_depth;
    if (steps_.settled()) {
      const double usual = steps_.median();
      if (step > limits_.translation * std::max(usual, kLeastUsualStep)) {
        signs.push_back({.frame = frame, .sign = CollapseSign::translation, .found = step, .usual = usual});
        steps_.clear();
        return;
      }
    }
    steps_.add(step);
  }

  void look_at_scale(std::int64_t frame, const SeenFrame& view, std::vector<Collapse>& signs) {
    const std::optional<double> factor = scale_between(*last_, view);
    if (!factor) return;
    const double change = std::abs(std::log(*factor));
    if (scales_.settled() && change > std::max(std::log(limits_.scale), kTimesUsualScale * scales_.median())) {
      signs.push_back({.frame = frame, .sign = CollapseSign::scale, .found = *factor, .usual = 1});
      scales_.clear();
      return;
    }
    scales_.add(change);
  }

  void look_at_confidence(const FrameResult& result, std::vector<Collapse>& signs) {
    const double confidence = median_over_grid(result.depth_conf, result.width, result.height, 1);
    if (confidences_.settled()) {
      const double usual = confidences_.median();
      if (confidence < usual / limits_.confidence) {
        signs.push_back({.frame = result.index, .sign = CollapseSign::confidence, .found = confidence, .usual = usual});
        confidences_.clear();
      }
    }
    confidences_.add(confidence);
  }

  CollapseLimits limits_;
  Recent steps_;        ///< in median depths of the frame before
  Recent scales_;       ///< absolute logarithms of factors
  Recent confidences_;  ///< medians, less 1
  std::optional<SeenFrame> last_;
  bool blind_ = false;  ///< the frame before had no pose
};

CollapseWatch::CollapseWatch(const CollapseLimits& limits) {
  for (const auto& [name, value] :
       {std::pair{"translation", limits.translation}, {"scale", limits.scale}, {"confidence", limits.confidence}})
    if (!(value > 1) || !std::isfinite(value))
      fail(ErrorCode::usage, "collapse limit of ", name, ": found ", value, ", expected a number above 1");
  for (const auto& [name, value] : {std::pair{"frames", limits.frames}, {"frames_to_settle", limits.frames_to_settle}})
    if (value < 1) fail(ErrorCode::usage, "collapse limit ", name, ": found ", value, ", expected 1 or more");
  if (limits.frames_to_settle > limits.frames)
    fail(ErrorCode::usage, "collapse limit frames_to_settle: found ", limits.frames_to_settle, ", expected ",
         limits.frames, " (frames) at most");
  impl_ = std::make_unique<Impl>(limits);
}
CollapseWatch::~CollapseWatch() = default;
CollapseWatch::CollapseWatch(CollapseWatch&&) noexcept = default;
CollapseWatch& CollapseWatch::operator=(CollapseWatch&&) noexcept = default;

std::vector<Collapse> CollapseWatch::look(const FrameResult& result) { return impl_->look(result); }
void CollapseWatch::restart() { impl_->restart(); }

}  // namespace lingbot_map
