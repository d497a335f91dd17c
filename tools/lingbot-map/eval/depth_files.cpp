#include "eval/depth_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/message.hpp"

namespace lingbot_map::tool {
namespace {

// The earlier, the more exact its values.
constexpr std::array<std::string_view, 3> kExtensions = {".npy", ".npz", ".png"};

std::ptrdiff_t rank_of(const std::filesystem::path& path) {
  return std::ranges::find(kExtensions, path.extension().string()) - kExtensions.begin();
}

std::optional<DepthFile> depth_file_of(const std::filesystem::path& path) {
  if (rank_of(path) == std::ssize(kExtensions)) return std::nullopt;
  const std::string stem = path.stem().string();
  const std::size_t before = stem.find_last_not_of("0123456789.");
  std::string_view digits = std::string_view(stem).substr(before == std::string::npos ? 0 : before + 1);
  while (digits.starts_with('.')) digits.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return DepthFile{path, number, digits.find('.') != std::string_view::npos};
}

std::string folder_of(const std::vector<DepthFile>& files) { return files.front().path.parent_path().string(); }

/// The times of files, or nothing where they have none.
std::optional<std::vector<double>> times_of(const std::vector<DepthFile>& files, const Trajectory* trajectory) {
  std::vector<double> times;
  const bool by_name = std::ranges::all_of(files, &DepthFile::is_time);
  const bool by_frame =
      trajectory != nullptr && trajectory->has_times && trajectory->frame_times.size() == files.size();
  if (!by_name && !by_frame) return std::nullopt;
  for (const DepthFile& file : files) {
    const auto frames = static_cast<double>(files.size());
    if (!by_name && !(file.number < frames && file.number == std::floor(file.number))) return std::nullopt;
    times.push_back(by_name ? file.number : trajectory->frame_times[static_cast<std::size_t>(file.number)]);
  }
  return times;
}

std::vector<double> numbers_of(const std::vector<DepthFile>& files) {
  std::vector<double> numbers;
  for (const DepthFile& file : files) numbers.push_back(file.number);
  return numbers;
}

/// The position in `keys`, which ascend, of the one nearest to `key`.
std::size_t nearest(const std::vector<double>& keys, double key) {
  const auto after = std::ranges::lower_bound(keys, key);
  if (after == keys.begin()) return 0;
  const bool take_before = after == keys.end() || key - *std::prev(after) <= *after - key;
  return static_cast<std::size_t>(after - keys.begin()) - (take_before ? 1 : 0);
}

}  // namespace

std::vector<DepthFile> list_depth_files(const std::filesystem::path& folder) {
  std::vector<DepthFile> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (const auto file = depth_file_of(entry->path())) files.push_back(*file);
  if (error)
    fail(ErrorCode::input, folder.string(), ": the folder cannot be read: ", error.message(),
         "; expected one with depth maps");
  if (files.empty())
    fail(ErrorCode::input, folder.string(),
         ": found no depth map, expected .npz, .npy or .png files whose names end in a number");
  std::ranges::sort(files, [](const DepthFile& a, const DepthFile& b) {
    if (a.number != b.number) return a.number < b.number;
    return std::pair(rank_of(a.path), a.path) < std::pair(rank_of(b.path), b.path);
  });
  const auto same = std::ranges::unique(files, {}, &DepthFile::number);
  files.erase(same.begin(), same.end());
  return files;
}

std::vector<DepthFilePair> pair_depth_files(const std::vector<DepthFile>& estimate,
                                            const Trajectory* estimate_trajectory, const std::vector<DepthFile>& truth,
                                            const Trajectory* truth_trajectory, double max_time_difference) {
  auto estimate_keys = times_of(estimate, estimate_trajectory);
  auto truth_keys = times_of(truth, truth_trajectory);
  const bool by_time = estimate_keys && truth_keys;
  if (!by_time) {
    estimate_keys = numbers_of(estimate);
    truth_keys = numbers_of(truth);
  }
  const double furthest = by_time ? max_time_difference : 0;
  std::vector<DepthFilePair> pairs;
  for (std::size_t i = 0; i < estimate.size(); ++i) {
    const double key = (*estimate_keys)[i];
    const std::size_t other = nearest(*truth_keys, key);
    if (std::abs((*truth_keys)[other] - key) <= furthest) pairs.push_back({estimate[i], truth[other]});
  }
  if (pairs.empty())
    fail(ErrorCode::input, folder_of(estimate), ": found no depth map of the same ", by_time ? "time" : "number",
         " as one in ", folder_of(truth), ", expected some; the first are ", estimate.front().path.filename().string(),
         " and ", truth.front().path.filename().string());
  return pairs;
}

}  // namespace lingbot_map::tool
