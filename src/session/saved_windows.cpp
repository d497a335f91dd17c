#include "session/saved_windows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr const char* kSize = "windows.size";
constexpr const char* kElsewhere = "; restore it with what it was saved with, or start a new session";

/// A record as a row of an array: first_frame, frames, overlap, scale, transform, aligned, the residuals (NaN: unset),
/// first_given.
constexpr std::size_t kNumbers = 3 + 1 + 16 + 1 + 3 + 1;
using Row = std::array<double, kNumbers>;

Row row_of(const WindowRecord& window) {
  constexpr double unset = std::numeric_limits<double>::quiet_NaN();
  Row row{double(window.first_frame), double(window.frames), double(window.overlap), window.scale};
  auto* next = std::ranges::copy(window.transform, row.begin() + 4).out;
  *next++ = window.aligned ? 1 : 0;
  for (const auto& residual : {window.depth_residual, window.position_residual, window.rotation_residual})
    *next++ = residual.value_or(unset);
  *next = double(window.first_given);
  return row;
}

WindowRecord record_of(const Row& row, const StateReader& state) {
  const auto whole = [&](double value) {
    if (!(value >= 0 && value <= double(kMost) && value == std::floor(value)))
      state.refuse(message("a window has the number of frames ", value));
    return static_cast<std::int64_t>(value);
  };
  if (!std::all_of(row.begin() + 3, row.begin() + 20, [](double value) { return std::isfinite(value); }) || row[3] <= 0)
    state.refuse("a window has no finite place");
  WindowRecord window{.first_frame = whole(row[0]), .frames = whole(row[1]), .overlap = whole(row[2]), .scale = row[3]};
  std::copy_n(row.begin() + 4, window.transform.size(), window.transform.begin());
  window.aligned = row[20] != 0;
  const auto residual = [](double value) { return std::isnan(value) ? std::nullopt : std::optional(value); };
  window.depth_residual = residual(row[21]);
  window.position_residual = residual(row[22]);
  window.rotation_residual = residual(row[23]);
  window.first_given = whole(row[24]);
  return window;
}

/// Rows in host memory as the bytes that they are.
Tensor bytes_of(const std::vector<Row>& rows) {
  return {const_cast<Row*>(rows.data()), DType::u8, {std::ssize(rows), std::int64_t{sizeof(Row)}}};
}

struct Map {
  const char* name;
  std::vector<float> FrameResult::*values;
  std::int64_t channels;
  bool of_points;
};
constexpr Map kMaps[] = {{"depth", &FrameResult::depth, 1, false},
                         {"depth_conf", &FrameResult::depth_conf, 1, false},
                         {"world_points", &FrameResult::world_points, 3, true},
                         {"world_points_conf", &FrameResult::world_points_conf, 1, true}};

std::string entry_name(std::string_view list, std::size_t number, const char* what) {
  return message(list, '.', number, '.', what);
}

Tensor matrix_of(const std::vector<float>& values, std::int64_t rows) {
  return {const_cast<float*>(values.data()), DType::f32, {rows, std::ssize(values) / rows}};
}

Tensor row_of(const std::array<float, 9>& pose) {
  return {const_cast<float*>(pose.data()), DType::f32, {1, std::ssize(pose)}};
}

}  // namespace

void save_window_options(StateWriter& state, const WindowedOptions& options) {
  state.put(kSize, std::int64_t{options.window_size});
  state.put("windows.overlap_size", std::int64_t{options.overlap_size});
  state.put("windows.overlap_keyframes", std::int64_t{options.overlap_keyframes.value_or(0)});
  state.put("windows.alignment", std::string(name_of(options.alignment)));
  state.put("windows.cuts", options.cuts);
  state.put("windows.endless", options.endless);
}

