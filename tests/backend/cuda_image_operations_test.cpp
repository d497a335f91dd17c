#include "backend/gpu.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

class CudaImages : public Gpu {
 protected:
  static std::vector<double> doubles(const TestTensor& x) {
    const std::vector<float> values = x.values();
    return {values.begin(), values.end()};
  }
  /// Expects the elements of both to be equal.
  static void expect_equal(const TestTensor& x, const TestTensor& expected, const std::string& what) {
    expect_close(
        x, doubles(expected), [](std::int64_t) { return 0.0; }, what);
    EXPECT_TRUE(x.intact()) << what;
  }
};

struct Size {
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
};
constexpr Size kSizes[] = {{1, 1, 1}, {5, 7, 3}, {3, 5, 6}, {7, 2, 40}, {9, 4, 8}, {1, 300, 4}, {148, 108, 64}};

TEST_F(CudaImages, ReluAndAdd) {
  for (const auto& [height, width, channels] : kSizes) {
    const std::string what = message(height, "x", width, "x", channels);
    Random random(1);
    TestTensor x(DType::f32, {height, width, channels});
    TestTensor y(DType::f32, {height, width, channels});
    TestTensor sum(DType::f32, {height, width, channels});
    x.fill(random);
    y.fill(random);
    const std::vector<float> a = x.values();
    const std::vector<float> b = y.values();
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      sum.set(i, a[at] + b[at]);
    }
    const OnGpu from(gpu(), x);
    run_on_gpu(
        gpu(), [&](const Tensor& to) { gpu().add(from, to); }, y);
    expect_equal(y, sum, what);
    run_on_gpu(
        gpu(), [&](const Tensor& image) { gpu().relu(image); }, x);
    cpu.relu(sum);
    run_on_gpu(
        gpu(), [&](const Tensor& image) { gpu().relu(image); }, y);
    expect_equal(y, sum, what);
    for (std::int64_t i = 0; i < x.elements(); ++i) ASSERT_EQ(x[i], std::max(a[static_cast<std::size_t>(i)], 0.0F));
  }
  const auto add = [](Backend& backend, const Tensor& a, const Tensor& b) { backend.add(a, b); };
  const TestTensor x(DType::f32, {5, 7, 3});
  refuses("add of [5, 7, 3] to [5, 7, 2]", add, x, TestTensor(DType::f32, {5, 7, 2}));
  refuses("add of", add, x, TestTensor(DType::f32, {4, 7, 3}));
}

TEST_F(CudaImages, AddTakesRowsOfOneLengthWhateverTheirShape) {
  Random random(2);
  TestTensor x(DType::f32, {5, 7, 3});
  TestTensor y(DType::f32, {5, 3, 7});
  x.fill(random);
  y.fill(random);
  const OnGpu from(gpu(), x);
  TestTensor expected(DType::f32, {5, 3, 7});
  for (std::int64_t i = 0; i < y.elements(); ++i) expected.set(i, x[i] + y[i]);
  run_on_gpu(
      gpu(), [&](const Tensor& to) { gpu().add(from, to); }, y);
  expect_equal(y, expected, "add");
}

TEST_F(CudaImages, ReluShowsNan) {
  for (const std::int64_t channels : {3, 4}) {
    TestTensor x(DType::f32, {1, 2, channels});
    x.fill(NAN);
    run_on_gpu(
        gpu(), [&](const Tensor& image) { gpu().relu(image); }, x);
    for (std::int64_t i = 0; i < x.elements(); ++i) EXPECT_TRUE(std::isnan(x[i])) << channels << " channels";
  }
}

TEST_F(CudaImages, PositionsAddColumnsThenRows) {
  for (const auto& [height, width, channels] :
       {Size{1, 1, 2}, Size{3, 5, 6}, Size{7, 2, 40}, Size{6, 9, 12}, Size{27, 37, 256}}) {
    Random random(2);
    TestTensor columns(DType::f32, {width, channels / 2});
    TestTensor rows(DType::f32, {height, channels / 2});
    TestTensor x(DType::f32, {height, width, channels});
    columns.fill(random);
    rows.fill(random);
    x.fill(random);
    TestTensor expected(DType::f32, {height, width, channels});
    for (std::int64_t i = 0; i < x.elements(); ++i) expected.set(i, x[i]);
    cpu.add_positions(columns, rows, expected);
    const OnGpu of_columns(gpu(), columns);
    const OnGpu of_rows(gpu(), rows);
    run_on_gpu(
        gpu(), [&](const Tensor& image) { gpu().add_positions(of_columns, of_rows, image); }, x);
    expect_equal(x, expected, message(height, "x", width, "x", channels));
  }
  const auto add_positions = [](Backend& backend, const Tensor& columns, const Tensor& rows, const Tensor& image) {
    backend.add_positions(columns, rows, image);
  };
  const TestTensor x(DType::f32, {3, 5, 6});
  const TestTensor three(DType::f32, {3, 3});
  const TestTensor five(DType::f32, {5, 3});
  refuses("add_positions of [3, 3] and [5, 3] to [3, 5, 6]", add_positions, three, five, x);
  refuses("add_positions of", add_positions, five, TestTensor(DType::f32, {3, 2}), x);
}

