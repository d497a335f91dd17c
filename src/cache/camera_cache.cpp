#include "cache/camera_cache.hpp"

#include <algorithm>

#include "base/message.hpp"

namespace lingbot_map {

namespace {

/// Far above any real number of frames, and small enough that frames * row bytes never overflows.
constexpr std::int64_t kMaxFrames = std::int64_t{1} << 40;
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 18;

}  // namespace

CameraCache::CameraCache(int iterations, int blocks, std::int64_t width, const GrowingMemoryMaker& make)
    : iterations_(iterations), blocks_(blocks), width_(width) {
  check(iterations > 0 && blocks > 0 && width > 0 && width <= kMaxWidth, "camera cache of ", iterations,
        " iterations, ", blocks, " blocks and rows of ", width, " elements");
  planes_.resize(std::size_t{2} * static_cast<std::size_t>(iterations) * static_cast<std::size_t>(blocks));
  for (auto& plane : planes_) plane = make();
}

void CameraCache::prepare(std::int64_t count) {
  check(count >= 0 && count <= kMaxFrames - frames_, "camera cache: room for ", count, " frames after ", frames_);
  const std::int64_t rows = frames_ + count;
  for (const auto& plane : planes_) plane->ensure(static_cast<std::size_t>(rows) * row_bytes());
  // One plane a call grows ahead, so that the planes do not all have to grow in the same frame.
  const auto ahead = rows + static_cast<std::int64_t>(planes_.size());
  planes_[next_ahead_]->ensure(static_cast<std::size_t>(ahead) * row_bytes());
  next_ahead_ = (next_ahead_ + 1) % planes_.size();
  rows_ = rows;
  most_ = std::max(most_, rows);
}

void CameraCache::commit(std::int64_t count) {
  check(count >= 0 && count <= rows_ - frames_, "camera cache: commit of ", count, " frames, prepared ",
        rows_ - frames_);
  frames_ += count;
}

void CameraCache::roll_back(std::int64_t frames) {
  check(frames >= 0 && frames <= frames_, "camera cache: roll back to ", frames, " frames of ", frames_);
  frames_ = frames;
  rows_ = frames;
}

std::size_t CameraCache::bytes_per_frame() const noexcept { return planes_.size() * row_bytes(); }

std::size_t CameraCache::bytes_in_use() const noexcept { return static_cast<std::size_t>(most_) * bytes_per_frame(); }

std::size_t CameraCache::row_bytes() const noexcept { return static_cast<std::size_t>(width_) * sizeof(float); }

Tensor CameraCache::plane(int iteration, int block, int which) const {
  check(iteration >= 0 && iteration < iterations_ && block >= 0 && block < blocks_, "camera cache of iteration ",
        iteration, ", block ", block, "; there are ", iterations_, " and ", blocks_);
  const auto index =
      (static_cast<std::size_t>(iteration) * static_cast<std::size_t>(blocks_) + static_cast<std::size_t>(block)) * 2 +
      static_cast<std::size_t>(which);
  const GrowingMemory& memory = *planes_[index];
  return {memory.data(), DType::f32, {rows_, width_}, memory.device()};
}

}  // namespace lingbot_map
