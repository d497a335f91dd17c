#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "export/writer_state.hpp"
#include "lingbot_map/session.hpp"
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
/// (n,4,4) float32: the world from each window's own coordinates is x -> scale * R x + t. Every file appears under its
/// name when it is complete.
class PredictionsWriter {
 public:
  /// Makes the folder; removes frame_*.npz and meta.npz of an earlier run from it, or, with a state(), those past it.
  /// Throws Error(output).
  explicit PredictionsWriter(const std::filesystem::path& folder, const JsonFields* state = nullptr);
  /// Writes the archive of frame `result.index`. `image` is the network's input. Where the network gave no pose, the
  /// extrinsic is all NaN. Throws Error(output); Error(internal) when sizes differ.
  void write(const FrameResult& result, const Image& image);
  /// Writes meta.npz over all frames so far; `windows` are those of windowed mode. Throws Error(output).
  void finish(std::span<const WindowRecord> windows = {});
  [[nodiscard]] WriterState state() const;

 private:
  std::filesystem::path folder_;
  std::vector<std::uint8_t> frame_types_;
};

}  // namespace lingbot_map
