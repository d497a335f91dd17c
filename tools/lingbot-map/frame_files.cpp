#include "frame_files.hpp"

#include <array>
#include <string>

#include "export/depth_picture.hpp"
#include "media/write_png.hpp"
#include "numbered_pictures.hpp"

namespace lingbot_map::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::array kDepthFolders = {"depth", "depth_color", "confidence", "confidence_color"};

}  // namespace

FrameFiles::FrameFiles(const fs::path& folder, const ResultOptions& options, bool save_depth, const JsonFields* state)
    : folder_(folder), units_(options.units), save_depth_(save_depth), results_(folder_, options, state) {
  if (save_depth_)
    for (const char* name : kDepthFolders) prepare_pictures(folder_ / name, kFramePrefix, results_.frames());
}

void FrameFiles::write(const FrameResult& result, const FrameMeta& meta) {
  if (save_depth_) write_depth(units_.changed ? in_units(units_, result) : result);
  results_.write(result, meta);
}

void FrameFiles::write_depth(const FrameResult& result) const {
  const std::string name = numbered_picture(kFramePrefix, result.index);
  const int width = result.width;
  const int height = result.height;
  write_png16(folder_ / kDepthFolders[0] / name, width, height, gray16(result.depth));
  write_png(folder_ / kDepthFolders[1] / name, depth_picture(result.depth, width, height));
  write_png16(folder_ / kDepthFolders[2] / name, width, height, gray16(result.depth_conf));
  write_png(folder_ / kDepthFolders[3] / name, confidence_picture(result.depth_conf, width, height));
}

}  // namespace lingbot_map::tool
