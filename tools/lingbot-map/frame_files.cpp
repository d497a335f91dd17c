#include "frame_files.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/message.hpp"
#include "export/depth_picture.hpp"
#include "export/output_folder.hpp"
#include "media/write_png.hpp"

namespace lingbot_map::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::array kDepthFolders = {"depth", "depth_color", "confidence", "confidence_color"};
constexpr std::string_view kFramePrefix = "frame_";

bool is_numbered_picture(const fs::path& file, std::string_view prefix) {
  const std::string stem = file.stem().string();
  if (file.extension() != ".png" || !stem.starts_with(prefix)) return false;
  const std::string_view digits = std::string_view(stem).substr(prefix.size());
  return digits.size() >= 6 &&
         std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

std::string six_digits(std::int64_t index) {
  std::string text = std::to_string(index);
  return text.insert(0, text.size() < 6 ? 6 - text.size() : 0, '0');
}

void prepare_pictures(const fs::path& folder, std::string_view prefix) {
  make_output_folder(folder);
  std::vector<fs::path> old;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (is_numbered_picture(entry->path(), prefix)) old.push_back(entry->path());
  for (auto file = old.begin(); !error && file != old.end(); ++file) fs::remove(*file, error);
  if (error)
    fail(ErrorCode::output, folder.string(), ": pictures of an earlier run cannot be removed (", error.message(),
         "); empty the folder or choose another");
}

FrameFiles::FrameFiles(const fs::path& folder, const ResultOptions& options, bool save_depth)
    : folder_(folder), units_(options.units), save_depth_(save_depth), results_(folder_, options) {
  if (save_depth_)
    for (const char* name : kDepthFolders) prepare_pictures(folder_ / name, kFramePrefix);
}

void FrameFiles::write(const FrameResult& result, const FrameMeta& meta) {
  if (save_depth_) write_depth(units_.changed ? in_units(units_, result) : result);
  results_.write(result, meta);
}

void FrameFiles::write_depth(const FrameResult& result) const {
  const std::string name = std::string(kFramePrefix) + six_digits(result.index) + ".png";
  const int width = result.width;
  const int height = result.height;
  write_png16(folder_ / kDepthFolders[0] / name, width, height, gray16(result.depth));
  write_png(folder_ / kDepthFolders[1] / name, depth_picture(result.depth, width, height));
  write_png16(folder_ / kDepthFolders[2] / name, width, height, gray16(result.depth_conf));
  write_png(folder_ / kDepthFolders[3] / name, confidence_picture(result.depth_conf, width, height));
}

}  // namespace lingbot_map::tool
