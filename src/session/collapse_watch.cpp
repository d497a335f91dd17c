#include "lingbot_map/collapse_watch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "base/message.hpp"
#include "geometry/vec3.hpp"
#include "session/seen_frame.hpp"
#include "state/state_reader.hpp"
#include "state/state_writer.hpp"

namespace lingbot_map {
namespace {

constexpr double kLeastUsualStep = 0.02;  ///< median depths; else a camera that stood still could not start
constexpr double kTimesUsualScale = 8;    ///< a noisy network's depths change by their noise from frame to frame
constexpr const char* kBlind = "watch.blind";

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

  void save(StateWriter& state, const std::string& name) const {
    std::vector<double> values(values_.begin(), values_.end());
    state.put(name, std::ssize(values));
    if (!values.empty()) state.add(name, bytes_of(values));
  }
  void restore(StateReader& state, const std::string& name) {
    const std::int64_t count = state.fields().integer(name, 0, limits_.frames);
    if (count > 0) state.expect(name, DType::u8, count, sizeof(double));
    std::vector<double> values(static_cast<std::size_t>(count));
    if (count > 0) state.read(name, bytes_of(values));
    for (const double value : values)
      if (!(value >= 0) || !std::isfinite(value)) state.refuse(message(name, " has the value ", value));
    values_.assign(values.begin(), values.end());
  }

 private:
  /// A row of eight bytes for each.
  static Tensor bytes_of(std::vector<double>& values) {
    return {values.data(), DType::u8, {std::ssize(values), std::int64_t{sizeof(double)}}};
  }

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
  explicit Impl(const CollapseLimits& limits) : limits_(limits), now_(limits) {}

  std::vector<Collapse> look(const FrameResult& result) {
    before_ = now_;
    std::vector<Collapse> signs;
    std::optional<SeenFrame> view = seen_frame(result);
    if (!view) {
      if (!now_.blind) signs.push_back({.frame = result.index, .sign = CollapseSign::pose});
    } else if (now_.last) {
      look_at_step(result.index, *view, signs);
      look_at_scale(result.index, *view, signs);
    }
    now_.blind = !view;
    look_at_confidence(result, signs);
    now_.last = view ? std::make_shared<const SeenFrame>(*std::move(view)) : nullptr;
    return signs;
  }

  void take_back() {
    if (!before_) fail(ErrorCode::usage, "take_back: the watch has not looked at a result since, or took it back");
    now_ = *std::exchange(before_, std::nullopt);
  }

  void restart() {
    now_ = State(limits_);
    before_.reset();
  }

  void save(StateWriter& state) const {
    for (const auto& [name, limit] : limits()) state.put(name, limit);
    state.put(kBlind, now_.blind);
    now_.steps.save(state, "watch.steps");
    now_.scales.save(state, "watch.scales");
    now_.confidences.save(state, "watch.confidences");
    save_seen(state, now_.last.get());
  }

  void restore(StateReader& state) {
    if (!state.fields().has(kBlind))
      fail(ErrorCode::input, state.name(), ": is a session saved without a collapse watch; begin the watch anew");
    for (const auto& [name, limit] : limits())
      if (const double saved = state.fields().number(name); saved != limit)
        fail(ErrorCode::input, state.name(), ": the saved ", name, " is ", saved, ", expected ", limit,
             "; restore it with the limits that it was saved with, or begin the watch anew");
    State saved(limits_);
    saved.blind = state.fields().flag(kBlind);
    saved.steps.restore(state, "watch.steps");
    saved.scales.restore(state, "watch.scales");
    saved.confidences.restore(state, "watch.confidences");
    if (auto last = restore_seen(state)) saved.last = std::make_shared<const SeenFrame>(*std::move(last));
    now_ = std::move(saved);
    before_.reset();
  }

 private:
  /// All that the next frame is judged by. A value: the frame, which is large, is shared.
  struct State {
    explicit State(const CollapseLimits& limits) : steps(limits), scales(limits), confidences(limits) {}
    Recent steps;        ///< in median depths of the frame before
    Recent scales;       ///< absolute logarithms of factors
    Recent confidences;  ///< medians, less 1
    std::shared_ptr<const SeenFrame> last;
    bool blind = false;  ///< the frame before had no pose
  };

  [[nodiscard]] std::vector<std::pair<const char*, double>> limits() const {
    return {{"watch.limit.translation", limits_.translation},
            {"watch.limit.scale", limits_.scale},
            {"watch.limit.confidence", limits_.confidence},
            {"watch.limit.frames", limits_.frames},
            {"watch.limit.frames_to_settle", limits_.frames_to_settle}};
  }

  void look_at_step(std::int64_t frame, const SeenFrame& view, std::vector<Collapse>& signs) {
    const SeenFrame& last = *now_.last;
    if (!(last.median_depth > 0)) return;
    const double step =
        distance(view.world_from_camera.translation, last.world_from_camera.translation) / last.median_depth;
    if (now_.steps.settled()) {
      const double usual = now_.steps.median();
      if (step > limits_.translation * std::max(usual, kLeastUsualStep)) {
        signs.push_back({.frame = frame, .sign = CollapseSign::translation, .found = step, .usual = usual});
        now_.steps.clear();
        return;
      }
    }
    now_.steps.add(step);
  }

  void look_at_scale(std::int64_t frame, const SeenFrame& view, std::vector<Collapse>& signs) {
    const std::optional<double> factor = scale_between(*now_.last, view);
    if (!factor) return;
    const double change = std::abs(std::log(*factor));
    if (now_.scales.settled() && change > std::max(std::log(limits_.scale), kTimesUsualScale * now_.scales.median())) {
      signs.push_back({.frame = frame, .sign = CollapseSign::scale, .found = *factor, .usual = 1});
      now_.scales.clear();
      return;
    }
    now_.scales.add(change);
  }

  void look_at_confidence(const FrameResult& result, std::vector<Collapse>& signs) {
    const double confidence = median_over_grid(result.depth_conf, result.width, result.height, 1);
    if (now_.confidences.settled()) {
      const double usual = now_.confidences.median();
      if (confidence < usual / limits_.confidence) {
        signs.push_back({.frame = result.index, .sign = CollapseSign::confidence, .found = confidence, .usual = usual});
        now_.confidences.clear();
      }
    }
    now_.confidences.add(confidence);
  }

  CollapseLimits limits_;
  State now_;
  std::optional<State> before_;  ///< the last result
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
void CollapseWatch::take_back() { impl_->take_back(); }
void CollapseWatch::restart() { impl_->restart(); }
void CollapseWatch::save(StateWriter& state) const { impl_->save(state); }
void CollapseWatch::restore(const std::filesystem::path& session_file) {
  StateReader state(session_file);
  impl_->restore(state);
}

}  // namespace lingbot_map
