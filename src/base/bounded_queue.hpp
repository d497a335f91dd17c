#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace lingbot_map {

/// A first-in first-out queue between threads that holds at most `capacity` items: a fast producer waits for a slow
/// consumer, so that memory does not grow. Every method may be called from any thread.
template <typename T>
class BoundedQueue {
 public:
  /// `capacity` is at least one.
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Waits for room. False, and the item is dropped, once the queue was closed or cancelled.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    lock.unlock();
    has_items_.notify_one();
    return true;
  }

  /// Waits for an item. Nothing once the queue is empty and closed, or cancelled.
  [[nodiscard]] std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    has_items_.wait(lock, [this] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    has_room_.notify_one();
    return item;
  }

  /// The end of the stream: nothing more goes in, what is in can still be taken.
  void close() { end(false); }

  /// Ends the stream at once: what is in is dropped.
  void cancel() { end(true); }

 private:
  void end(bool drop) {
    std::deque<T> dropped;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      if (drop) dropped.swap(items_);
    }
    has_room_.notify_all();
    has_items_.notify_all();
  }

  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_items_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace lingbot_map
