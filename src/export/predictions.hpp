#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/output_file.hpp"
#include "export/posed_frame.hpp"
#include "export/writer_state.hpp"
#include "lingbot_map/windowed_session.hpp"

namespace lingbot_map {

/// The network's predictions as NumPy archives, with the names and shapes of the public batch program: a folder of
/// frame_000000.npz, ..., float32 and uncompressed, each with
///
///     pose_enc (9)      depth (H,W,1)   depth_conf (H,W)   extrinsic (3,4) world to camera
///     intrinsic (3,3)   images (3,H,W) in 0..1             and with a point head world_points (H,W,3),
///                                                          world_points_conf (H,W)
///
/// and meta.npz with frame_type (1,S) uint8 (0 scale, 1 keyframe, 2 other) and is_keyframe (1,S) bool (scale frames
/// count), and in windowed mode chunk_scales (n) float32 and, where there is more than one window, chunk_transforms
/// (n,4,4) float32: the world from each window's own coordinates is x -> scale * R x + t, in the units of the rest.
/// Every archive appears under its name when it is complete. Beside them stands, for `lingbot-map export`, what
/// the public archives have no place for: frames.jsonl, a JSON object a line, the first of the folder (`units`), then
/// of each frame
///
///     index  type  timestamp (s)  name  file ("" if there is none)  original [width, height, scale_x, scale_y,
///                                                                             offset_x, offset_y] as OriginalPixels
class PredictionsWriter {
 public:
  enum class Images : std::uint8_t {
    unit_float,  ///< float32 in 0..1, as the public program has them
    bytes,       ///< uint8: the same pixels in a quarter of the space, for archives that only export reads
  };

  /// Makes the folder; removes frame_*.npz, meta.npz and frames.jsonl of an earlier run from it, or, with a state(),
  /// what is past it. Throws Error(output).
  explicit PredictionsWriter(const std::filesystem::path& folder, const Units& units = {},
                             Images images = Images::unit_float, const JsonFields* state = nullptr);
  /// Writes the archive of the frame. Where the network gave no pose, the extrinsic is all NaN. Throws Error(output);
  /// Error(internal) when sizes differ.
  void write(const PosedFrame& frame);
  /// Writes meta.npz over all frames so far; `windows` are those of windowed mode, as the network gave them. Throws
  /// Error(output).
  void finish(std::span<const WindowRecord> windows = {});
  [[nodiscard]] WriterState state() const;

 private:
  std::vector<std::uint8_t> frame_types_;
  std::filesystem::path folder_;
  Units units_;
  Images images_;
  OutputFile frames_;
};

}  // namespace lingbot_map
