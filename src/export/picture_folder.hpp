#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "export/posed_frame.hpp"

namespace lingbot_map {

/// Writes an RGB picture as PNG. The engine has no encoder: whoever has one passes it.
using PngWriter = std::function<void(const std::filesystem::path&, const Image&)>;

/// A picture that an export refers to, and the camera that took it. Pixel coordinates count from the outer border of
/// the first pixel: the middle of that pixel is (0.5, 0.5).
struct ExportedPicture {
  std::string name;  ///< in the folder; without white space
  int width = 0;
  int height = 0;
  Intrinsics camera;
  OriginalPixels from_processed;  ///< where a pixel of the network's input lies in it
};

/// The folder `images` that COLMAP and nerfstudio models want beside them. A frame that was read from a picture whose
/// pixels are in the file as they are is there as a symbolic link to that file, with its own size. Of any other (from a
/// video; turned by EXIF or by a flag; no longer there) the network's input is written as frame_000000.png, and the
/// camera is the one of that picture.
class PictureFolder {
 public:
  /// Makes the folder and takes out what an earlier export left there: symbolic links and frame_*.png. `write_png` may
  /// be empty: frames without a file are an error then. Throws Error(output).
  PictureFolder(std::filesystem::path folder, PngWriter write_png);
  /// Throws Error(output); Error(unsupported) for a frame without a file where there is no `write_png`.
  ExportedPicture place(const PosedFrame& frame) const;

 private:
  [[nodiscard]] bool link(const std::filesystem::path& file, const std::string& name) const;

  std::filesystem::path folder_;
  PngWriter write_png_;
};

}  // namespace lingbot_map
