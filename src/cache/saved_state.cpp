#include "base/message.hpp"
#include "cache/camera_cache.hpp"
#include "cache/kv_store.hpp"
#include "cache/two_stream_cache.hpp"
#include "state/state_reader.hpp"
#include "state/state_writer.hpp"

namespace lingbot_map {
namespace {

/// Far above any real number of frames or tokens, and small enough that no size made of it overflows.
constexpr std::int64_t kMost = std::int64_t{1} << 40;

std::string plane_name(std::string_view cache, int number, bool keys) {
  return message(cache, '.', number, keys ? ".keys" : ".values");
}

}  // namespace

void TwoStreamCache::save(StateWriter& state) const {
  check(!pending_, "a cache saved while a frame is pending");
  state.put("cache.scale_frames", scale_);
  state.put("cache.window_frames", window_kept_);
}

void TwoStreamCache::restore(const StateReader& state) {
  clear();
  scale_ = state.fields().integer("cache.scale_frames", 0, layout_.scale_frames);
  window_kept_ = state.fields().integer("cache.window_frames", 0, scale_ > 0 ? kMost : 0);
}

void KvStore::save(StateWriter& state) const {
  const bool used = end_used_ > first_used_;
  const std::int64_t first = used ? first_used_ : 0;
  const std::int64_t end = used ? end_used_ : 0;
  state.put("keys_and_values.first_token", first);
  state.put("keys_and_values.end_token", end);
  for (int layer = 0; used && layer < shape_.layers; ++layer) {
    state.add(plane_name("layers", layer, true), keys(layer).rows(first, end - first));
    state.add(plane_name("layers", layer, false), values(layer).rows(first, end - first));
  }
}

void KvStore::restore(StateReader& state) {
  const std::int64_t first = state.fields().integer("keys_and_values.first_token", 0, shape_.slot_tokens);
  const std::int64_t end = state.fields().integer("keys_and_values.end_token", first, kMost);
  if (end == first) return;
  for (int layer = 0; layer < shape_.layers; ++layer) {
    for (const bool keys : {true, false})
      state.expect(plane_name("layers", layer, keys), shape_.dtype, end - first, shape_.width);
  }
  prepare({first, end - first});
  for (int layer = 0; layer < shape_.layers; ++layer) {
    state.read(plane_name("layers", layer, true), keys(layer).rows(first, end - first));
    state.read(plane_name("layers", layer, false), values(layer).rows(first, end - first));
  }
}

void CameraCache::save(StateWriter& state) const {
  state.put("camera.frames", frames_);
  state.put("camera.most_rows", most_);
  for (int i = 0; i < iterations_ * blocks_; ++i) {
    for (const bool keys : {true, false})
      state.add(plane_name("camera", i, keys), plane(i / blocks_, i % blocks_, keys ? 0 : 1).rows(0, frames_));
  }
}

void CameraCache::restore(StateReader& state) {
  clear();
  const std::int64_t frames = state.fields().integer("camera.frames", 0, kMost);
  const std::int64_t most_rows = state.fields().integer("camera.most_rows", frames, 2 * kMost);
  for (int i = 0; i < iterations_ * blocks_; ++i) {
    for (const bool keys : {true, false}) state.expect(plane_name("camera", i, keys), DType::f32, frames, width_);
  }
  prepare(frames);
  for (int i = 0; i < iterations_ * blocks_; ++i) {
    for (const bool keys : {true, false})
      state.read(plane_name("camera", i, keys), plane(i / blocks_, i % blocks_, keys ? 0 : 1));
  }
  commit(frames);
  most_ = most_rows;
}

}  // namespace lingbot_map
