#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "attention/attention.hpp"
#include "cache/camera_cache.hpp"
#include "model/frame_grid.hpp"
#include "model/weights.hpp"

namespace lingbot_map {

/// Constants of one frame size, computed once for a session and kept on the device. All float32.
struct SizeTables {
  FrameGrid grid;
  Buffer positions;  ///< [patches, C]: the encoder's, resized
  Buffer rotary_2d;  ///< [tokens, 32, 2]
  Buffer rotary_3d;  ///< [tokens, 22, 2]: spatial part
  struct Code {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::int64_t channels = 0;
    Buffer columns;  ///< [width, channels / 2]
    Buffer rows;     ///< [height, channels / 2]
  };
  std::array<Code, 4> level_codes;  ///< the depth head's, on the patch grid, one for each tap
  Code pixel_code;                  ///< the depth head's, at full size
};

/// Adds the time from construction to destruction to a total. The operations are done when they return on the CPU.
class StageTimer {
 public:
  explicit StageTimer(double& seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}
  ~StageTimer() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_;
};

/// One forward pass: its frames, and what of a session it works on. The caller has prepared the caches, planned the
/// attention, and afterwards commits or forgets.
struct Pass {
  Backend& backend;
  Attention& attention;
  KvStore& store;
  CameraCache& camera_cache;
  Arena& arena;
  const SizeTables& tables;
  StageTimes& times;

  DType dtype = DType::f32;  ///< of the products of encoder and aggregator, queries, keys and values
  int camera_iterations = 4;
  Tensor images;                           ///< u8 [frames, height, width, 3]
  std::span<const TokenVariant> variants;  ///< one a frame
  std::span<const FrameSpan> spans;        ///< where each frame's keys and values go
  std::int64_t first_frame = 0;            ///< temporal index of the first frame: frames kept so far
  std::int64_t first_camera_frame = 0;     ///< the camera head's: frames seen so far

  [[nodiscard]] std::int64_t frames() const noexcept { return images.dim(0); }
};

/// What a pass gives, in the arena: valid until the caller leaves its scope.
struct PassResult {
  Tensor pose;               ///< float32 [frames, 9], field of view not yet clipped
  Tensor depth;              ///< float32 [frames, height, width]
  Tensor depth_conf;         ///< float32 [frames, height, width]
  Tensor world_points;       ///< float32 [frames, height, width, 3]; empty without a point head
  Tensor world_points_conf;  ///< float32 [frames, height, width]
};

}  // namespace lingbot_map
