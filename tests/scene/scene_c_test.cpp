#include "scene/scene_c.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "scene/sequence.hpp"

namespace lingbot_map::scene {
namespace {

using testing::HasSubstr;

TEST(SceneC, GivesTheSameAsTheLibrary) {
  lm_scene_sequence* handle = lm_scene_open(2, 7, 5, 56, 42, 0);
  ASSERT_NE(handle, nullptr) << lm_scene_error();
  const Sequence sequence({SceneKind::street, 7, 5, 56, 42});
  float fov[2];
  lm_scene_fov(handle, fov);
  EXPECT_FLOAT_EQ(fov[0], static_cast<float>(sequence.fov_vertical()));
  EXPECT_FLOAT_EQ(fov[1], static_cast<float>(sequence.fov_horizontal()));
  std::vector<std::uint8_t> rgb(56 * 42 * 3);
  std::vector<float> depth(56 * 42);
  ASSERT_EQ(lm_scene_render(handle, 4, rgb.data(), depth.data()), 0);
  const RenderedFrame frame = sequence.frame(4);
  EXPECT_TRUE(rgb == frame.colour.pixels);
  EXPECT_TRUE(depth == frame.depth);
  double pose[7];
  ASSERT_EQ(lm_scene_pose(handle, 4, pose), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pose[i], sequence.path()[4].translation[i]);
  EXPECT_GE(pose[6], 0);
  EXPECT_NEAR(std::hypot(std::hypot(pose[3], pose[4]), std::hypot(pose[5], pose[6])), 1, 1e-12);
  lm_scene_close(handle);
}

TEST(SceneC, TakesAFieldOfView) {
  lm_scene_sequence* handle = lm_scene_open(0, 7, 1, 56, 42, 1.2F);
  ASSERT_NE(handle, nullptr) << lm_scene_error();
  float fov[2];
  lm_scene_fov(handle, fov);
  EXPECT_FLOAT_EQ(fov[1], 1.2F);
  lm_scene_close(handle);
}

TEST(SceneC, WhatMakesNoSenseIsRefusedWithALine) {
  EXPECT_EQ(lm_scene_open(4, 1, 5, 56, 42, 0), nullptr);
  EXPECT_EQ(std::string(lm_scene_error()), "scene: found kind 4, expected 0 to 3");
  EXPECT_EQ(lm_scene_open(-1, 1, 5, 56, 42, 0), nullptr);
  EXPECT_EQ(lm_scene_open(0, 1, 0, 56, 42, 0), nullptr);
  EXPECT_THAT(lm_scene_error(), HasSubstr("found 0 frames"));
  EXPECT_EQ(lm_scene_open(0, 1, 5, 0, 42, 0), nullptr);
  EXPECT_THAT(lm_scene_error(), HasSubstr("found the size 0x42"));
  EXPECT_EQ(lm_scene_open(0, 1, 5, 56, 42, NAN), nullptr);
  EXPECT_THAT(lm_scene_error(), HasSubstr("field of view"));
  lm_scene_sequence* handle = lm_scene_open(3, 1, 5, 56, 42, 0);
  ASSERT_NE(handle, nullptr);
  double pose[7];
  EXPECT_NE(lm_scene_pose(handle, 5, pose), 0);
  EXPECT_EQ(std::string(lm_scene_error()), "scene: found frame 5, expected 0 to 4");
  EXPECT_NE(lm_scene_render(handle, -1, nullptr, nullptr), 0);
  EXPECT_NE(lm_scene_render(nullptr, 0, nullptr, nullptr), 0);
  EXPECT_THAT(lm_scene_error(), HasSubstr("no sequence"));
  lm_scene_close(handle);
  lm_scene_close(nullptr);
}

TEST(SceneC, OneSequenceMayBeRenderedByManyThreads) {
  lm_scene_sequence* handle = lm_scene_open(0, 3, 8, 56, 42, 0);
  ASSERT_NE(handle, nullptr);
  const auto picture = [&](int frame) {
    std::vector<std::uint8_t> rgb(56 * 42 * 3);
    std::vector<float> depth(56 * 42);
    EXPECT_EQ(lm_scene_render(handle, frame, rgb.data(), depth.data()), 0);
    return rgb;
  };
  std::vector<std::vector<std::uint8_t>> beside(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&, i] { beside[i] = picture(i); });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(beside[i] == picture(i));
  lm_scene_close(handle);
}

}  // namespace
}  // namespace lingbot_map::scene
