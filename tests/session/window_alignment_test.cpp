#include "session/window_alignment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "geometry/camera.hpp"
#include "session/window_jumps.hpp"

namespace lingbot_map {
namespace {

constexpr int kWidth = 24;
constexpr int kHeight = 18;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Mat3 turn_about(Vec3 axis, double angle) {
  const double length = std::hypot(axis[0], axis[1], axis[2]);
  const double s = std::sin(angle / 2) / length;
  return *rotation_from_quaternion({axis[0] * s, axis[1] * s, axis[2] * s, std::cos(angle / 2)});
}

/// A camera that walks and turns before a wavy wall.
FrameResult view(int frame) {
  FrameResult result;
  result.index = frame;
  result.type = FrameType::keyframe;
  result.width = kWidth;
  result.height = kHeight;
  const Rigid3 camera{turn_about({0.2, 1, 0.1}, 0.05 * frame), {0.1 * frame, 0.02 * frame * frame, -0.05 * frame}};
  result.pose_enc = encode_camera(camera, intrinsics_from_fov(0.8, 1.0, kWidth, kHeight), kWidth, kHeight);
  for (int v = 0; v < kHeight; ++v)
    for (int u = 0; u < kWidth; ++u)
      result.depth.push_back(static_cast<float>(3 + std::sin(0.3 * u + frame) + 0.5 * std::cos(0.4 * v)));
  result.depth_conf.assign(result.depth.size(), 2.0F);
  return result;
}

const Sim3 kTruth{.scale = 1.7, .rotation = turn_about({1, -2, 0.5}, 1.1), .translation = {4, -3, 2}};

/// `count` views in the world, and the same as a window sees them of which the truth is `kTruth`.
struct Views {
  std::vector<FrameResult> world;
  std::vector<FrameResult> window;