TEST_F(CudaImages, ResizeIsBilinearWithCornersAligned) {
  struct Resize {
    std::int64_t in_height;
    std::int64_t in_width;
    std::int64_t out_height;
    std::int64_t out_width;
    std::int64_t channels;
  };
  for (const Resize& s : {Resize{1, 1, 1, 1, 3}, Resize{1, 1, 4, 5, 2}, Resize{4, 5, 1, 1, 2}, Resize{1, 6, 3, 11, 1},
                          Resize{6, 1, 11, 3, 33}, Resize{7, 9, 7, 9, 16}, Resize{14, 19, 27, 37, 40},
                          Resize{54, 74, 31, 43, 5}, Resize{10, 12, 35, 41, 128}, Resize{2, 2, 101, 3, 7},
                          Resize{108, 148, 216, 296, 32}, Resize{216, 296, 378, 518, 8}}) {
    const std::string what =
        message(s.in_height, "x", s.in_width, " to ", s.out_height, "x", s.out_width, ", ", s.channels);
    Random random(3);
    TestTensor x(DType::f32, {s.in_height, s.in_width, s.channels});
    x.fill(random);
    const TestTensor expected(DType::f32, {s.out_height, s.out_width, s.channels});
    cpu.resize(x, expected);
    const OnGpu from(gpu(), x);
    const TestTensor y(DType::f32, {s.out_height, s.out_width, s.channels});
    run_on_gpu(
        gpu(), [&](const Tensor& to) { gpu().resize(from, to); }, y);
    // The place of an output is a float32, or a product that is rounded once with what is taken from it: the weight of
    // its neighbour, which differs from it by at most 2, may be off by half a unit of the place on each axis.
    const double tolerance = 8 * kUnit + 2 * kUnit * static_cast<double>(s.in_height + s.in_width);
    expect_close(
        y, doubles(expected), [&](std::int64_t) { return tolerance; }, what);
    EXPECT_LE(distance(y, doubles(expected)), kExactNorm) << what;
    EXPECT_TRUE(y.intact()) << what;
  }
  refuses(
      "resize of [2, 2, 3] to [2, 2, 4]",
      [](Backend& backend, const Tensor& x, const Tensor& y) { backend.resize(x, y); },
      TestTensor(DType::f32, {2, 2, 3}), TestTensor(DType::f32, {2, 2, 4}));
}

TEST_F(CudaImages, ResizeToTheSameSizeIsACopy) {
  for (const std::int64_t channels : {5, 8}) {
    Random random(4);
    TestTensor x(DType::f32, {37, 29, channels});
    x.fill(random);
    const OnGpu from(gpu(), x);
    const TestTensor y(DType::f32, {37, 29, channels});
    run_on_gpu(
        gpu(), [&](const Tensor& to) { gpu().resize(from, to); }, y);
    EXPECT_TRUE(same_bits(x, y)) << channels;
  }
}

TEST_F(CudaImages, DepthBecomesSpace) {
  for (const int factor : {1, 2, 4}) {
    for (const std::int64_t channels : {3, 8}) {
      for (const std::int64_t gap : {0, 4, 8, 3}) {
        constexpr std::int64_t kHeight = 3;
        constexpr std::int64_t kWidth = 5;
        const std::int64_t side = factor;
        TestTensor x(DType::f32, {kHeight * kWidth, side * side * channels}, gap);
        for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, static_cast<float>(i));
        const TestTensor expected(DType::f32, {kHeight * side, kWidth * side, channels});
        cpu.depth_to_space(x, kHeight, kWidth, factor, expected);
        const OnGpu from(gpu(), x);
        const TestTensor y(DType::f32, {kHeight * side, kWidth * side, channels});
        run_on_gpu(
            gpu(), [&](const Tensor& to) { gpu().depth_to_space(from, kHeight, kWidth, factor, to); }, y);
        expect_equal(y, expected, message("factor ", factor, ", ", channels, " channels, gap ", gap));
      }
    }
  }
  const auto with = [](std::int64_t height, std::int64_t width, int factor) {
    return [=](Backend& backend, const Tensor& x, const Tensor& y) {
      backend.depth_to_space(x, height, width, factor, y);
    };
  };
  const TestTensor x(DType::f32, {6, 8});
  const TestTensor y(DType::f32, {4, 6, 2});
  refuses("depth_to_space of [6, 8] into [4, 6, 2]", with(3, 2, 2), x, y);
  refuses("depth_to_space of", with(2, 3, 1), x, y);
}

/// e^x as float32 has it: off by two units, and where there are no normal numbers it may be zero.
double exp_tolerance(double value) { return 5 * kUnit * value + 0x1p-126; }

