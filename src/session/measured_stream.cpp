#include "session/measured_stream.hpp"

#include <vector>

#include "session/measuring.hpp"
#include "session/stream_state.hpp"

namespace lingbot_map {

MeasuredStream measure_stream(const Network& network, const SessionOptions& options, DType dtype, const FrameGrid& grid,
                              std::int64_t scale_frames) {
  MeasuringBackend backend;
  MeasuringAttention attention;
  StreamState state(network, options, backend, attention, dtype, grid);
  StageTimes times;
  const auto arena_of = [&](StreamState::Role role, std::int64_t frames) {
    std::vector<std::byte> host(PassInputs::bytes(frames, grid));
    state.begin(role, frames, Tensor(host.data(), DType::u8, {static_cast<std::int64_t>(host.size())}));
    Arena arena;
    const Tensor inputs = arena.allocate(DType::u8, {static_cast<std::int64_t>(host.size())});
    (void)state.run(inputs, arena, times, nullptr);
    state.end();
    return arena.peak();
  };
  const std::size_t scale = arena_of(StreamState::Role::scale, scale_frames);
  const bool by_flow = options.flow_threshold > 0;
  const std::size_t stream = arena_of(by_flow ? StreamState::Role::candidate : StreamState::Role::keyframe, 1);
  return {scale, stream, state.slot_bytes(), state.bytes_per_kept_frame()};
}

}  // namespace lingbot_map
