#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lingbot_map/types.hpp"
#include "media/preprocess.hpp"

namespace lingbot_map {

struct SourceOptions {
  int image_size = 518;  ///< pixels, a multiple of patch_size
  int patch_size = 14;   ///< pixels
  PreprocessMode mode = PreprocessMode::crop;
  double fps = 10;  ///< video only: frames taken per second of video; never more than it has
  std::optional<std::int64_t> first_k = std::nullopt;  ///< only the first k frames, counted before `stride`
  std::int64_t stride = 1;                             ///< every n-th frame
  bool rotate_clockwise_90 = false;                    ///< images are then turned as stored, without EXIF

  /// Throws Error(usage) that names the option.
  void validate() const;
  [[nodiscard]] PreprocessOptions preprocess() const { return {image_size, patch_size, mode}; }
};

/// One frame, ready for the network, or the reason why there is none.
struct SourceFrame {
  Image image;  ///< the network input; empty if the frame is bad
  PreprocessGeometry geometry;
  std::int64_t source_index = 0;    ///< position before first_k and stride: in the folder, or among the sampled frames
  std::optional<double> timestamp;  ///< seconds, video only; ascending, 0 at the beginning of the video
  std::string name;                 ///< file name; video: file name and time
  std::filesystem::path file;  ///< the picture's own file, if its pixels were not turned; else, and for video, empty
  std::string error;           ///< one line that names the file; empty if the frame is good

  [[nodiscard]] bool ok() const noexcept { return error.empty(); }
};

/// A sequence of frames of one size. Holds no more than one frame; decoding happens in next(). All calls but stop()
/// belong to one thread at a time.
class FrameSource {
 public:
  virtual ~FrameSource() = default;

  /// The next frame, nothing at the end or after stop(). A frame that cannot be read comes as one that is not ok(), and
  /// the next call goes on behind it. Throws Error(input) where nothing can follow.
  [[nodiscard]] virtual std::optional<SourceFrame> next() = 0;
  /// Frames that next() will return in all, bad ones included; for video an estimate from duration and rate; nothing
  /// for a live source.
  [[nodiscard]] virtual std::optional<std::int64_t> expected_frames() const = 0;
  /// Pixels of every frame, known before the first.
  [[nodiscard]] virtual int width() const noexcept = 0;
  [[nodiscard]] virtual int height() const noexcept = 0;
  /// What the user should know, one line each. The list only grows; a video that ends early adds to it at its end.
  [[nodiscard]] virtual std::vector<std::string> warnings() const = 0;
  /// Leaves out all frames before `source_index`, as if next() had given them. Images are not read; a video is decoded
  /// up to there, since seeking finds other frames in some containers.
  virtual void skip_to(std::int64_t source_index) = 0;
  /// Whether opening it again gives the same frames: not those of a camera or a live stream.
  [[nodiscard]] virtual bool repeatable() const noexcept = 0;
  /// Tells this input from another, as far as that can be told without decoding it, wherever it lies: SHA-256 in
  /// hexadecimal of the names and sizes of the images that will be used, or of a video's size, beginning and end.
  /// Throws Error(input) for what cannot be read.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
  /// Ends the sequence after the frame in work. May be called from any thread, and from several.
  virtual void stop() noexcept = 0;
};

/// The images of a folder, in natural order. Reads all headers, so that the common size is known: files of different
/// sizes are padded with white to the largest. Throws Error(input) if there is no folder, no image, or no image with a
/// readable header.
[[nodiscard]] std::unique_ptr<FrameSource> open_image_folder(const std::filesystem::path& folder,
                                                             const SourceOptions& options);

/// A video file, a camera by its number ("0") or a stream by its URL, sampled by time stamps: a frame is taken when its
/// time reaches the next multiple of 1/fps. Rotation stored in the file is applied. Cameras and streams are live: they
/// go on until stop(). Throws Error(input) that names the source if it cannot be opened or has no frame.
[[nodiscard]] std::unique_ptr<FrameSource> open_video(const std::string& source, const SourceOptions& options);

}  // namespace lingbot_map
