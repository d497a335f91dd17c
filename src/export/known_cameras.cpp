#include "export/known_cameras.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr double kLargestSide = 1 << 30;

bool separates(char c) { return c == ' ' || c == '\t' || c == ',' || c == '\r'; }

/// The numbers of a line; nothing if a word is none.
std::optional<std::vector<double>> numbers_of(std::string_view line) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < line.size();) {
    if (separates(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && !separates(line[end])) ++end;
    double number = 0;
    const auto [stop, error] = std::from_chars(line.data() + at, line.data() + end, number);
    if (error != std::errc{} || stop != line.data() + end) return std::nullopt;
    numbers.push_back(number);
    at = end;
  }
  return numbers;
}

bool is_blank(std::string_view line) { return std::ranges::all_of(line, separates); }

/// What is wrong with these intrinsics; empty: nothing.
std::string fault_of(const Intrinsics& camera) {
  const auto& [fx, fy, cx, cy] = camera;
  if (!std::isfinite(fx) || !std::isfinite(fy) || !std::isfinite(cx) || !std::isfinite(cy))
    return "expected finite numbers";
  if (fx <= 0 || fy <= 0) return "expected focal lengths above 0";
  return {};
}

}  // namespace

KnownCameras::KnownCameras(const std::string& text) {
  std::error_code ignored;
  const bool numbers = std::ranges::count(text, ',') > 0 && !std::filesystem::exists(text, ignored);
  if (numbers) {
    const auto values = numbers_of(text);
    if (!values || values->size() != 4 || std::ranges::count(text, ',') != 3)
      fail(ErrorCode::usage, "--intrinsics: found \"", printable(text), "\", expected fx,fy,cx,cy or a file");
    const Intrinsics camera{(*values)[0], (*values)[1], (*values)[2], (*values)[3]};
    if (const std::string fault = fault_of(camera); !fault.empty())
      fail(ErrorCode::usage, "--intrinsics: found \"", printable(text), "\", ", fault);
    only_ = Line{camera};
    Sha256 digest;
    add(*only_, digest);
    fingerprint_ = digest.finish();
    return;
  }
  static_cast<void>(File::open(text));  // says what is wrong with the path
  name_ = text;
  check_file();
}

/// Reads the file once from end to end, and goes back to its beginning.
void KnownCameras::check_file() {
  file_.open(name_);
  std::int64_t lines = 0;
  bool per_frame = false;
  std::optional<Line> first;
  Sha256 digest;
  while (const auto line = read_line()) {
    if (lines == 0) first = line;
    add(*line, digest);
    per_frame = per_frame || line->width > 0;
    ++lines;
  }
  if (lines == 0) fail(ErrorCode::input, name_, ": found no camera, expected lines of fx fy cx cy");
  fingerprint_ = digest.finish();
  if (lines == 1 && !per_frame) {
    only_ = first;
    return;
  }
  frames_ = lines;
  file_.clear();
  file_.seekg(0);
  line_number_ = 0;
}

/// The next line that is no comment.
std::optional<KnownCameras::Line> KnownCameras::read_line() {
  std::string text;
  while (true) {
    text.clear();
    char c = 0;
    while (text.size() <= kLongestLine && file_.get(c) && c != '\n') text += c;
    if (text.empty() && !file_) return std::nullopt;
    ++line_number_;
    if (!text.starts_with('#') && !is_blank(text)) break;
  }
  const auto refuse = [&](const std::string& expected) {
    fail(ErrorCode::input, name_, ": line ", line_number_, ": found \"", printable(text, 80), "\", ", expected);
  };
  const auto numbers = numbers_of(text);
  if (!numbers || (numbers->size() != 4 && numbers->size() != 11))
    refuse("expected fx fy cx cy, or the eleven numbers of intrinsics.txt");
  const std::size_t at = numbers->size() == 4 ? 0 : 5;
  Line line{{(*numbers)[at], (*numbers)[at + 1], (*numbers)[at + 2], (*numbers)[at + 3]}};
  if (const std::string fault = fault_of(line.camera); !fault.empty()) refuse(fault);
  if (at > 0) {
    const double width = (*numbers)[9];
    const double height = (*numbers)[10];
    if (!(width >= 1 && width <= kLargestSide && height >= 1 && height <= kLargestSide))
      refuse("expected a picture's width and height at its end");
    line.width = static_cast<int>(width);
    line.height = static_cast<int>(height);
  }
  return line;
}

void KnownCameras::add(const Line& line, Sha256& digest) {
  const auto& [fx, fy, cx, cy] = line.camera;
  const std::array<double, 6> numbers = {
      fx, fy, cx, cy, static_cast<double>(line.width), static_cast<double>(line.height)};
  digest.update(std::as_bytes(std::span(numbers)));
}

void KnownCameras::skip(std::int64_t frames) {
  next_frame_ += frames;
  for (std::int64_t i = 0; !only_ && i < frames && read_line(); ++i) {
  }
}

Intrinsics KnownCameras::next(const OriginalPixels& original) {
  const std::int64_t frame = next_frame_++;
  const std::optional<Line> line = only_ ? only_ : read_line();
  if (!line)
    fail(ErrorCode::input, name_, ": found cameras for ", frame, " frames, expected one for frame ", frame,
         " too; give one line for all frames, or one for each");
  if (line->width > 0 && (line->width != original.width || line->height != original.height))
    fail(ErrorCode::input, name_, ": line ", line_number_, ": found a camera of a picture of ", line->width, " x ",
         line->height, " pixels, expected ", original.width, " x ", original.height, " for frame ", frame);
  return in_processed_pixels(line->camera, original);
}

}  // namespace lingbot_map