  explicit Views(int count) {
    for (int i = 0; i < count; ++i) {
      window.push_back(view(i));
      world.push_back(window.back());
      warp(world.back(), kTruth);
    }
  }
  [[nodiscard]] WindowOverlap overlap() const { return {world, window}; }
};

void expect_near(const Sim3& found, const Sim3& expected, double tolerance) {
  EXPECT_NEAR(found.scale, expected.scale, tolerance * expected.scale);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(found.rotation[i], expected.rotation[i], tolerance) << i;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(found.translation[i], expected.translation[i], 10 * tolerance) << i;
}

TEST(WindowAlignment, BothKindsFindTheTruth) {
  const Views views(5);
  for (const WindowAlignment how : {WindowAlignment::exact, WindowAlignment::robust}) {
    const auto found = align_window(views.overlap(), how);
    ASSERT_TRUE(found);
    expect_near(*found, kTruth, 1e-5);
    WindowRecord record;
    measure_residuals(views.overlap(), *found, record);
    EXPECT_LT(record.depth_residual.value(), 1e-6);
    EXPECT_LT(record.position_residual.value(), 1e-5);
    EXPECT_LT(record.rotation_residual.value(), 1e-5);
  }
}

TEST(WindowAlignment, ExactTakesTheLastFrameThatBothKept) {
  Views views(5);
  views.world[4].type = FrameType::non_keyframe;
  views.window[3].type = FrameType::non_keyframe;
  views.window[4].pose_enc[0] += 1;
  views.window[3].pose_enc[0] += 1;
  for (const std::size_t frame : {3U, 4U})
    for (float& depth : views.window[frame].depth) depth *= 9;
  expect_near(align_window(views.overlap(), WindowAlignment::exact).value(), kTruth, 1e-5);
  views.window[2].pose_enc[0] += 1;
  const auto moved = align_window(views.overlap(), WindowAlignment::exact);
  EXPECT_NEAR(std::hypot(moved->translation[0] - kTruth.translation[0], moved->translation[1] - kTruth.translation[1],
                         moved->translation[2] - kTruth.translation[2]),
              kTruth.scale, 1e-4);
}

TEST(WindowAlignment, ExactTakesTheFirstFrameWhereNoneWasKeptByBoth) {
  Views views(3);
  for (FrameResult& result : views.window) result.type = FrameType::non_keyframe;
  for (const std::size_t frame : {1U, 2U}) {
    views.window[frame].pose_enc[1] -= 3;
    for (float& depth : views.window[frame].depth) depth *= 2;
  }
  expect_near(align_window(views.overlap(), WindowAlignment::exact).value(), kTruth, 1e-5);
}

TEST(WindowAlignment, TheScaleIsTheLowerMedianOfUsableRatios) {
  Views views(1);
  const auto scale_of = [&views](std::vector<float> world, std::vector<float> window) {
    views.world[0].depth = std::move(world);
    views.window[0].depth = std::move(window);
    return align_window(views.overlap(), WindowAlignment::exact)->scale;
  };
  EXPECT_FLOAT_EQ(static_cast<float>(scale_of({2, 6, 4, 10}, {1, 2, 1, 2})), 3.0F);  // of 2 3 4 5
  EXPECT_FLOAT_EQ(static_cast<float>(scale_of({2, kNan, 4, 10}, {1, 2, 1, kNan})), 2.0F);
  EXPECT_FLOAT_EQ(static_cast<float>(scale_of({2, 5, INFINITY, 4}, {0, 1, 1, 1e-8F})), 5.0F);
  EXPECT_DOUBLE_EQ(scale_of({1, 1}, {0, 0}), 1);
  EXPECT_DOUBLE_EQ(scale_of({}, {}), 1);
  EXPECT_DOUBLE_EQ(scale_of({1}, {1e6F}), 1e-3);
  EXPECT_DOUBLE_EQ(scale_of({1e6F}, {1}), 1e3);
}

TEST(WindowAlignment, CamerasThatAreNoneAreNoAnchor) {
  for (const WindowAlignment how : {WindowAlignment::exact, WindowAlignment::robust}) {
    Views views(4);
    views.window[3].pose_enc[0] = kNan;
    views.world[2].pose_enc[3] = views.world[2].pose_enc[4] = views.world[2].pose_enc[5] = views.world[2].pose_enc[6] =
        0;
    expect_near(align_window(views.overlap(), how).value(), kTruth, 1e-5);
    for (FrameResult& result : views.window) result.pose_enc[5] = kNan;
    EXPECT_FALSE(align_window(views.overlap(), how));
    WindowRecord record;
    measure_residuals(views.overlap(), Sim3{}, record);
    EXPECT_TRUE(record.depth_residual);
    EXPECT_FALSE(record.position_residual);
    EXPECT_FALSE(record.rotation_residual);
  }
}

/// A third of the pixels and the anchor's camera are wrong: the public way follows the camera, the robust one does not.
TEST(WindowAlignment, RobustLooksPastOutliers) {
  Views views(6);
  std::mt19937 random(5);
  std::uniform_real_distribution<float> noise(0.998F, 1.002F);
  for (FrameResult& result : views.window) {
    for (std::size_t i = 0; i < result.depth.size(); ++i) {
      result.depth[i] *= noise(random);
      if (i % 3 == 0) result.depth[i] *= 0.3F;
    }
  }
  views.window[5].pose_enc[0] += 0.8F;
  views.window[5].pose_enc[4] += 0.3F;
  const Sim3 robust = align_window(views.overlap(), WindowAlignment::robust).value();
  expect_near(robust, kTruth, 5e-3);
  const Sim3 exact = align_window(views.overlap(), WindowAlignment::exact).value();
  EXPECT_GT(std::abs(exact.translation[0] - kTruth.translation[0]), 0.1);
  WindowRecord by_robust;
  WindowRecord by_exact;
  measure_residuals(views.overlap(), robust, by_robust);
  measure_residuals(views.overlap(), exact, by_exact);
  EXPECT_LT(by_robust.position_residual.value(), by_exact.position_residual.value());
}

TEST(WindowAlignment, RobustTrustsConfidence) {
  Views views(4);
  for (FrameResult& result : views.window) {
    for (std::size_t i = 0; i < result.depth.size(); ++i) {
      if (i % 24 < 16) {  // two thirds are wrong, and the network knows
        result.depth[i] *= 2;
        result.depth_conf[i] = 1.0001F;
      } else {
        result.depth_conf[i] = 20;
      }
    }
  }
  expect_near(align_window(views.overlap(), WindowAlignment::robust).value(), kTruth, 1e-3);
}

TEST(WindowAlignment, RobustIsExactWhereThereAreNoPoints) {
  Views views(3);
  for (FrameResult& result : views.window) result.depth_conf.assign(result.depth.size(), 1.0F);
  expect_near(align_window(views.overlap(), WindowAlignment::robust).value(), kTruth, 1e-5);
  for (FrameResult& result : views.window) result.pose_enc[7] = result.pose_enc[8] = 0;
  expect_near(align_window(views.overlap(), WindowAlignment::robust).value(), kTruth, 1e-5);
}

TEST(WindowAlignment, WarpingLeavesWhatIsNoPose) {
  FrameResult result = view(2);
  result.pose_enc[0] = kNan;
  const FrameResult before = result;
  warp(result, kTruth);
  EXPECT_EQ(result.pose_enc[3], before.pose_enc[3]);
  EXPECT_FLOAT_EQ(result.depth[7], 1.7F * before.depth[7]);
  EXPECT_EQ(result.depth_conf, before.depth_conf);
  EXPECT_EQ(result.pose_enc[7], before.pose_enc[7]);
}

WindowRecord window(double scale, double depth_residual) {
  return {.overlap = 4, .scale = scale, .depth_residual = depth_residual};
}

TEST(WindowJumps, StandOutFromTheWindowsBefore) {
  WindowJumps jumps;
  const auto judged = [&jumps](WindowRecord record) {
    jumps.judge(record);
    return record;
  };
  WindowRecord first;
  jumps.judge(first);
  EXPECT_FALSE(first.scale_jumped || first.residual_jumped);
  for (const double scale : {1.1, 0.9, 1.2}) {
    const WindowRecord record = judged(window(scale, 0.02));
    EXPECT_FALSE(record.scale_jumped || record.residual_jumped) << scale;
  }
  EXPECT_TRUE(judged(window(2.5, 0.03)).scale_jumped);
  EXPECT_FALSE(judged(window(2.4, 0.05)).scale_jumped);
  EXPECT_TRUE(judged(window(2.4, 0.2)).residual_jumped);
  EXPECT_FALSE(judged(window(2.4, 0.09)).residual_jumped);
  WindowRecord turned = window(2.4, 0.02);
  turned.rotation_residual = 0.1;
  EXPECT_FALSE(judged(turned).residual_jumped);
  turned.rotation_residual = 0.5;
  EXPECT_TRUE(judged(turned).residual_jumped);
}

TEST(WindowJumps, WhatIsUsualIsNoJump) {
  WindowJumps jumps;
  int told = 0;
  for (int i = 0; i < 200; ++i) {
    WindowRecord record = window(i % 2 == 0 ? 1 : 3, 0.4);
    jumps.judge(record);
    told += record.scale_jumped + record.residual_jumped;
  }
  EXPECT_LE(told, 2);
}

TEST(WindowJumps, WindowsWithoutAPlaceAreNoJump) {
  WindowJumps jumps;
  for (const double scale : {1.0, 9.0, 1.0}) {
    WindowRecord record{.scale = scale, .aligned = false};
    jumps.judge(record);
    EXPECT_FALSE(record.scale_jumped || record.residual_jumped);
  }
}

}  // namespace
}  // namespace lingbot_map
