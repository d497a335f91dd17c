#include "bench_fixture.hpp"

namespace lingbot_map::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

TEST(BenchFrames, MultipliesItsListsAndTellsTheConditions) {
  const json results = results_of(
      bench("frames", {"--depth", "20,10", "--dtype", "fp32,bf16", "--repeats", "3", "--warmup", "1", "--window", "4",
                       "--scale_frames", "2", "--camera-num-iterations", "1", "--profile", "--output", "json"}));
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0]["dtype"], "fp32");
  EXPECT_EQ(results[0]["depth"], 10);
  EXPECT_EQ(results[0]["kept"], 11);
  EXPECT_EQ(results[1]["depth"], 20);
  EXPECT_EQ(results[3]["dtype"], "bf16");
  for (const json& result : results) {
    for (const char* key : {"commit", "version", "device_name", "driver", "graphs"}) EXPECT_TRUE(result.contains(key));
    EXPECT_EQ(result["device"], "cpu");
    EXPECT_EQ(result["backend"], "sdpa");
    EXPECT_EQ(result["size"], "84x56");
    EXPECT_EQ(result["camera_iterations"], 1);
    EXPECT_GT(result["ms_per_frame"].get<double>(), 0);
    EXPECT_GE(result["latency_ms"]["p99"].get<double>(), result["latency_ms"]["median"].get<double>());
    EXPECT_GT(result["stages_ms"]["encoder"].get<double>(), 0);
    EXPECT_LT(result["stages_ms"]["encoder"].get<double>(), result["stages_ms"]["all"].get<double>());
    EXPECT_GT(result["device_bytes"].get<double>(), 1e6);
  }
}

TEST(BenchFrames, PrintsATable) {
  const Outcome outcome = bench("frames", {"--depth", "12", "--repeats", "2", "--window", "4", "--profile"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("lingbot-map "), HasSubstr("tiny, synthetic weights of seed 7"),
                                 HasSubstr("| backend | dtype | size | kept | ms a frame |"),
                                 HasSubstr("| sdpa | fp32 | 84x56 | 17 | "), HasSubstr("| global attention |")));
}

TEST(BenchFrames, RefusesWhatMakesNoSense) {
  for (const auto& [more, expected] :
       std::vector<std::pair<std::vector<std::string>, const char*>>{{{"--depth", "0"}, "--depth: found \"0\""},
                                                                     {{"--depth", "8,,9"}, "--depth: found \"8,,9\""},
                                                                     {{"--repeats", "0"}, "--repeats: found 0"},
                                                                     {{"--warmup", "-1"}, "--warmup"}})
    expect_failure(bench("frames", more), 2, HasSubstr(expected));
}

}  // namespace
}  // namespace lingbot_map::test
