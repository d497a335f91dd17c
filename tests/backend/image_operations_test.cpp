#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/kernel_sets.hpp"
#include "backend/reference.hpp"
#include "expect_error.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

class Images : public KernelSets {
 protected:
  template <typename Action>
  static void refuses(Action&& action, const char* text) {
    expect_error(ErrorCode::internal, std::forward<Action>(action), HasSubstr(text));
  }
};

TEST_P(Images, ReluAndAdd) {
  Random random(1);
  TestTensor x(DType::f32, {5, 7, 3});
  TestTensor y(DType::f32, {5, 7, 3});
  x.fill(random);
  y.fill(random);
  const std::vector<float> a = x.values();
  const std::vector<float> b = y.values();
  backend.add(x, y);
  backend.relu(x);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_EQ(y[i], a[at] + b[at]);
    ASSERT_EQ(x[i], a[at] > 0 ? a[at] : 0);
  }
  refuses([&] { backend.add(x, TestTensor(DType::f32, {5, 7, 2})); }, "add of [5, 7, 3] to [5, 7, 2]");
  refuses([&] { backend.add(x, TestTensor(DType::f32, {4, 7, 3})); }, "add of");
}

TEST_P(Images, PositionsAddColumnsThenRows) {
  struct Size {
    std::int64_t height;
    std::int64_t width;
    std::int64_t channels;
  };
  for (const auto& [height, width, channels] : {Size{1, 1, 2}, Size{3, 5, 6}, Size{7, 2, 40}}) {
    Random random(2);
    TestTensor columns(DType::f32, {width, channels / 2});
    TestTensor rows(DType::f32, {height, channels / 2});
    TestTensor x(DType::f32, {height, width, channels});
    columns.fill(random);
    rows.fill(random);
    x.fill(random);
    const std::vector<float> before = x.values();
    backend.add_positions(columns, rows, x);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::int64_t channel = i % channels;
      const std::int64_t c = i / channels % width;
      const std::int64_t r = i / channels / width;
      const float code = channel < channels / 2 ? columns[c * (channels / 2) + channel]
                                                : rows[r * (channels / 2) + channel - channels / 2];
      ASSERT_EQ(x[i], before[static_cast<std::size_t>(i)] + code);
    }
    EXPECT_TRUE(x.intact());
  }
  const TestTensor x(DType::f32, {3, 5, 6});
  const TestTensor three(DType::f32, {3, 3});
  const TestTensor five(DType::f32, {5, 3});
  refuses([&] { backend.add_positions(three, five, x); }, "add_positions of [3, 3] and [5, 3] to [3, 5, 6]");
  refuses([&] { backend.add_positions(five, TestTensor(DType::f32, {3, 2}), x); }, "add_positions of");
}

/// Where an output lies in the input, corners on corners. The place is a float32, as in the public network.
double place(std::int64_t i, std::int64_t in, std::int64_t out) {
  if (out == 1) return 0;
  return std::min<double>(static_cast<float>(in - 1) / static_cast<float>(out - 1) * static_cast<float>(i),
                          static_cast<double>(in - 1));
}

TEST_P(Images, ResizeIsBilinearWithCornersAligned) {
  struct Size {
    std::int64_t in_height;
    std::int64_t in_width;
    std::int64_t out_height;
    std::int64_t out_width;
    std::int64_t channels;
  };
  for (const Size& s : {Size{1, 1, 1, 1, 3}, Size{1, 1, 4, 5, 2}, Size{4, 5, 1, 1, 2}, Size{1, 6, 3, 11, 1},
                        Size{6, 1, 11, 3, 33}, Size{7, 9, 7, 9, 16}, Size{14, 19, 27, 37, 40}, Size{54, 74, 31, 43, 5},
                        Size{10, 12, 35, 41, 128}, Size{2, 2, 101, 3, 7}}) {
    SCOPED_TRACE(message(s.in_height, "x", s.in_width, " to ", s.out_height, "x", s.out_width, ", ", s.channels));
    Random random(3);
    TestTensor x(DType::f32, {s.in_height, s.in_width, s.channels});
    x.fill(random);
    const TestTensor y(DType::f32, {s.out_height, s.out_width, s.channels});
    backend.resize(x, y);
    std::vector<double> expected;
    for (std::int64_t r = 0; r < s.out_height; ++r) {
      const double v = place(r, s.in_height, s.out_height);
      const auto top = static_cast<std::int64_t>(v);
      const std::int64_t bottom = std::min(top + 1, s.in_height - 1);
      for (std::int64_t c = 0; c < s.out_width; ++c) {
        const double h = place(c, s.in_width, s.out_width);
        const auto left = static_cast<std::int64_t>(h);
        const std::int64_t right = std::min(left + 1, s.in_width - 1);
        for (std::int64_t channel = 0; channel < s.channels; ++channel) {
          const auto at = [&](std::int64_t row, std::int64_t column) {
            return static_cast<double>(x[(row * s.in_width + column) * s.channels + channel]);
          };
          const double ty = v - static_cast<double>(top);
          const double tx = h - static_cast<double>(left);
          expected.push_back((1 - ty) * ((1 - tx) * at(top, left) + tx * at(top, right)) +
                             ty * ((1 - tx) * at(bottom, left) + tx * at(bottom, right)));
        }
      }
    }
    expect_close(
        y, expected, [](std::int64_t) { return 8 * kUnit; }, "resize");
    EXPECT_TRUE(y.intact());
    const auto corner = [](const TestTensor& image, bool down, bool across) {
      return image[((down ? image.view().dim(0) - 1 : 0) * image.view().dim(1) +
                    (across ? image.view().dim(1) - 1 : 0)) *
                   image.view().dim(2)];
    };
    for (const bool down : {false, true}) {
      for (const bool across : {false, true}) {
        if ((down && s.out_height == 1) || (across && s.out_width == 1)) continue;
        EXPECT_NEAR(corner(y, down, across), corner(x, down, across), 1e-5) << down << across;
      }
    }
  }
  refuses(
      [&] {
        backend.resize(TestTensor(DType::f32, {2, 2, 3}), TestTensor(DType::f32, {2, 2, 4}));
      },
      "resize of [2, 2, 3] to [2, 2, 4]");
}

