#include "bench/profile_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace lingbot_map::tool {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ProfileSummary, AveragesAroundTheSamePlacesAsThePublicProfiler) {
  std::vector<double> ms(492);
  std::iota(ms.begin(), ms.end(), 1.0);  // frame i of the stream takes i + 1 ms
  const ProfileSummary summary = ProfileSummary::of(8, 100, ms);
  EXPECT_EQ(summary.total_frames, 500);
  EXPECT_DOUBLE_EQ(summary.total_ms, 100 + 492 * 493 / 2.0);
  EXPECT_EQ(summary.lo.frame, 8 + 49);
  EXPECT_DOUBLE_EQ(summary.lo.ms, 50);
  EXPECT_EQ(summary.mid.frame, 8 + 246);
  EXPECT_DOUBLE_EQ(summary.mid.ms, 247);
  EXPECT_EQ(summary.hi.frame, 8 + 443);
  EXPECT_DOUBLE_EQ(summary.hi.ms, 444);
  ASSERT_EQ(summary.trace.size(), 4U);
  EXPECT_EQ(summary.trace[0].frame, 100);
  EXPECT_DOUBLE_EQ(summary.trace[0].ms, 93);
  EXPECT_EQ(summary.trace[3].frame, 400);
}

TEST(ProfileSummary, TakesShortStreams) {
  const ProfileSummary one = ProfileSummary::of(8, 10, std::vector{2.0});
  EXPECT_EQ(one.total_frames, 9);
  for (const TracePoint& point : {one.lo, one.mid, one.hi}) EXPECT_DOUBLE_EQ(point.ms, 2);
  EXPECT_TRUE(one.trace.empty());
  EXPECT_DOUBLE_EQ(ProfileSummary::of(8, 0, std::vector{1.0, 3.0}).mid.ms, 2);
}

TEST(ProfileSummary, HasThePublicKeys) {
  const auto json = ProfileSummary::of(8, 20, std::vector<double>(2, 40.0)).json();
  EXPECT_EQ(json.size(), 11U);
  EXPECT_DOUBLE_EQ(json["global_ms"], 10);
  EXPECT_DOUBLE_EQ(json["global_fps"], 100);
  EXPECT_DOUBLE_EQ(json["total_ms"], 100);
  EXPECT_EQ(json["total_frames"], 10);
  EXPECT_DOUBLE_EQ(json["phase1_ms"], 20);
  for (const char* key : {"ms_lo", "ms_mid", "ms_hi"}) EXPECT_DOUBLE_EQ(json[key], 40);
  for (const char* key : {"fps_lo", "fps_mid", "fps_hi"}) EXPECT_DOUBLE_EQ(json[key], 25);
}

TEST(ProfileSummary, IsReadable) {
  const std::string text = ProfileSummary::of(8, 20, std::vector<double>(120, 40.0)).text("sdpa_fp32");
  EXPECT_THAT(text, AllOf(HasSubstr("sdpa_fp32: 128 frames, 8 of them scale frames\n"),
                          HasSubstr("  50 %    68     40.00 ms a frame     25.00 frames/s\n"),
                          HasSubstr("  at     100     40.00 ms a frame")));
}

}  // namespace
}  // namespace lingbot_map::tool
