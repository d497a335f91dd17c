#include "run_output.hpp"

#include <array>
#include <string>
#include <utility>

#include "base/file.hpp"
#include "export/depth_picture.hpp"
#include "media/write_png.hpp"
#include "numbered_pictures.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::array kDepthFolders = {"depth", "depth_color", "confidence", "confidence_color"};

ResultOptions result_options(const RunOptions& options) {
  return {.points = {.conf_threshold = options.conf_threshold, .downsample_factor = options.downsample_factor},
          .save_predictions = options.save_predictions};
}

/// Those that files of a run may be in.
std::vector<std::filesystem::path> folders_of(const RunOptions& options) {
  std::vector<std::filesystem::path> folders = {options.output};
  if (!options.export_preprocessed.empty()) folders.emplace_back(options.export_preprocessed);
  if (!options.mask_sky) return folders;
  folders.emplace_back(options.sky_mask_dir);
  if (!options.sky_mask_visualization_dir.empty()) folders.emplace_back(options.sky_mask_visualization_dir);
  return folders;
}

}  // namespace

RunOutput::RunOutput(const RunOptions& options, const JsonFields* state)
    : folder_(options.output),
      preprocessed_(options.export_preprocessed),
      save_depth_(options.save_depth),
      written_to_(folders_of(options)),
      results_(folder_, result_options(options), state) {
  if (save_depth_)
    for (const char* name : kDepthFolders) prepare_pictures(folder_ / name, kFramePrefix, results_.frames());
  if (!preprocessed_.empty()) prepare_pictures(preprocessed_, "", results_.frames());
}

void RunOutput::write(const FrameResult& result, TimedFrame frame) {
  if (!preprocessed_.empty()) write_png(preprocessed_ / numbered_picture("", result.index), frame.source.image);
  if (save_depth_) write_depth(result);
  results_.write(result, FrameMeta{.timestamp = frame.timestamp,
                                   .name = std::move(frame.source.name),
                                   .image = std::move(frame.source.image),
                                   .original = frame.source.geometry.original_pixels()});
}

void RunOutput::sync() const {
  for (const std::filesystem::path& folder : written_to_) sync_file_system(folder);
}

void RunOutput::write_depth(const FrameResult& result) const {
  const std::string name = numbered_picture(kFramePrefix, result.index);
  const int width = result.width;
  const int height = result.height;
  write_png16(folder_ / kDepthFolders[0] / name, width, height, gray16(result.depth));
  write_png(folder_ / kDepthFolders[1] / name, depth_picture(result.depth, width, height));
  write_png16(folder_ / kDepthFolders[2] / name, width, height, gray16(result.depth_conf));
  write_png(folder_ / kDepthFolders[3] / name, confidence_picture(result.depth_conf, width, height));
}

}  // namespace lingbot_map::tool
