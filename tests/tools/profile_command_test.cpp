#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ProfileCommand : public testing::Test {
 protected:
  Outcome profile(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"profile", "--config", "tiny", "--device", "cpu",      "--img_h",
                                      "28",      "--img_w",  "42",   "--output", json_name()};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }
  std::string json_name() const { return (folder_ / "profile.json").string(); }

  TemporaryFolder folder_;
};

TEST_F(ProfileCommand, MeasuresWhatThePublicProfilerDoes) {
  const Outcome outcome = profile({"--num_frames", "14", "--dtype", "both", "--keyframe_interval", "2",
                                   "--sliding_window", "4", "--camera_num_iterations", "1", "--backend", "sdpa"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("42x28, window 4, keyframe interval 2"), HasSubstr("sdpa_bf16: 14 frames"),
                                 HasSubstr("sdpa_fp32: 14 frames"), HasSubstr("Written to " + json_name())));
  const auto json = nlohmann::json::parse(content_of(json_name()));
  ASSERT_EQ(json.size(), 2U);
  for (const char* run : {"sdpa_bf16", "sdpa_fp32"}) {
    EXPECT_EQ(json[run]["total_frames"], 14);
    EXPECT_GT(json[run]["global_fps"], 0);
  }
}

TEST_F(ProfileCommand, RunsWithAsManyThreadsAsAskedFor) {
  const Outcome outcome = profile({"--num_frames", "9", "--threads", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(profile({"--num_frames", "9", "--threads", "-1"}).err, HasSubstr("--threads: found -1"));
}

TEST_F(ProfileCommand, SaysWhatChangesNothing) {
  const Outcome outcome = profile({"--num_frames", "9", "--compile", "--fa3", "--img_size", "518"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* flag : {"--compile: ", "--fa3: ", "--img_size: "}) EXPECT_THAT(outcome.err, HasSubstr(flag));
}

TEST_F(ProfileCommand, RefusesWhatMakesNoSense) {
  const std::tuple<std::vector<std::string>, int, const char*> cases[] = {
      {{"--num_frames", "8"}, 2, "--num_frames: found 8"},
      {{"--img_h", "30"}, 2, "42x30"},
      {{"--img_w", "-14"}, 2, "-14x28"},
      {{"--dtype", "fp8"}, 2, "--dtype: found \"fp8\""},
      {{"--backend", "magic"}, 2, "--backend: found"},
      {{"--sliding_window", "0"}, 2, "found 0"},
      {{"--camera_num_iterations", "0"}, 2, "found 0"},
      {{"--device", "gpu"}, 2, "--device: found \"gpu\""},
      {{"--config", "none.json"}, 1, "none.json"},
      {{"--keyframe_interval", "0"}, 2, "--keyframe_interval"},
      {{"--backend", "both"}, 1, "flashinfer"},
      {{"--output", "/none/x.json"}, 1, "/none/x.json"},
      {{"--num_frames", "many"}, 2, "--num_frames"},
  };
  for (const auto& [words, code, text] : cases) {
    std::vector<std::string> all = {"--num_frames", "9"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = profile(all);
    EXPECT_EQ(outcome.exit_code, code) << text;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("lingbot-map: error: "), HasSubstr(text)));
  }
}

}  // namespace
}  // namespace lingbot_map::test
