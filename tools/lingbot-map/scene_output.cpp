#include "scene_output.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <system_error>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/npy.hpp"
#include "base/numbered_name.hpp"
#include "export/depth_picture.hpp"
#include "export/json_file.hpp"
#include "export/output_folder.hpp"
#include "lingbot_map/version.hpp"
#include "media/write_png.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::array<const char*, 3> kSubfolders = {"images", "depth", "sky"};

/// Whether a file is one that write_pictures makes: six digits or more, then .png or .npy.
bool is_frame_file(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return stem.size() >= 6 && std::ranges::all_of(stem, is_digit) &&
         (path.extension() == ".png" || path.extension() == ".npy");
}

/// Frames of an earlier, longer sequence would be taken for frames of this one.
void remove_frames(const std::filesystem::path& folder) {
  std::error_code error;
  for (const char* name : kSubfolders) {
    std::filesystem::directory_iterator files(folder / name, error);
    if (error) continue;
    for (const auto& file : files)
      if (is_frame_file(file.path())) std::filesystem::remove(file.path(), error);
  }
}

std::filesystem::path prepared(const std::filesystem::path& folder) {
  make_output_folder(folder);
  std::error_code error;
  if (std::filesystem::exists(folder / "scene.json", error)) {
    remove_frames(folder);
  } else {
    for (const char* name : kSubfolders) {
      if (!std::filesystem::exists(folder / name, error) || std::filesystem::is_empty(folder / name, error)) continue;
      fail(
          ErrorCode::output, (folder / name).string(),
          ": found files but no scene.json beside it, expected a new folder or one of an earlier scene; choose another "
          "--output");
    }
  }
  return folder;
}

nlohmann::ordered_json description(const scene::Sequence& sequence, double fps, bool sky_masks) {
  constexpr double kDegrees = 180 / std::numbers::pi;
  const scene::SequenceOptions& options = sequence.options();
  const Intrinsics& camera = sequence.intrinsics();
  return {{"kind", scene::name_of(options.kind)},
          {"seed", options.seed},
          {"frames", options.frames},
          {"width", options.width},
          {"height", options.height},
          {"fps", fps},
          {"fov_horizontal_degrees", sequence.fov_horizontal() * kDegrees},
          {"fov_vertical_degrees", sequence.fov_vertical() * kDegrees},
          {"fov_chosen_by", options.fov_horizontal > 0 ? "flag" : "seed"},
          {"fx", camera.fx},
          {"fy", camera.fy},
          {"cx", camera.cx},
          {"cy", camera.cy},
          {"path_length_m", scene::path_length(sequence.path())},
          {"primitives", sequence.scene().primitives.size()},
          {"lights", sequence.scene().lights.size()},
          {"sky_masks", sky_masks},
          {"generator_version", scene::kGeneratorVersion},
          {"program", message(version(), " (", commit(), ")")}};
}

void write_npy(const std::filesystem::path& path, const std::vector<float>& depth, int width, int height) {
  FileWriter file(path);
  file.write(npy_header("<f4", {height, width}));
  file.write(std::as_bytes(std::span(depth)));
  file.commit();
}

}  // namespace

SceneOutput::SceneOutput(const std::filesystem::path& folder, const scene::Sequence& sequence, double fps,
                         bool sky_masks)
    : folder_(prepared(folder)),
      sequence_(sequence),
      fps_(fps),
      sky_masks_(sky_masks),
      trajectory_(folder_ / "groundtruth.txt"),
      intrinsics_(folder_ / "intrinsics.txt") {
  write_json(folder_ / "scene.json", description(sequence, fps, sky_masks));
  make_output_folder(folder_ / "images");
  make_output_folder(folder_ / "depth");
  if (sky_masks) make_output_folder(folder_ / "sky");
}

std::filesystem::path SceneOutput::file(const char* subfolder, int index, const char* extension) const {
  return folder_ / subfolder / numbered_name("", index, extension);
}

void SceneOutput::write_pictures(int index, const scene::RenderedFrame& frame) const {
  const int width = frame.colour.width;
  const int height = frame.colour.height;
  write_png(file("images", index, ".png"), frame.colour);
  write_png16(file("depth", index, ".png"), width, height, gray16(frame.depth));
  write_npy(file("depth", index, ".npy"), frame.depth, width, height);
  if (!sky_masks_) return;
  std::vector<std::uint8_t> mask(frame.depth.size());
  std::ranges::transform(frame.depth, mask.begin(),
                         [](float depth) { return static_cast<std::uint8_t>(depth > 0 ? 255 : 0); });
  write_png8(file("sky", index, ".png"), width, height, mask);
}

void SceneOutput::write_camera(int index) {
  const scene::SequenceOptions& options = sequence_.options();
  trajectory_.write(index / fps_, sequence_.path()[static_cast<std::size_t>(index)]);
  intrinsics_.write(index, sequence_.intrinsics(), {options.width, options.height});
}

void SceneOutput::finish() {
  trajectory_.close();
  intrinsics_.close();
}

}  // namespace lingbot_map::tool
