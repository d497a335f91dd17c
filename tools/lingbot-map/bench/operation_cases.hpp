#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "bench/operands.hpp"
#include "lingbot_map/config.hpp"
#include "lingbot_map/session.hpp"
#include "model/frame_grid.hpp"

namespace lingbot_map::tool {

/// One operation on operands that are there.
struct PreparedOperation {
  std::function<void()> step;
  std::vector<Tensor> outputs;  ///< contiguous, what the first step leaves
};

/// One operation of a frame, at one size, on whatever back end it is given.
struct OperationCase {
  std::string name;   ///< "product/fc1"
  std::string shape;  ///< "1005x1024x4096"
  Precision precision = Precision::f32;
  double flops = 0;  ///< of products, two for a multiply-add; 0 for what only moves numbers
  double bytes = 0;  ///< read and written at least
  std::function<PreparedOperation(Backend&, Operands&)> prepare;
};

/// "fp32", "tf32", "bf16" or "fp16".
[[nodiscard]] std::string_view name_of(Precision precision) noexcept;

/// What a streamed frame of this size does, each operation once, written for every back end. Encoder, aggregator and
/// attention at the precision of `dtype`, with the cache full; the camera head in float32; the depth head in float32
/// beside fp32, else in tf32, as the network has it. `kinds`: the ways of attention that are measured.
[[nodiscard]] std::vector<OperationCase> operation_cases(const Config& config, const FrameGrid& grid,
                                                         const SessionOptions& session, DType dtype,
                                                         const std::vector<AttentionKind>& kinds);

}  // namespace lingbot_map::tool
