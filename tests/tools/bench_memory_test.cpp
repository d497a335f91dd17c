#include "bench_fixture.hpp"

namespace lingbot_map::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class BenchMemory : public testing::Test {
 protected:
  static void SetUpTestSuite() { without_quarantine(); }
};

TEST_F(BenchMemory, TellsEveryTenthAndTheGrowth) {
  const json results = results_of(
      bench("memory", {"--frames", "240", "--keyframe_interval", "1,4", "--window", "8", "--output", "json"}));
  ASSERT_EQ(results.size(), 2U * (10 + 1));
  EXPECT_EQ(results[0]["frames"], 24);
  EXPECT_EQ(results[9]["frames"], 240);
  EXPECT_EQ(results[9]["kept"], 240);
  EXPECT_EQ(results[20]["keyframe_interval"], 4);
  EXPECT_EQ(results[20]["kept"], 8 + 58);
  for (const std::size_t verdict : {10U, 21U}) {
    EXPECT_EQ(results[verdict]["kind"], "memory growth");
    EXPECT_EQ(results[verdict]["holds"], true);
    EXPECT_NEAR(results[verdict]["cache_bytes_per_kept_frame"], results[verdict]["planned_bytes_per_kept_frame"], 2000);
  }
}

TEST_F(BenchMemory, DoesNotGrowInWindows) {
  const json results = results_of(bench(
      "memory", {"--mode", "windowed", "--frames", "150", "--keyframe_interval", "1,2", "--scale_frames", "3",
                 "--window_size", "9", "--overlap_size", "3", "--window_alignment", "robust", "--output", "json"}));
  ASSERT_EQ(results.size(), 2U * (10 + 1));
  EXPECT_EQ(results[9]["mode"], "windowed");
  EXPECT_EQ(results[9]["window_alignment"], "robust");
  EXPECT_EQ(results[9]["frames"], 150);
  EXPECT_EQ(results[9]["windows"], 25) << "6 new frames each";
  EXPECT_EQ(results[20]["windows"], 13) << "of 3 + 2 * 6 frames, 12 of them new";
  for (const std::size_t verdict : {10U, 21U}) {
    EXPECT_EQ(results[verdict]["kind"], "memory growth");
    EXPECT_EQ(results[verdict]["holds"], true);
    EXPECT_EQ(results[verdict]["cache_bytes_per_frame"], 0);
    EXPECT_LT(results[verdict]["planned_bytes_per_frame"], 100);
    EXPECT_FALSE(results[verdict].contains("kept"));
  }
}

TEST_F(BenchMemory, TakesAnOverlapInKeyframesAndPrintsATable) {
  const Outcome outcome = bench("memory", {"--mode", "windowed", "--frames", "90", "--keyframe_interval", "2",
                                           "--scale_frames", "3", "--window_size", "9", "--overlap_keyframes", "3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("| interval | frames | windows | device MB |"), HasSubstr("| 90 | 10 | "),
                                 HasSubstr(" 0 in the cache, "), HasSubstr("in windows of 9, 6 frames in common")));
}

TEST_F(BenchMemory, RefusesWhatMakesNoSense) {
  for (const auto& [more, expected] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--keyframe_interval", "0"}, "--keyframe_interval: found \"0\""},
           {{"--keyframe_interval", "1,x"}, "--keyframe_interval: found \"x\""},
           {{"--frames", "many"}, "--frames"},
           {{"--mode", "batch"}, "--mode: found \"batch\", expected streaming or windowed"},
           {{"--window_size", "9"}, "--window_size: found without --mode windowed"},
           {{"--overlap_size", "9"}, "--overlap_size: found without --mode windowed"},
           {{"--overlap_keyframes", "9"}, "--overlap_keyframes: found without --mode windowed"},
           {{"--window_alignment", "exact"}, "--window_alignment: found without --mode windowed"},
           {{"--mode", "windowed", "--window_size", "0"}, "--window_size: found 0"},
           {{"--mode", "windowed", "--overlap_size", "-1"}, "--overlap_size: found -1"},
           {{"--mode", "windowed", "--overlap_size", "64"}, "overlap_size is 64, but a window has 64 frames"},
           {{"--mode", "windowed", "--overlap_keyframes", "0"}, "--overlap_keyframes: found 0"},
           {{"--mode", "windowed", "--window_alignment", "best"}, "--window_alignment: found \"best\""},
           {{"--mode", "windowed", "--frames", "160"},
            "--frames: found 160, but at --keyframe_interval 1 more than 160 are needed for 3 windows of 64 frames"}})
    expect_failure(bench("memory", more), 2, HasSubstr(expected));
}

TEST_F(BenchMemory, NeedsAStreamThatFillsTheWindow) {
  expect_failure(bench("memory", {"--frames", "73"}), 2, HasSubstr("--frames: found 73, but at --keyframe_interval 1"));
}

}  // namespace
}  // namespace lingbot_map::test
