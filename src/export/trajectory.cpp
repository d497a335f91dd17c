#include "export/trajectory.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "base/message.hpp"
#include "export/number_text.hpp"

namespace lingbot_map {
namespace {

/// The time stamp as it is written: in nanoseconds.
std::int64_t nanoseconds(double seconds, const std::string& file) {
  constexpr double latest = 9e9;  // the year 2255; times a billion it still fits
  if (!(std::abs(seconds) < latest)) {
    fail(ErrorCode::input, file, ": found the time stamp ", seconds, ", expected seconds between -9e9 and 9e9");
  }
  return std::llround(seconds * 1e9);
}

}  // namespace

TumWriter::TumWriter(const std::filesystem::path& path, const Units& units, const JsonFields* state)
    : file_(open_output(path, state)) {
  if (state != nullptr) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    last_nanoseconds_ = state->optional_integer("last_nanoseconds", -most, most);
    return;
  }
  file_.append(
      "# One line a frame: timestamp tx ty tz qx qy qz qw\n"
      "# Seconds; camera to world (tx ty tz is the camera centre); unit quaternion; camera axes x right, y down, z "
      "forward\n");
  if (units.changed) file_.append(message("# ", units.text, '\n'));
}

WriterState TumWriter::state() const {
  return {{"bytes", file_.size()},
          {"last_nanoseconds", last_nanoseconds_ ? WriterState(*last_nanoseconds_) : WriterState(nullptr)}};
}

void TumWriter::write(double timestamp, const std::optional<Rigid3>& world_from_camera) {
  const std::int64_t now = nanoseconds(timestamp, file_.name());
  std::string line;
  append_seconds(line, timestamp);
  if (last_nanoseconds_ && now <= *last_nanoseconds_) {
    std::string last;
    append_seconds(last, static_cast<double>(*last_nanoseconds_) / 1e9);
    fail(ErrorCode::input, file_.name(), ": found the time stamp ", line, " after ", last,
         ", expected strictly ascending seconds; number the frames instead");
  }
  if (world_from_camera) {
    const Quaternion q = quaternion_from_rotation(world_from_camera->rotation);
    const Vec3& t = world_from_camera->translation;
    for (const double number : {t[0], t[1], t[2], q.x, q.y, q.z, q.w}) append_number(line += ' ', number);
  } else {
    line = "# " + line + " has no pose";
  }
  file_.append(line += '\n');
  last_nanoseconds_ = now;
}

void KittiWriter::write(const std::optional<Rigid3>& world_from_camera) {
  std::string line;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      if (!line.empty()) line += ' ';
      if (!world_from_camera) {
        line += "nan";
      } else {
        append_number(line,
                      column < 3 ? world_from_camera->rotation[row * 3 + column] : world_from_camera->translation[row]);
      }
    }
  }
  file_.append(line += '\n');
}

IntrinsicsWriter::IntrinsicsWriter(const std::filesystem::path& path, const JsonFields* state)
    : file_(open_output(path, state)) {
  if (state != nullptr) return;
  file_.append(
      "# One line a frame: index fx fy cx cy fx fy cx cy width height\n"
      "# First in pixels of the network's input, then in pixels of the original picture of width x height; cx and cy "
      "count from the outer border of the first pixel\n");
}

void IntrinsicsWriter::write(std::int64_t index, const Intrinsics& processed, const OriginalPixels& original) {
  std::string line = std::to_string(index);
  for (const Intrinsics& camera : {processed, in_original_pixels(processed, original)})
    for (const double number : {camera.fx, camera.fy, camera.cx, camera.cy}) append_number(line += ' ', number);
  file_.append(message(line, ' ', original.width, ' ', original.height, '\n'));
}

}  // namespace lingbot_map
