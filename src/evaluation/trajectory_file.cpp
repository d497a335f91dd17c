#include "evaluation/trajectory_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "evaluation/svd3.hpp"

namespace lingbot_map {
namespace {

constexpr std::size_t kLargestFile = std::size_t{256} << 20;
constexpr std::size_t kTumWords = 8;
constexpr std::size_t kKittiWords = 12;
constexpr double kLargestNumber = 1e100;  // squares and differences of which are numbers too
constexpr double kRotationTolerance = 1e-3;
constexpr std::string_view kBlank = " \t\r\v\f";

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t start = line.find_first_not_of(kBlank); start != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, start), line.size());
    words.push_back(line.substr(start, end - start));
    start = line.find_first_not_of(kBlank, end);
  }
  return words;
}

/// A number as any writer of these files may put it, whatever the locale; "nan" and "inf" are numbers too.
std::optional<double> number_of(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

class TrajectoryReader {
 public:
  TrajectoryReader(std::string name, TrajectoryFormat format) : format_(format) { trajectory_.name = std::move(name); }

  void take(std::string_view line) {
    ++line_;
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) return;
    if (words[0].starts_with('#')) {
      take_comment(words);
      return;
    }
    if (format_ == TrajectoryFormat::automatic) format_ = format_by(words.size());
    const std::size_t expected = format_ == TrajectoryFormat::tum ? kTumWords : kKittiWords;
    if (words.size() != expected)
      refuse("found ", words.size(), " words, expected the ", expected, " numbers of a pose in ",
             format_ == TrajectoryFormat::tum ? "TUM format (timestamp tx ty tz qx qy qz qw)"
                                              : "KITTI format (a 3x4 matrix row by row)");
    std::array<double, kKittiWords> numbers{};
    for (std::size_t i = 0; i < words.size(); ++i) numbers[i] = parse(words[i]);
    if (format_ == TrajectoryFormat::tum) {
      take_tum(numbers);
    } else {
      take_kitti(numbers);
    }
  }

  Trajectory finish() && {
    if (trajectory_.poses.empty())
      fail(ErrorCode::input, trajectory_.name, ": found ",
           trajectory_.frame_times.empty() ? "no line with a pose" : "only frames without a pose",
           ", expected a trajectory in TUM or KITTI format");
    trajectory_.has_times = format_ == TrajectoryFormat::tum;
    return std::move(trajectory_);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(ErrorCode::input, trajectory_.name, ": line ", line_, ": ", parts...);
  }

  [[nodiscard]] TrajectoryFormat format_by(std::size_t words) const {
    if (words == kTumWords) return TrajectoryFormat::tum;
    if (words == kKittiWords) return TrajectoryFormat::kitti;
    refuse("found ", words, " words, expected 8 numbers (TUM) or 12 (KITTI)");
  }

  [[nodiscard]] double parse(std::string_view word) const {
    const std::optional<double> number = number_of(word);
    if (!number) refuse("found \"", printable(word, 40), "\", expected a number");
    if (!std::isfinite(*number) && format_ == TrajectoryFormat::tum)
      refuse("found \"", printable(word, 40), "\", expected a finite number; remove the line or make it a comment");
    if (std::isfinite(*number) && std::abs(*number) > kLargestNumber)
      refuse("found ", *number, ", expected numbers of at most ", kLargestNumber);
    return *number;
  }

  /// Of comments, only that of a frame without a pose says something.
  void take_comment(const std::vector<std::string_view>& words) {
    constexpr std::array<std::string_view, 3> kEnd = {"has", "no", "pose"};
    if (words.size() != 5 || words[0] != "#" || !std::equal(kEnd.begin(), kEnd.end(), words.begin() + 2)) return;
    const std::optional<double> time = number_of(words[1]);
    if (time && std::isfinite(*time)) add_time(*time);
  }

  void add_time(double time) {
    std::vector<double>& times = trajectory_.frame_times;
    if (!times.empty() && !(time > times.back())) {
      refuse("found the time stamp ", shortest_text(time), " after ", shortest_text(times.back()), ", ",
             time == times.back() ? "which is a duplicate" : "which is out of order", ", expected ascending seconds");
    }
    times.push_back(time);
  }

  void add_pose(const Mat3& rotation, const Vec3& centre) {
    const auto frame = static_cast<std::int64_t>(trajectory_.frame_times.size()) - 1;
    trajectory_.poses.push_back({trajectory_.frame_times.back(), frame, {rotation, centre}});
  }

  void take_tum(const std::array<double, kKittiWords>& n) {
    add_time(n[0]);
    const double length = std::sqrt(n[4] * n[4] + n[5] * n[5] + n[6] * n[6] + n[7] * n[7]);
    if (!(std::abs(length - 1) <= kRotationTolerance))
      refuse("found a quaternion of length ", length, ", expected a unit quaternion qx qy qz qw");
    add_pose(*rotation_from_quaternion({n[4], n[5], n[6], n[7]}), {n[1], n[2], n[3]});
  }

  void take_kitti(const std::array<double, kKittiWords>& n) {
    add_time(static_cast<double>(trajectory_.frame_times.size()));
    const auto is_nan = [](double number) { return std::isnan(number); };
    if (std::ranges::all_of(n, is_nan)) return;
    for (const double number : n)
      if (!std::isfinite(number)) refuse("found ", number, " in a pose, expected finite numbers or twelve times nan");
    const Svd3 svd = svd3({n[0], n[1], n[2], n[4], n[5], n[6], n[8], n[9], n[10]});
    if (!(std::abs(svd.values[0] - 1) <= kRotationTolerance && std::abs(svd.values[2] - 1) <= kRotationTolerance))
      refuse("found a matrix that stretches by ", svd.values[2], " to ", svd.values[0], ", expected a rotation");
    if (determinant(svd.u) * determinant(svd.v) < 0) refuse("found a matrix that mirrors, expected a rotation");
    Mat3 rotation{};
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < 3; ++column)
        for (std::size_t k = 0; k < 3; ++k) rotation[row * 3 + column] += svd.u[row * 3 + k] * svd.v[column * 3 + k];
    add_pose(rotation, {n[3], n[7], n[11]});
  }

  TrajectoryFormat format_;
  Trajectory trajectory_;
  std::int64_t line_ = 0;
};

}  // namespace

Trajectory read_trajectory(const std::filesystem::path& path, TrajectoryFormat format) {
  const std::string text = read_text_file(path, kLargestFile);
  std::string_view rest = text;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  TrajectoryReader reader(path.string(), format);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    reader.take(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::move(reader).finish();
}

}  // namespace lingbot_map