TEST_F(CudaImages, DepthOutputsAreExponentials) {
  for (const std::int64_t width : {1, 5, 64, 127, 300}) {
    for (const std::int64_t gap : {0, 3}) {
      Random random(5);
      TestTensor x(DType::f32, {6, width, 2});
      x.fill(random, -88, 88);
      for (const auto& [at, value] : {std::pair{0, 100.0F}, std::pair{1, -100.0F}, std::pair{2, -200.0F},
                                      std::pair{3, 88.7F}, std::pair{4, 89.0F}, std::pair{5, 200.0F}}) {
        x.set(at, value);
      }
      const OnGpu from(gpu(), x);
      const TestTensor depth(DType::f32, {6, width}, gap);
      const TestTensor confidence(DType::f32, {6, width}, gap);
      run_on_gpu(
          gpu(),
          [&](const Tensor& to_depth, const Tensor& to_confidence) {
            gpu().depth_outputs(from, to_depth, to_confidence);
          },
          depth, confidence);
      for (std::int64_t i = 0; i < 6 * width; ++i) {
        const double expected_depth = std::exp(static_cast<double>(x[2 * i]));
        const double power = std::exp(static_cast<double>(x[2 * i + 1]));
        const auto expect = [&](float got, double expected, double tolerance) {
          if (expected > 3.4028236e38) {
            ASSERT_EQ(got, INFINITY) << i;
          } else {
            ASSERT_NEAR(got, expected, tolerance) << i;
          }
        };
        expect(depth[i], expected_depth, exp_tolerance(expected_depth));
        expect(confidence[i], 1 + power, exp_tolerance(power) + kUnit * (1 + power));
      }
      EXPECT_TRUE(depth.intact() && confidence.intact());
    }
  }
  const auto depth_outputs = [](Backend& backend, const Tensor& x, const Tensor& depth, const Tensor& confidence) {
    backend.depth_outputs(x, depth, confidence);
  };
  const TestTensor x(DType::f32, {3, 4, 2});
  const TestTensor right(DType::f32, {3, 4});
  const TestTensor wrong(DType::f32, {3, 5});
  refuses("depth_outputs of [3, 4, 2] into [3, 4] and [3, 5]", depth_outputs, x, right, wrong);
  refuses("depth_outputs of", depth_outputs, x, wrong, right);
  refuses("depth_outputs of", depth_outputs, TestTensor(DType::f32, {3, 4, 4}), right, right);
}

TEST_F(CudaImages, PointOutputsGrowExponentiallyEitherWay) {
  for (const std::int64_t gap : {0, 5}) {
    Random random(6);
    TestTensor x(DType::f32, {4, 9, 4});
    x.fill(random, -6, 6);
    for (const auto& [at, value] :
         {std::pair{0, 0.0F}, std::pair{1, 1e-6F}, std::pair{2, -1e-6F}, std::pair{4, 80.0F}, std::pair{5, -88.0F},
          std::pair{6, 1e-30F}, std::pair{7, -100.0F}, std::pair{8, 100.0F}, std::pair{9, -100.0F}}) {
      x.set(at, value);
    }
    const OnGpu from(gpu(), x);
    const TestTensor points(DType::f32, {4, 9, 3});
    const TestTensor confidence(DType::f32, {4, 9}, gap);
    run_on_gpu(
        gpu(),
        [&](const Tensor& to_points, const Tensor& to_confidence) {
          gpu().point_outputs(from, to_points, to_confidence);
        },
        points, confidence);
    for (std::int64_t i = 0; i < 36; ++i) {
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        const double value = x[4 * i + axis];
        const double expected = std::copysign(std::expm1(std::abs(value)), value);
        if (std::abs(value) == 100) {
          ASSERT_EQ(points[3 * i + axis], value > 0 ? INFINITY : -INFINITY);
        } else {
          ASSERT_NEAR(points[3 * i + axis], expected, 4 * kUnit * std::abs(expected));
        }
      }
      const double power = std::exp(static_cast<double>(x[4 * i + 3]));
      ASSERT_NEAR(confidence[i], 1 + power, exp_tolerance(power) + kUnit * (1 + power));
    }
    EXPECT_TRUE(points.intact() && confidence.intact());
  }
  const auto point_outputs = [](Backend& backend, const Tensor& x, const Tensor& points, const Tensor& confidence) {
    backend.point_outputs(x, points, confidence);
  };
  const TestTensor x(DType::f32, {4, 9, 4});
  const TestTensor points(DType::f32, {4, 9, 3});
  const TestTensor map(DType::f32, {4, 9});
  refuses("point_outputs of [4, 9, 4] into [4, 9]", point_outputs, x, map, map);
  refuses("point_outputs of", point_outputs, x, points, TestTensor(DType::f32, {4, 8}));
  refuses("point_outputs of", point_outputs, points, points, map);
}

TEST_F(CudaImages, AreFloat32) {
  const OnGpu half(gpu(), TestTensor(DType::f16, {3, 4, 2}));
  EXPECT_THAT(refusal_of([&] { gpu().relu(half); }), HasSubstr("rows of fp16"));
  EXPECT_THAT(refusal_of([&] { gpu().resize(half, half); }), HasSubstr("an image of shape [3, 4, 2] and type fp16"));
}

}  // namespace
}  // namespace lingbot_map::test
