#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

namespace lingbot_map {

/// Calls action(begin, end) for consecutive parts that make up [0, count), on a thread each: as many as there are
/// processors, up to 8, but none smaller than `least`. For work that is rare and long; what one throws passes through
/// when all are done.
template <typename Action>
void in_parts(std::size_t count, std::size_t least, const Action& action) {
  constexpr std::size_t kMostParts = 8;
  const std::size_t processors = std::max(std::thread::hardware_concurrency(), 1U);
  const std::size_t parts = std::max<std::size_t>(std::min({count / least, processors, kMostParts}), 1);
  const std::size_t share = (count + parts - 1) / parts;
  std::vector<std::future<void>> others;
  for (std::size_t begin = share; begin < count; begin += share) {
    others.push_back(
        std::async(std::launch::async, [&action, begin, end = std::min(begin + share, count)] { action(begin, end); }));
  }
  action(0, std::min(share, count));
  for (std::future<void>& other : others) other.get();
}

}  // namespace lingbot_map
