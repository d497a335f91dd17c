#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "program.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;

/// `lingbot-map bench` with these words at a size that takes no time.
Outcome bench(const std::string& what, std::vector<std::string> more) {
  std::vector<std::string> words = {"bench", what, "--size", "84x56", "--threads", "1", "--device", "cpu"};
  if (what != "start") words.insert(words.end(), {"--config", "tiny"});
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

json results_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return json::parse(outcome.out);
}

void expect_failure(const Outcome& outcome, int exit_code, const testing::Matcher<std::string>& line) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(testing::StartsWith("lingbot-map: error: "), line));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

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

TEST(BenchMemory, TellsEveryTenthAndTheGrowth) {
  // AddressSanitizer keeps freed memory for a while, which is growth to a program that measures itself.
  setenv("ASAN_OPTIONS", "quarantine_size_mb=0:thread_local_quarantine_size_kb=0", 0);
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

TEST(BenchMemory, NeedsAStreamThatFillsTheWindow) {
  expect_failure(bench("memory", {"--frames", "73"}), 2, HasSubstr("--frames: found 73, but at --keyframe_interval 1"));
}

TEST(BenchStart, CountsFromTheStartOfAProcess) {
  const test::TemporaryFolder folder;
  const std::string model = (folder / "m.safetensors").string();
  ASSERT_EQ(run_program({"synth", "--config", "tiny", "--seed", "7", "--output", model}).exit_code, 0);
  const json results = results_of(bench("start", {"--model_path", model, "--repeats", "2", "--output", "json"}));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0]["file_bytes"], std::filesystem::file_size(model));
  EXPECT_GT(results[0]["program_s"]["median"].get<double>(), 0);
  EXPECT_GT(results[0]["loaded_s"]["median"].get<double>(), results[0]["program_s"]["median"].get<double>());
  EXPECT_GT(results[0]["first_poses_s"]["median"].get<double>(), results[0]["loaded_s"]["median"].get<double>());
}

TEST(BenchStart, PassesOnWhatTheStartedProgramSays) {
  expect_failure(bench("start", {"--model_path", "none.pt"}), 1, HasSubstr("none.pt"));
  expect_failure(bench("start", {}), 2, HasSubstr("--model_path"));
  expect_failure(bench("start", {"--model_path", "m.pt", "--dtype", "fp32,bf16"}), 2, HasSubstr("--dtype"));
}

TEST(BenchOps, TimesWhatTheFilterLeaves) {
  const json results = results_of(
      bench("ops", {"--filter", "product/fc1,layer_norm/bf16", "--repeats", "2", "--window", "2", "--output", "json"}));
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0]["operation"], "product/fc1");
  EXPECT_EQ(results[0]["precision"], "fp32");
  EXPECT_EQ(results[0]["shape"], "30x128x512");
  EXPECT_EQ(results[0]["relative_difference"], nullptr);
  const json& cpu = results[0]["devices"]["cpu"];
  EXPECT_GT(cpu["ms"]["median"].get<double>(), 0);
  EXPECT_GT(cpu["share_of_peak"].get<double>(), 0);
  // Which of the two it is hangs on peaks that are measured in the same run.
  EXPECT_THAT(cpu["bound_by"].get<std::string>(), testing::AnyOf("compute", "memory"));
  EXPECT_EQ(results[1]["operation"], "layer_norm");
}

