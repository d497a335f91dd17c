#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "export/posed_frame.hpp"
#include "lingbot_map/windowed_session.hpp"

namespace lingbot_map {

/// A frame as prediction files have it.
struct PredictedFrame {
  FrameResult result;
  FrameMeta meta;
};

/// Reads a folder of predictions back, a frame at a time: that of PredictionsWriter, or that of the public batch
/// program, which has the archives alone. Taken are `images` ([3,H,W] or [H,W,3]; uint8, or floats in 0..1), `depth`
/// ([H,W] or [H,W,1]), `depth_conf` (or `confidence`), `pose_enc`, and world points where they are. A stored
/// `intrinsic` that is not the one of `pose_enc` is a known camera (FrameMeta::camera). Without `pose_enc` the pose is
/// that of `extrinsic`.
///
/// What frames.jsonl tells is taken from there; without it frame i has the time i / `fps`, the network's input counts
/// as the original picture, and the role of a frame is that of meta.npz, or unknown (a keyframe).
class PredictionsReader {
 public:
  /// Looks which frames there are. Throws Error(input) that names the folder or file: a folder that is missing or holds
  /// no frame, a gap in the numbers, fewer lines in frames.jsonl than archives.
  PredictionsReader(const std::filesystem::path& folder, double fps);
  ~PredictionsReader();
  PredictionsReader(PredictionsReader&&) noexcept;
  PredictionsReader& operator=(PredictionsReader&&) noexcept;

  [[nodiscard]] std::int64_t frames() const noexcept { return frames_; }
  /// Whether frames.jsonl is there: with times, names and original pictures.
  [[nodiscard]] bool has_sidecar() const noexcept;
  /// What frames.jsonl says of the unit, if it is not the network's own; else empty.
  [[nodiscard]] const std::string& units_text() const noexcept { return units_text_; }

  /// The placement of the windows, where meta.npz has one: only `scale` and `transform` of a record are known. Throws
  /// Error(input) that names the file.
  [[nodiscard]] std::vector<WindowRecord> windows() const;

  /// The next frame, nothing at the end. Throws Error(input) that names the file for what is damaged, missing or of
  /// another size than the first frame.
  [[nodiscard]] std::optional<PredictedFrame> next();

 private:
  class Sidecar;

  std::filesystem::path folder_;
  double fps_;
  std::int64_t frames_ = 0;
  std::int64_t next_ = 0;
  int width_ = 0;
  int height_ = 0;
  std::unique_ptr<Sidecar> sidecar_;
  std::string units_text_;
  std::vector<std::uint8_t> frame_types_;  ///< from meta.npz; empty: not there
};

}  // namespace lingbot_map
