#include "bench_fixture.hpp"

namespace lingbot_map::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

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

TEST(BenchAccuracy, TakesOtherScenesAndFewerKeyframes) {
  const auto run = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"bench",    "accuracy", "--config",  "tiny",  "--device", "cpu",
                                      "--size",   "56x42",    "--kind",    "orbit", "--frames", "12",
                                      "--output", "json",     "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return results_of(run_program(words));
  };
  const json two = run({"--scenes", "2"});
  const json second = run({"--scenes", "1", "--first_seed", "1"});
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(second[1]["first_seed"], 1);
  EXPECT_EQ(second[1]["each"][0], two[1]["each"][1]);
  const json fewer = run({"--scenes", "1", "--first_seed", "1", "--keyframe_interval", "3"});
  EXPECT_EQ(fewer[1]["keyframe_interval"], 3);
  EXPECT_EQ(fewer[0]["each"][0], second[0]["each"][0]) << "the baseline keeps nothing";
  EXPECT_NE(fewer[1]["each"][0], second[1]["each"][0]);
}

TEST(BenchAccuracy, MeasuresWindows) {
  const auto run = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"bench",  "accuracy", "--config", "tiny", "--device", "cpu", "--size",   "56x42",
                                      "--kind", "orbit",    "--frames", "14",   "--scenes", "1",   "--output", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return results_of(run_program(words))[1];
  };
  const std::vector<std::string> small = {"--mode", "windowed", "--scale_frames", "3", "--window_size", "6"};
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const json stream = run({"--scale_frames", "3"});
  EXPECT_FALSE(stream.contains("windows"));
  const json windows = run(with(small, {"--overlap_size", "2"}));
  EXPECT_EQ(windows["method"], "lingbot-map, windows of 6, 2 in common");
  EXPECT_EQ(windows["windows"], json({{"frames", 6}, {"overlap", 2}, {"alignment", "exact"}}));
  EXPECT_NE(windows["each"], stream["each"]);
  const json robust = run(with(small, {"--overlap_size", "2", "--window_alignment", "robust"}));
  EXPECT_EQ(robust["windows"]["alignment"], "robust");
  EXPECT_EQ(run(with(small, {"--overlap_keyframes", "4"}))["windows"]["overlap"], 4);
}

TEST(BenchAccuracy, RefusesWhatMakesNoSense) {
  for (const auto& [more, expected] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--kind", "castle"}, "--kind: found \"castle\", expected room, corridor, street or orbit"},
           {{"--scenes", "0"}, "--scenes: found 0"},
           {{"--frames", "2"}, "--frames: found 2, expected 3 or more"},
           {{"--first_seed", "-1"}, "--first_seed: found \"-1\""},
           {{"--first_seed", "x"}, "--first_seed: found \"x\""},
           {{"--keyframe_interval", "0"}, "--keyframe_interval: found 0"},
           {{"--mode", "sideways"}, "--mode: found \"sideways\""},
           {{"--overlap_size", "2"}, "--overlap_size: found without --mode windowed"},
           {{"--mode", "windowed", "--window_size", "0"}, "--window_size: found 0"}}) {
    std::vector<std::string> words = {"bench", "accuracy", "--config", "tiny"};
    words.insert(words.end(), more.begin(), more.end());
    expect_failure(run_program(words), 2, HasSubstr(expected));
  }
}

TEST(BenchAccuracy, TellsOfAModelThatCannotBeUsedBeforeItRendersAnything) {
  const Outcome outcome = run_program({"bench", "accuracy", "--model_path", "/nowhere.pt"});
  expect_failure(outcome, 1, HasSubstr("/nowhere.pt"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("constant velocity")));
}

}  // namespace
}  // namespace lingbot_map::test
