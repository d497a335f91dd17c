#include "base/numbered_name.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace lingbot_map {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(NumberedName, HasSixDigitsOrMore) {
  EXPECT_EQ(numbered_name("frame_", 12, ".npz"), "frame_000012.npz");
  EXPECT_EQ(numbered_name("", 0, ".png"), "000000.png");
  EXPECT_EQ(numbered_name("", 999'999, ""), "999999");
  EXPECT_EQ(numbered_name("", 1'234'567, ".png"), "1234567.png");
}

TEST(NumberedName, TellsItsNumber) {
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{7}, std::int64_t{1'000'000}, kMost})
    EXPECT_EQ(number_in_name(numbered_name("a", number, ".b"), "a", ".b"), number);
}

TEST(NumberedName, AnotherNameHasNone) {
  for (const char* name : {"", "frame_.npz", "frame_00012.npz", "frame_000012.npy", "Frame_000012.npz",
                           "frame_-00012.npz", "frame_+00012.npz", "frame_ 00012.npz", "frame_0000x2.npz",
                           "frame_000012.npz.part", "frame_99999999999999999999.npz"})
    EXPECT_FALSE(number_in_name(name, "frame_", ".npz")) << name;
}

}  // namespace
}  // namespace lingbot_map