TEST_P(Images, ResizeToTheSameSizeIsACopy) {
  Random random(4);
  TestTensor x(DType::f32, {37, 29, 5});
  x.fill(random);
  const TestTensor y(DType::f32, {37, 29, 5});
  backend.resize(x, y);
  EXPECT_TRUE(same_bits(x, y));
}

TEST_P(Images, DepthBecomesSpace) {
  for (const int factor : {1, 2, 4}) {
    constexpr std::int64_t kHeight = 3;
    constexpr std::int64_t kWidth = 5;
    constexpr std::int64_t kChannels = 3;
    const std::int64_t side = factor;
    TestTensor x(DType::f32, {kHeight * kWidth, side * side * kChannels}, 4);
    for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, static_cast<float>(i));
    const TestTensor y(DType::f32, {kHeight * side, kWidth * side, kChannels});
    backend.depth_to_space(x, kHeight, kWidth, factor, y);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::int64_t channel = i % kChannels;
      const std::int64_t column = i / kChannels % (kWidth * side);
      const std::int64_t row = i / kChannels / (kWidth * side);
      const std::int64_t cell = row / side * kWidth + column / side;
      const std::int64_t within = (row % side * side + column % side) * kChannels + channel;
      ASSERT_EQ(y[i], x[cell * side * side * kChannels + within]) << factor;
    }
    EXPECT_TRUE(y.intact());
  }
  const TestTensor x(DType::f32, {6, 8});
  const TestTensor y(DType::f32, {4, 6, 2});
  refuses([&] { backend.depth_to_space(x, 3, 2, 2, y); }, "depth_to_space of [6, 8] into [4, 6, 2]");
  refuses([&] { backend.depth_to_space(x, 2, 3, 1, y); }, "depth_to_space of");
}

TEST_P(Images, DepthOutputsAreExponentials) {
  for (const std::int64_t width : {1, 5, 64, 127, 128, 129, 300}) {
    Random random(5);
    TestTensor x(DType::f32, {3, width, 2});
    x.fill(random, -8, 8);
    x.set(0, 100);
    x.set(1, -100);
    const TestTensor depth(DType::f32, {3, width});
    const TestTensor confidence(DType::f32, {3, width});
    backend.depth_outputs(x, depth, confidence);
    EXPECT_EQ(depth[0], INFINITY);
    EXPECT_EQ(confidence[0], 1);
    for (std::int64_t i = 1; i < 3 * width; ++i) {
      const double expected_depth = std::exp(static_cast<double>(x[2 * i]));
      const double expected_confidence = 1 + std::exp(static_cast<double>(x[2 * i + 1]));
      ASSERT_NEAR(depth[i], expected_depth, 4 * kUnit * expected_depth);
      ASSERT_NEAR(confidence[i], expected_confidence, 6 * kUnit * expected_confidence);
    }
    EXPECT_TRUE(depth.intact() && confidence.intact());
  }
  const TestTensor x(DType::f32, {3, 4, 2});
  const TestTensor right(DType::f32, {3, 4});
  const TestTensor wrong(DType::f32, {3, 5});
  refuses([&] { backend.depth_outputs(x, right, wrong); }, "depth_outputs of [3, 4, 2] into [3, 4] and [3, 5]");
  refuses([&] { backend.depth_outputs(x, wrong, right); }, "depth_outputs of");
  refuses([&] { backend.depth_outputs(TestTensor(DType::f32, {3, 4, 4}), right, right); }, "depth_outputs of");
}

TEST_P(Images, PointOutputsGrowExponentiallyEitherWay) {
  Random random(6);
  TestTensor x(DType::f32, {4, 9, 4});
  x.fill(random, -6, 6);
  for (const std::int64_t i : {0, 1, 2}) x.set(i, i == 0 ? 0.0F : i == 1 ? 1e-6F : -1e-6F);
  const TestTensor points(DType::f32, {4, 9, 3});
  const TestTensor confidence(DType::f32, {4, 9});
  backend.point_outputs(x, points, confidence);
  for (std::int64_t i = 0; i < 36; ++i) {
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const double value = x[4 * i + axis];
      const double expected = std::copysign(std::expm1(std::abs(value)), value);
      ASSERT_NEAR(points[3 * i + axis], expected, 4 * kUnit * std::abs(expected));
    }
    const double expected = 1 + std::exp(static_cast<double>(x[4 * i + 3]));
    ASSERT_NEAR(confidence[i], expected, 4 * kUnit * expected);
  }
  EXPECT_TRUE(points.intact() && confidence.intact());
  refuses([&] { backend.point_outputs(x, confidence, confidence); }, "point_outputs of [4, 9, 4] into [4, 9]");
  refuses([&] { backend.point_outputs(x, points, TestTensor(DType::f32, {4, 8})); }, "point_outputs of");
  refuses([&] { backend.point_outputs(points, points, confidence); }, "point_outputs of");
}

INSTANTIATE_TEST_SUITE_P(Kernels, Images, testing::ValuesIn(every_kernel_set()), kernel_set_name);

}  // namespace
}  // namespace lingbot_map::test
