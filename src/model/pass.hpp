#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "attention/attention.hpp"
#include "cache/camera_cache.hpp"
#include "model/pass_inputs.hpp"
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

/// Adds the device's time from construction to destruction to a total; without a clock it does nothing.
class StageTimer {
 public:
  StageTimer(StageClock* clock, double& seconds) : clock_(clock), seconds_(seconds) {
    if (clock_ != nullptr) clock_->start();
  }
  ~StageTimer() {
    if (clock_ != nullptr) clock_->stop(seconds_);
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  StageClock* clock_;
  double& seconds_;
};

/// One forward pass: its frames, and what of a session it works on. The caller has prepared the caches, planned the
/// attention, and afterwards commits or forgets. What the operations do depends on nothing but these tensors and the
/// plan, so a pass that was recorded can be replayed with other `inputs` in the same place.
struct Pass {
  Backend& backend;
  Attention& attention;
  KvStore& store;
  CameraCache& camera_cache;
  Arena& arena;
  const SizeTables& tables;
  StageTimes& times;
  StageClock* clock = nullptr;  ///< null: stages are not timed

  DType dtype = DType::f32;  ///< of the products of encoder and aggregator, queries, keys and values
  int camera_iterations = 4;
  PassInputs inputs;
  std::span<const TokenVariant> variants;  ///< one a frame

  [[nodiscard]] std::int64_t frames() const noexcept { return inputs.images.dim(0); }
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
