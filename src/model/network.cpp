#include "model/network.hpp"

#include "model/aggregator.hpp"
#include "model/camera_head.hpp"
#include "model/dpt_head.hpp"
#include "model/positions.hpp"

namespace lingbot_map {
namespace {

Buffer upload(Backend& backend, std::span<const float> values) {
  Buffer buffer = backend.allocate(values.size_bytes());
  backend.upload(std::as_bytes(values), buffer.view(DType::f32, {static_cast<std::int64_t>(values.size())}));
  return buffer;
}

SizeTables::Code make_code(Backend& backend, std::int64_t width, std::int64_t height, std::int64_t channels,
                           double aspect) {
  const PositionCode code = position_code(width, height, channels, aspect);
  return {width, height, channels, upload(backend, code.columns), upload(backend, code.rows)};
}

}  // namespace

SizeTables Network::make_tables(Backend& backend, const FrameGrid& grid) const {
  const double aspect = static_cast<double>(grid.width) / static_cast<double>(grid.height);
  SizeTables tables{
      .grid = grid,
      .positions = upload(backend, resize_positions(weights_.aggregator.encoder.position_grid, config_.grid_size(),
                                                    config_.embed_dim, grid.rows, grid.columns)),
      .rotary_2d = upload(backend, rotary_2d(grid)),
      .rotary_3d = upload(backend, rotary_3d_spatial(grid)),
      .level_codes = {},
      .pixel_code = make_code(backend, grid.width, grid.height, config_.dpt_features / 2, aspect)};
  for (std::size_t i = 0; i < tables.level_codes.size(); ++i) {
    tables.level_codes[i] = make_code(backend, grid.columns, grid.rows, config_.dpt_out_channels[i], aspect);
  }
  return tables;
}

std::array<Tensor, 4> Network::allocate_taps(Pass& pass) const {
  std::array<Tensor, 4> taps;
  for (Tensor& tap : taps) {
    tap = pass.arena.allocate(DType::f32,
                              {pass.frames() * pass.tables.grid.tokens(), 2 * std::int64_t{config_.embed_dim}});
  }
  return taps;
}

PassResult Network::forward(Pass& pass) const {
  const FrameGrid& grid = pass.tables.grid;
  const std::int64_t frames = pass.frames();
  PassResult result;
  result.pose = pass.arena.allocate(DType::f32, {frames, 9});
  result.depth = pass.arena.allocate(DType::f32, {frames, grid.height, grid.width});
  result.depth_conf = pass.arena.allocate(DType::f32, {frames, grid.height, grid.width});
  if (has_points()) {
    result.world_points = pass.arena.allocate(DType::f32, {frames, grid.height, grid.width, 3});
    result.world_points_conf = pass.arena.allocate(DType::f32, {frames, grid.height, grid.width});
  }
  const Arena::Scope scope(pass.arena);
  const std::array<Tensor, 4> taps = allocate_taps(pass);
  aggregate(pass, config_, weights_.aggregator, taps);
  const Tensor last = taps.back().reshape({frames, grid.tokens(), taps.back().dim(1)});
  // Both at once: a pose is a chain of small steps that leaves the device idle. So neither may use the other's scratch.
  const auto cameras = [&] {
    pass.arena.watch();
    estimate_cameras(pass, config_, weights_.camera, last.row_of_each(0), result.pose);
    pass.arena.keep_watched();
  };
  const auto dense = [&] { run_dense_heads(pass, taps, result); };
  if (pass.clock == nullptr) {
    pass.backend.beside(cameras, dense);
  } else {
    cameras();
    dense();
  }
  return result;
}

void Network::run_dense_heads(Pass& pass, const std::array<Tensor, 4>& taps, const PassResult& result) const {
  const StageTimer timer(pass.clock, pass.times.depth);
  const FrameGrid& grid = pass.tables.grid;
  const auto frame_map = [&](const Tensor& maps, std::int64_t frame) {
    return maps.rows(frame, 1).reshape({grid.height, grid.width});
  };
  for (std::int64_t frame = 0; frame < pass.frames(); ++frame) {
    std::array<Tensor, 4> patches;
    for (std::size_t i = 0; i < 4; ++i)
      patches[i] = taps[i].rows(frame * grid.tokens() + grid.specials, grid.patches());
    const Arena::Scope scope(pass.arena);
    const Tensor depth = pass.arena.allocate(DType::f32, {grid.height, grid.width, 2});
    run_dpt(pass, weights_.depth, patches, depth);
    pass.backend.depth_outputs(depth, frame_map(result.depth, frame), frame_map(result.depth_conf, frame));
    if (!has_points()) continue;
    const Tensor points = pass.arena.allocate(DType::f32, {grid.height, grid.width, 4});
    run_dpt(pass, *weights_.points, patches, points);
    pass.backend.point_outputs(points, result.world_points.rows(frame, 1).reshape({grid.height, grid.width, 3}),
                               frame_map(result.world_points_conf, frame));
  }
}

}  // namespace lingbot_map