void check_window_options(const StateReader& state, const WindowedOptions& options) {
  const JsonFields& fields = state.fields();
  if (!fields.has(kSize))
    fail(ErrorCode::input, state.name(), ": is a saved session without windows, expected one with windows", kElsewhere);
  const auto require = [&](const char* name, const auto& found, const auto& expected) {
    if (found != expected)
      fail(ErrorCode::input, state.name(), ": the saved session has ", name, ' ', found, ", expected ", expected,
           kElsewhere);
  };
  const auto number = [&](const char* name) { return fields.integer(name, 0, kMost); };
  const auto yes_or_no = [](bool value) { return std::string(value ? "yes" : "no"); };
  require("endless", yes_or_no(fields.flag("windows.endless")), yes_or_no(options.endless));
  require("cuts", yes_or_no(fields.flag("windows.cuts")), yes_or_no(options.cuts));
  if (!options.endless) require("window_size", number(kSize), std::int64_t{options.window_size});
  require("overlap_keyframes", number("windows.overlap_keyframes"),
          std::int64_t{options.overlap_keyframes.value_or(0)});
  if (!options.overlap_keyframes)
    require("overlap_size", number("windows.overlap_size"), std::int64_t{options.overlap_size});
  require("alignment", printable(fields.text("windows.alignment")), std::string(name_of(options.alignment)));
}

void refuse_windows(const StateReader& state) {
  if (state.fields().has(kSize))
    fail(ErrorCode::input, state.name(), ": is a saved session with windows, expected one without", kElsewhere);
}

void save_windows(StateWriter& state, const std::vector<WindowRecord>& windows) {
  std::vector<Row> rows(windows.size());
  std::ranges::transform(windows, rows.begin(), [](const WindowRecord& window) { return row_of(window); });
  state.put("windows.count", std::ssize(rows));
  state.add("windows", bytes_of(rows));
}

std::vector<WindowRecord> restore_windows(StateReader& state) {
  const std::int64_t count = state.fields().integer("windows.count", 1, kMost);
  state.expect("windows", DType::u8, count, sizeof(Row));
  std::vector<Row> rows(static_cast<std::size_t>(count));
  state.read("windows", bytes_of(rows));
  std::vector<WindowRecord> windows;
  windows.reserve(rows.size());
  for (const Row& row : rows) windows.push_back(record_of(row, state));
  return windows;
}

void save_result(StateWriter& state, std::string_view name, std::size_t number, const FrameResult& result) {
  state.add(entry_name(name, number, "pose_enc"), row_of(result.pose_enc));
  for (const Map& map : kMaps) {
    const std::vector<float>& values = result.*map.values;
    if (!values.empty()) state.add(entry_name(name, number, map.name), matrix_of(values, result.height));
  }
}

FrameResult restore_result(StateReader& state, std::string_view name, std::size_t number, const FrameGrid& grid,
                           bool has_points) {
  FrameResult result;
  result.width = static_cast<int>(grid.width);
  result.height = static_cast<int>(grid.height);
  state.read(entry_name(name, number, "pose_enc"), row_of(result.pose_enc));
  for (const Map& map : kMaps) {
    if (map.of_points && !has_points) continue;
    const std::string entry = entry_name(name, number, map.name);
    state.expect(entry, DType::f32, grid.height, grid.width * map.channels);
    std::vector<float>& values = result.*map.values;
    values.resize(static_cast<std::size_t>(grid.height * grid.width * map.channels));
    state.read(entry, matrix_of(values, grid.height));
  }
  return result;
}

std::string text_of(const std::vector<FrameType>& types) {
  std::string text;
  for (const FrameType type : types) text += static_cast<char>('0' + static_cast<int>(type));
  return text;
}

std::vector<FrameType> saved_types(const StateReader& state, const std::string& field) {
  std::vector<FrameType> types;
  for (const char digit : state.fields().text(field)) {
    if (digit < '0' || digit > '2') state.refuse(message(field, " has a digit that is none of 0, 1, 2"));
    types.push_back(static_cast<FrameType>(digit - '0'));
  }
  return types;
}

}  // namespace lingbot_map
