#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "lingbot_map/types.hpp"

namespace lingbot_map {

/// The last images of a stream, by their place in it.
class RecentImages {
 public:
  /// Takes the next image.
  void add(Image image) {
    images_.push_back(std::move(image));
    ++end_;
  }
  /// Forgets those before `frame`.
  void forget_before(std::int64_t frame) {
    while (!images_.empty() && begin() < frame) images_.pop_front();
  }
  /// Nothing is there, and the next image is that of `frame`.
  void start_at(std::int64_t frame) {
    images_.clear();
    end_ = frame;
  }

  /// The image of a frame from begin() to before end().
  [[nodiscard]] const Image& operator[](std::int64_t frame) const {
    return images_[static_cast<std::size_t>(frame - begin())];
  }
  [[nodiscard]] std::int64_t begin() const noexcept { return end_ - std::ssize(images_); }
  [[nodiscard]] std::int64_t end() const noexcept { return end_; }

 private:
  std::deque<Image> images_;
  std::int64_t end_ = 0;
};

}  // namespace lingbot_map