TEST(BenchAccuracy, MeasuresGeneratedScenesBesideABaseline) {
  const Outcome outcome =
      run_program({"bench", "accuracy", "--config", "tiny", "--device", "cpu", "--size", "56x42", "--kind",
                   "room,orbit", "--scenes", "2", "--frames", "14", "--output", "json", "--no_trajectory_memory"});
  const json results = results_of(outcome);
  ASSERT_EQ(results.size(), 6U);  // each kind and all of them, by the baseline and by the network
  EXPECT_EQ(results[0]["method"], "constant velocity, mean depth");
  EXPECT_EQ(results[3]["method"], "lingbot-map, no trajectory memory");
  EXPECT_EQ(results[3]["trajectory_memory"], false);
  for (std::size_t i = 0; i < 6; ++i) {
    const json& result = results[i];
    const bool all = i % 3 == 2;
    EXPECT_EQ(result["scene_kind"], i % 3 == 0 ? "room" : all ? "all" : "orbit");
    EXPECT_EQ(result["scenes"], all ? 4 : 2);
    EXPECT_EQ(result["first_seed"], 0);
    for (const char* key : {"ate_percent", "rotation_degrees", "drift_percent", "auc_30", "abs_rel", "delta_1"}) {
      EXPECT_TRUE(result["median"][key].is_number()) << key;
      if (all) continue;
      ASSERT_EQ(result["each"].size(), 2U);
      const double mean = (result["each"][0][key].get<double>() + result["each"][1][key].get<double>()) / 2;
      EXPECT_NEAR(result["median"][key].get<double>(), mean, 1e-9) << key;
    }
  }
  EXPECT_GT(results[3]["frames_per_second"].get<double>(), 0);
}

TEST(BenchAccuracy, RefusesWhatMakesNoSense) {
  for (const auto& [more, expected] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--kind", "castle"}, "--kind: found \"castle\", expected room, corridor, street or orbit"},
           {{"--scenes", "0"}, "--scenes: found 0"},
           {{"--frames", "2"}, "--frames: found 2, expected 3 or more"},
           {{"--first_seed", "-1"}, "--first_seed: found \"-1\""},
           {{"--first_seed", "x"}, "--first_seed: found \"x\""},
           {{"--keyframe_interval", "0"}, "--keyframe_interval: found 0"}}) {
    std::vector<std::string> words = {"bench", "accuracy", "--config", "tiny"};
    words.insert(words.end(), more.begin(), more.end());
    expect_failure(run_program(words), 2, HasSubstr(expected));
  }
}

TEST(Bench, RefusesWhatMakesNoSense) {
  expect_failure(run_program({"bench"}), 2, HasSubstr("frames, memory, start, ops and accuracy"));
  expect_failure(run_program({"bench", "speed"}), 2, HasSubstr("speed"));
  for (const auto& [more, expected] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--depth", "0"}, "--depth: found \"0\""},
           {{"--depth", "8,,9"}, "--depth: found \"8,,9\""},
           {{"--dtype", "int8"}, "--dtype: found \"int8\""},
           {{"--size", "518"}, "--size: found \"518\", expected WIDTHxHEIGHT"},
           {{"--size", "518x"}, "--size: found \"518x\""},
           {{"--size", "518x0"}, "--size: found \"518x0\""},
           {{"--size", "518x999999"}, "--size: found \"518x999999\""},
           {{"--size", "500x378"}, "--size: found 500x378, expected sides that are multiples of 14"},
           {{"--window", "0"}, "--window: found 0"},
           {{"--repeats", "0"}, "--repeats: found 0"},
           {{"--warmup", "-1"}, "--warmup"},
           {{"--output", "csv"}, "--output: found \"csv\""},
           {{"--backend", "cudnn"}, "--backend: found \"cudnn\""}})
    expect_failure(bench("frames", more), 2, HasSubstr(expected));
  expect_failure(bench("frames", {"--backend", "flashinfer"}), 1, HasSubstr("--backend: found flashinfer"));
  expect_failure(bench("frames", {"--dtype", "fp16"}), 1, HasSubstr("fp16"));
  expect_failure(bench("frames", {"--config", "none.json"}), 1, HasSubstr("none.json"));
  expect_failure(bench("ops", {"--kernels", "mmx"}), 2, HasSubstr("--kernels: found \"mmx\""));
  expect_failure(bench("ops", {"--dtype", "auto"}), 2, HasSubstr("--dtype: found auto"));
}

}  // namespace
}  // namespace lingbot_map
