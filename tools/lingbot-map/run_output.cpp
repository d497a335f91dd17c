#include "run_output.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.hpp"
#include "export/depth_picture.hpp"
#include "export/output_folder.hpp"
#include "export/writer_state.hpp"
#include "media/write_png.hpp"

namespace lingbot_map::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::array kDepthFolders = {"depth", "depth_color", "confidence", "confidence_color"};
constexpr std::string_view kFramePrefix = "frame_";

constexpr std::string_view kPng = ".png";

/// Makes the folder; pictures of an earlier run from number `first` on go.
void prepare_pictures(const fs::path& folder, std::string_view prefix, std::int64_t first) {
  make_output_folder(folder);
  remove_numbered_files(folder, prefix, kPng, first);
}

ResultOptions result_options(const RunOptions& options) {
  return {.points = {.conf_threshold = options.conf_threshold, .downsample_factor = options.downsample_factor},
          .save_predictions = options.save_predictions};
}

}  // namespace

RunOutput::RunOutput(const RunOptions& options, const JsonFields* state)
    : folder_(options.output),
      preprocessed_(options.export_preprocessed),
      save_depth_(options.save_depth),
      results_(folder_, result_options(options), state) {
  if (save_depth_)
    for (const char* name : kDepthFolders) prepare_pictures(folder_ / name, kFramePrefix, results_.frames());
  if (!preprocessed_.empty()) prepare_pictures(preprocessed_, "", results_.frames());
}

void RunOutput::write(const FrameResult& result, TimedFrame frame) {
  if (!preprocessed_.empty()) write_png(preprocessed_ / numbered_name("", result.index, kPng), frame.source.image);
  if (save_depth_) write_depth(result);
  results_.write(result, FrameMeta{.timestamp = frame.timestamp,
                                   .name = std::move(frame.source.name),
                                   .image = std::move(frame.source.image),
                                   .original = frame.source.geometry.original_pixels()});
}

void RunOutput::sync() const {
  sync_file_system(folder_);
  if (!preprocessed_.empty()) sync_file_system(preprocessed_);
}

void RunOutput::write_depth(const FrameResult& result) const {
  const std::string name = numbered_name(kFramePrefix, result.index, kPng);
  const int width = result.width;
  const int height = result.height;
  write_png16(folder_ / kDepthFolders[0] / name, width, height, gray16(result.depth));
  write_png(folder_ / kDepthFolders[1] / name, depth_picture(result.depth, width, height));
  write_png16(folder_ / kDepthFolders[2] / name, width, height, gray16(result.depth_conf));
  write_png(folder_ / kDepthFolders[3] / name, confidence_picture(result.depth_conf, width, height));
}

}  // namespace lingbot_map::tool
