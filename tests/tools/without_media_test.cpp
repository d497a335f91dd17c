#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.hpp"

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

TEST(WithoutMedia, SceneSaysWhyItIsNotThere) {
  const Outcome outcome = run_program({"scene", "--kind", "room", "--output", "out"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "lingbot-map: error: scene: this build writes no images; build with -DLINGBOT_MAP_MEDIA=ON\n");
}

}  // namespace
}  // namespace lingbot_map::test
