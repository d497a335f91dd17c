#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "scene/sequence.hpp"

namespace lingbot_map::scene {
namespace {

constexpr int kWidth = 160;
constexpr int kHeight = 120;

double middle_of(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// How the pixels of one frame, brought into another by their depth and both poses, agree with what is there.
struct Agreement {
  double seen = 0;             ///< share that lands in the other picture
  double consistent = 0;       ///< share of those whose depth there is the same, which leaves out what is hidden
  double depth_error = 0;      ///< relative, median of these
  double colour_error = 0;     ///< grey values, median of these
  double colour_if_still = 0;  ///< the same without moving the pixels
};

Agreement compare(const Sequence& sequence, int from, int to) {
  const RenderedFrame a = sequence.frame(from);
  const RenderedFrame b = sequence.frame(to);
  const Intrinsics& camera = sequence.intrinsics();
  const Rigid3 b_from_a = sequence.path()[to].inverse() * sequence.path()[from];
  const auto green = [](const RenderedFrame& frame, int pixel) {
    return static_cast<double>(frame.colour.pixels[3 * pixel + 1]);
  };
  std::vector<double> depth_errors, colour_errors, still_errors;
  double landed = 0;
  double solid = 0;
  for (int v = 0; v < kHeight; ++v) {
    for (int u = 0; u < kWidth; ++u) {
      const int pixel = v * kWidth + u;
      if (a.depth[pixel] == 0) continue;
      ++solid;
      const Vec3 p = b_from_a * unproject(camera, u, v, a.depth[pixel]);
      if (p[2] <= 0.05) continue;
      const double x = camera.fx * p[0] / p[2] + camera.cx;
      const double y = camera.fy * p[1] / p[2] + camera.cy;
      const int column = static_cast<int>(std::floor(x));
      const int row = static_cast<int>(std::floor(y));
      if (column < 0 || row < 0 || column + 1 >= kWidth || row + 1 >= kHeight) continue;
      ++landed;
      const double sx = x - column, sy = y - row;
      const int corner = row * kWidth + column;
      // Inverse depth of a plane is linear in the picture.
      double inverse = 0, colour = 0;
      for (const int down : {0, 1}) {
        for (const int right : {0, 1}) {
          const double weight = (right != 0 ? sx : 1 - sx) * (down != 0 ? sy : 1 - sy);
          const int other = corner + down * kWidth + right;
          inverse += weight / (b.depth[other] == 0 ? 1e9 : b.depth[other]);
          colour += weight * green(b, other);
        }
      }
      const double error = std::abs(p[2] * inverse - 1);
      if (error > 0.02) continue;
      depth_errors.push_back(error);
      colour_errors.push_back(std::abs(colour - green(a, pixel)));
      still_errors.push_back(std::abs(green(b, pixel) - green(a, pixel)));
    }
  }
  Agreement agreement;
  agreement.seen = landed / solid;
  agreement.consistent = static_cast<double>(depth_errors.size()) / landed;
  agreement.depth_error = middle_of(depth_errors);
  agreement.colour_error = middle_of(colour_errors);
  agreement.colour_if_still = middle_of(still_errors);
  return agreement;
}

TEST(Reprojection, DepthAndColoursAgreeBetweenFrames) {
  for (const SceneKind kind : kSceneKinds) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Sequence sequence({kind, seed, 60, kWidth, kHeight});
      const Agreement agreement = compare(sequence, 30, kind == SceneKind::street ? 32 : 34);
      const std::string name = std::string(name_of(kind)) + " " + std::to_string(seed);
      EXPECT_GT(agreement.seen, 0.5) << name;
      EXPECT_GT(agreement.consistent, 0.85) << name;
      EXPECT_LT(agreement.depth_error, 2e-4) << name;
      EXPECT_LT(agreement.colour_error, 6) << name;
      EXPECT_LE(agreement.colour_error, agreement.colour_if_still + 0.5) << name;
    }
  }
}

}  // namespace
}  // namespace lingbot_map::scene
