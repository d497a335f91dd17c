#include "base/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace lingbot_map {
namespace {

TEST(InParts, EveryPlaceIsInOnePart) {
  for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 1000U, 1001U}) {
    for (const std::size_t least : {1U, 3U, 100U, 5000U}) {
      std::vector<std::atomic<int>> visits(count);
      std::atomic<std::size_t> small_parts{0};
      in_parts(count, least, [&](std::size_t begin, std::size_t end) {
        ASSERT_LE(begin, end);
        ASSERT_LE(end, count);
        if (end - begin < least) ++small_parts;
        for (std::size_t i = begin; i < end; ++i) ++visits[i];
      });
      for (const std::atomic<int>& visit : visits) ASSERT_EQ(visit, 1) << count << " by " << least;
      EXPECT_LE(small_parts, 1U) << count << " by " << least;  // the last one may be a remainder
    }
  }
}

TEST(InParts, WhatAPartThrowsPassesThroughWhenAllAreDone) {
  std::atomic<int> done{0};
  EXPECT_THROW(in_parts(1000, 1,
                        [&](std::size_t begin, std::size_t end) {
                          ++done;
                          if (end == 1000) throw std::runtime_error("the last part");
                          (void)begin;
                        }),
               std::runtime_error);
  EXPECT_GE(done, 1);
}

}  // namespace
}  // namespace lingbot_map
