#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lingbot_map::tool {

/// The time that a file name tells, in seconds: the last number in it without its extension, which may have a decimal
/// point ("rgb_1305031102.175304.png"). A whole number of 13, 16 or 19 digits is a Unix time in milliseconds,
/// microseconds or nanoseconds. Nothing if the name has no number.
[[nodiscard]] std::optional<double> time_in_name(std::string_view file_name);

/// The times of a sequence of frames, strictly ascending.
class Timestamps {
 public:
  enum class Rule { index, name };
  /// `fps`: what the index of a frame without a time of its own is divided by.
  Timestamps(Rule rule, double fps) : rule_(rule), fps_(fps) {}

  /// Seconds for the next frame. `stated` is the frame's own time (a video's); `source_index` its place in the input
  /// before any frame was left out. Throws Error(input) that names the frame when its name has no number, or the time
  /// does not come after that of the frame before.
  double next(std::optional<double> stated, std::int64_t source_index, const std::string& name);
  /// Goes on after a frame of an earlier process that had this time.
  void resume_after(double time, const std::string& name) {
    last_ = time;
    last_name_ = name;
  }

 private:
  Rule rule_;
  double fps_;
  std::optional<double> last_;
  std::string last_name_;
};

}  // namespace lingbot_map::tool
