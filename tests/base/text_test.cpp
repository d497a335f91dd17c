#include "base/text.hpp"

#include <gtest/gtest.h>

namespace lingbot_map {
namespace {

TEST(Text, PrintableKeepsOneHarmlessLine) {
  EXPECT_EQ(printable("aggregator.norm"), "aggregator.norm");
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(printable("\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

TEST(Text, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1157943540), "1,157,943,540");
}

TEST(Text, BytesHaveThreeDigits) {
  EXPECT_EQ(bytes_text(17), "17 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1.00 kB");
  EXPECT_EQ(bytes_text(12'000), "12.0 kB");
  EXPECT_EQ(bytes_text(999'499), "999 kB");
  EXPECT_EQ(bytes_text(999'500), "1.00 MB");
  EXPECT_EQ(bytes_text(4'631'774'160), "4.63 GB");
  EXPECT_EQ(bytes_text(~std::uint64_t{0}), "18.4 EB");
}

}  // namespace
}  // namespace lingbot_map
