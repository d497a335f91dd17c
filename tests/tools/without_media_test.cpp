#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::test {
namespace {

TEST(WithoutMedia, WhatReadsPicturesSaysWhyItIsNotThere) {
  for (const char* command : {"run", "preprocess"}) {
    const Outcome outcome = run_program({command, "--image_folder", "frames", "--output", "out"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, std::string("lingbot-map: error: ") + command +
                               ": this build reads no images and no videos; build with -DLINGBOT_MAP_MEDIA=ON\n");
    EXPECT_THAT(run_program({"--help"}).out, testing::Not(testing::HasSubstr(std::string("\n  ") + command)));
  }
}

TEST(WithoutMedia, EvalDrawsNothingAndReadsNoPictures) {
  const std::string truth = LINGBOT_MAP_TEST_DATA "/evaluation/tum_truth.txt";
  const std::vector<std::string> words = {"eval", "--estimate", truth, "--truth", truth};
  EXPECT_EQ(run_program(words).exit_code, 0);
  std::vector<std::string> more = words;
  more.insert(more.end(), {"--plot", "plots"});
  EXPECT_THAT(run_program(more).err, testing::HasSubstr("--plot: this build writes no pictures; build with"));
  const TemporaryFolder folder;
  write_content(folder / "0.png", "");
  more = words;
  more.insert(more.end(), {"--depth_estimate", folder.path().string(), "--depth_truth", folder.path().string()});
  EXPECT_THAT(run_program(more).err, testing::HasSubstr("0.png: this build reads no pictures; build with"));
}

TEST(WithoutMedia, SceneSaysWhyItIsNotThere) {
  const Outcome outcome = run_program({"scene", "--kind", "room", "--output", "out"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "lingbot-map: error: scene: this build writes no images; build with -DLINGBOT_MAP_MEDIA=ON\n");
}

}  // namespace
}  // namespace lingbot_map::test
