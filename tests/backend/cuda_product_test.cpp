#include <array>

#include "backend/gpu.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

constexpr Activation kActivations[] = {Activation::none, Activation::gelu, Activation::relu, Activation::add_to_target};

struct Size {
  std::int64_t rows;
  std::int64_t out;
  std::int64_t in;
};
// Few rows in groups of 8, 4, 2 and 1, pairs of columns, 128 elements of a warp; more rows go to cuBLASLt.
constexpr Size kSizes[] = {{1, 1, 1},      {1, 513, 5},    {2, 2, 3},      {3, 17, 127},   {11, 9, 7},
                           {15, 18, 132},  {16, 31, 64},   {17, 33, 383},  {5, 48, 384},   {12, 32, 385},
                           {169, 2, 65},   {169, 48, 769}, {240, 33, 130}, {241, 513, 17}, {481, 16, 33},
                           {3, 1030, 771}, {25, 544, 1537}};

class CudaProduct : public Gpu {
 protected:
  /// Sums of a product: in double precision, or by the CPU where that takes long.
  Sums sums_of(const TestTensor& x, const std::vector<float>& weights, const std::vector<float>& bias, std::int64_t out,
               Precision precision) {
    constexpr std::int64_t kMany = std::int64_t{1} << 24;
    const std::int64_t rows = x.view().dim(0);
    const std::int64_t in = x.view().dim(1);
    if (rows * out * in > kMany) return cpu_product(cpu, x.values(), weights, bias, rows, out, precision);
    Sums sums = product_reference(x.values(), weights, bias, rows, in, out, storage_of(precision));
    if (precision == Precision::tf32) {  // the tolerance is a part of the magnitude
      for (double& tolerance : sums.tolerances) tolerance *= 1 + kTf32 / rounding_of_sum(in);
    }
    return sums;
  }

  /// One random product through every one of `activations`.
  void compare(const Size& size, Precision precision, DType x_type, DType y_type, bool biased, std::int64_t gap,
               std::span<const Activation> activations) {
    Random random(static_cast<std::uint32_t>(size.rows * 7 + size.out * 3 + size.in));
    TestTensor x(x_type, {size.rows, size.in}, gap);
    x.fill(random);
    const std::vector<float> weights = random_values(random, size.out * size.in);
    const std::vector<float> bias = biased ? random_values(random, size.out) : std::vector<float>();
    const Linear linear = linear_on(gpu(), weights, bias, size.out, size.in, precision);
    const OnGpu from(gpu(), x);
    const Sums sums = sums_of(x, weights, bias, size.out, precision);
    for (const Activation activation : activations) {
      if (activation == Activation::add_to_target && y_type != DType::f32) continue;
      const std::string what = message(size.rows, "x", size.in, " by ", size.out, ", ", name_of(x_type), " ",
                                       name_of(precision), " ", name_of(y_type), ", activation ",
                                       static_cast<int>(activation), biased ? ", bias" : "", ", gap ", gap);
      SCOPED_TRACE(what);
      TestTensor y(y_type, {size.rows, size.out}, gap);
      y.fill(random);
      const std::vector<float> before = y.values();
      EXPECT_NO_THROW(run_on_gpu(
          gpu(), [&](const Tensor& to) { gpu().linear(from, linear, activation, to); }, y));
      expect_product(y, sums, precision, activation, before, what);
    }
  }
};

TEST_F(CudaProduct, IsThatOfOddSizes) {
  int turn = 0;
  for (const Size& size : kSizes) {
    for (const Precision precision : precisions()) {
      ++turn;
      compare(size, precision, DType::f32, DType::f32, turn % 3 != 0, turn % 2 * 5, kActivations);
    }
  }
}

TEST_F(CudaProduct, TakesAndGivesBothTypesThroughEveryActivation) {
  for (const Size& size : {Size{13, 40, 72}, Size{40, 64, 48}, Size{131, 8, 200}, Size{1, 64, 64}, Size{40, 64, 128}}) {
    for (const Precision precision : precisions()) {
      const DType type = storage_of(precision);
      for (const DType x_type : {DType::f32, type}) {
        for (const DType y_type : {DType::f32, type}) {
          compare(size, precision, x_type, y_type, true, 16, kActivations);
          compare(size, precision, x_type, y_type, false, 0, kActivations);
        }
      }
    }
  }
}

// On compute capability 9.0 a kernel of ours takes 16-bit rows in tiles of 128 rows and up to 256 columns; where tiles
// are few, blocks share their depth. The last tiles are cut short.
TEST_F(CudaProduct, IsMadeOfTiles) {
  for (const Size& size :
       {Size{131, 192, 192}, Size{257, 320, 320}, Size{390, 1088, 64}, Size{128, 256, 512}, Size{1, 576, 704}}) {
    for (const Precision precision : precisions()) {
      const DType type = storage_of(precision);
      compare(size, precision, type, type, true, 8, std::array{Activation::none, Activation::gelu});
      compare(size, precision, type, DType::f32, size.rows % 2 == 0, 16,
              std::array{Activation::none, Activation::add_to_target});
    }
  }
}

TEST_F(CudaProduct, GivesItsTypeInRowsOfAnyWidthAndAlignment) {
  for (const Size& size : {Size{13, 33, 72}, Size{70, 5, 64}}) {
    for (const Precision precision : precisions()) {
      for (const std::int64_t gap : {3, 2, 6}) {
        compare(size, precision, DType::f32, storage_of(precision), gap != 2, gap, kActivations);
      }
    }
  }
}

TEST_F(CudaProduct, TakesItsTypeInRowsOfAnyWidthAndAlignment) {
  for (const Size& size : {Size{13, 33, 67}, Size{70, 40, 66}, Size{21, 40, 64}}) {
    for (const Precision precision : precisions()) {
      for (const std::int64_t gap : {0, 3, 4}) {
        compare(size, precision, storage_of(precision), DType::f32, gap != 3, gap, kActivations);
      }
    }
  }
}

TEST_F(CudaProduct, OfManyRowsIsDoneInParts) {
  for (const Size& size : {Size{2048, 24, 40}, Size{2049, 33, 40}, Size{4200, 16, 17}}) {
    for (const Precision precision : precisions()) {
      compare(size, precision, DType::f32, DType::f32, true, 3, kActivations);
      compare(size, precision, DType::f32, storage_of(precision), true, 0, kActivations);
    }
  }
}

TEST_F(CudaProduct, OfTheNetworkAgreesWithTheCpu) {
  struct Layer {
    Size size;
    Activation activation;
    bool narrow_output;
  };
  for (const Layer& layer :
       {Layer{{1005, 3072, 1024}, Activation::none, false}, Layer{{1005, 1024, 1024}, Activation::add_to_target, false},
        Layer{{2200, 4096, 1024}, Activation::gelu, true}, Layer{{1005, 1024, 4096}, Activation::add_to_target, false},
        Layer{{1, 8192, 2048}, Activation::gelu, false}, Layer{{8, 2048, 2048}, Activation::add_to_target, false}}) {
    const Size& size = layer.size;
    Random random(static_cast<std::uint32_t>(size.out));
    const std::vector<float> numbers = random_values(random, size.rows * size.in);
    const float deviation = 1.0F / std::sqrt(static_cast<float>(size.in));
    const std::vector<float> weights = random_values(random, size.out * size.in, -deviation, deviation);
    const std::vector<float> bias = random_values(random, size.out);
    for (const Precision precision : precisions()) {
      const std::string what = message(size.rows, "x", size.in, " by ", size.out, ", ", name_of(precision));
      SCOPED_TRACE(what);
      TestTensor x(storage_of(precision), {size.rows, size.in});
      for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, numbers[static_cast<std::size_t>(i)]);
      TestTensor y(layer.narrow_output ? storage_of(precision) : DType::f32, {size.rows, size.out});
      y.fill(0.5F);
      const std::vector<float> before = y.values();
      const Linear linear = linear_on(gpu(), weights, bias, size.out, size.in, precision);
      const OnGpu from(gpu(), x);
      run_on_gpu(
          gpu(), [&](const Tensor& to) { gpu().linear(from, linear, layer.activation, to); }, y);
      expect_product(y, cpu_product(cpu, x.values(), weights, bias, size.rows, size.out, precision), precision,
                     layer.activation, before, what);
    }
  }
}

TEST_F(CudaProduct, IsScaledBeforeItIsAdded) {
  for (const Size& size : {Size{1, 40, 64}, Size{7, 33, 67}, Size{33, 48, 72}, Size{2100, 24, 40}, Size{130, 128, 192},
                           Size{4100, 1024, 64}}) {
    for (const Precision precision : precisions()) {
      for (const bool biased : {true, false}) {
        const std::string what = message(size.rows, "x", size.in, " by ", size.out, ", ", name_of(precision));
        SCOPED_TRACE(what);
        Random random(17);
        TestTensor x(biased ? storage_of(precision) : DType::f32, {size.rows, size.in}, 16);
        x.fill(random);
        const std::vector<float> weights = random_values(random, size.out * size.in);
        const std::vector<float> bias = biased ? random_values(random, size.out) : std::vector<float>();
        const std::vector<float> scale = random_values(random, size.out, -2, 2);
        TestTensor y(DType::f32, {size.rows, size.out}, 16);
        y.fill(random);
        const std::vector<float> before = y.values();
        Linear linear = linear_on(gpu(), weights, bias, size.out, size.in, precision);
        linear.scale = buffer_on(gpu(), scale);
        const OnGpu from(gpu(), x);
        EXPECT_NO_THROW(run_on_gpu(
            gpu(), [&](const Tensor& to) { gpu().linear(from, linear, Activation::add_to_target, to); }, y));
        Sums sums = sums_of(x, weights, {}, size.out, precision);
        for (std::size_t i = 0; i < sums.values.size(); ++i) {
          const std::size_t column = i % scale.size();
          const double factor = scale[column];
          sums.tolerances[i] = std::abs(factor) * (sums.tolerances[i] + kUnit * std::abs(sums.values[i]));
          sums.values[i] = factor * sums.values[i] + (biased ? bias[column] : 0.0F);
          sums.tolerances[i] += 2 * kUnit * std::abs(sums.values[i]);
        }
        expect_product(y, sums, precision, Activation::add_to_target, before, what);
      }
    }
  }
}

TEST_F(CudaProduct, OfNoRowsIsNothing) {
  const OnGpu x(gpu(), TestTensor(DType::f32, {1, 5}));
  TestTensor y(DType::f32, {1, 3});
  y.fill(7.0F);
  for (const Precision precision : precisions()) {
    const Linear linear = linear_on(gpu(), std::vector<float>(15), {}, 3, 5, precision);
    for (const Activation activation : kActivations) {
      run_on_gpu(
          gpu(), [&](const Tensor& to) { gpu().linear(x.view().rows(0, 0), linear, activation, to.rows(0, 0)); }, y);
      EXPECT_EQ(y.values(), std::vector<float>(3, 7.0F));
    }
  }
}

TEST_F(CudaProduct, ShowsNanAndInfinity) {
  constexpr Size kSize = {3, 5, 9};
  TestTensor x(DType::f32, {kSize.rows, kSize.in});
  x.fill(1.0F).set(kSize.in + 4, NAN);
  x.set(2 * kSize.in + 4, INFINITY);
  const OnGpu from(gpu(), x);
  for (const Precision precision : precisions()) {
    const Linear linear = linear_on(gpu(), std::vector<float>(45, 1.0F), {}, kSize.out, kSize.in, precision);
    for (const Activation activation : {Activation::none, Activation::gelu, Activation::add_to_target}) {
      SCOPED_TRACE(message(name_of(precision), ", activation ", static_cast<int>(activation)));
      const TestTensor y(DType::f32, {kSize.rows, kSize.out});
      run_on_gpu(
          gpu(), [&](const Tensor& to) { gpu().linear(from, linear, activation, to); }, y);
      for (std::int64_t c = 0; c < kSize.out; ++c) {
        EXPECT_NEAR(y[c], 9.0F, 1e-5F);
        EXPECT_TRUE(std::isnan(y[kSize.out + c]));
        EXPECT_EQ(y[2 * kSize.out + c], INFINITY);
      }
    }
  }
}

TEST_F(CudaProduct, ReluShowsNan) {
  TestTensor x(DType::f32, {1, 8});
  x.fill(NAN);
  const OnGpu from(gpu(), x);
  for (const DType dtype : types()) {
    const Linear linear = linear_on(gpu(), std::vector<float>(32, 1.0F), {}, 4, 8, precision_of(dtype));
    const TestTensor y(dtype, {1, 4});
    run_on_gpu(
        gpu(), [&](const Tensor& to) { gpu().linear(from, linear, Activation::relu, to); }, y);
    for (std::int64_t c = 0; c < 4; ++c) EXPECT_TRUE(std::isnan(y[c])) << name_of(dtype);
  }
}

TEST_F(CudaProduct, WeightsKnowTheirShapeAndTakeTheNearestNumbers) {
  // The product with the identity shows the weights.
  Random random(9);
  const std::vector<float> weights = random_values(random, 5 * 7, -70, 70);
  TestTensor identity(DType::f32, {7, 7});
  for (std::int64_t i = 0; i < 7; ++i) identity.set(8 * i, 1);
  const OnGpu x(gpu(), identity);
  for (const DType dtype : types()) {
    const auto matrix = gpu().pack(weights, 5, 7, precision_of(dtype));
    EXPECT_EQ(matrix->out(), 5);
    EXPECT_EQ(matrix->in(), 7);
    EXPECT_EQ(matrix->dtype(), dtype);
    EXPECT_GE(matrix->bytes(), 35 * size_of(dtype));
    const TestTensor y(DType::f32, {7, 5});
    run_on_gpu(
        gpu(), [&](const Tensor& to) { gpu().linear(x, {.weight = matrix}, Activation::none, to); }, y);
    for (std::int64_t i = 0; i < 35; ++i) {
      ASSERT_EQ(y[i % 7 * 5 + i / 7], rounded_to(dtype, weights[static_cast<std::size_t>(i)])) << name_of(dtype);
    }
  }
}

TEST_F(CudaProduct, RefusesWhatTheCpuRefuses) {
  const auto with = [](std::int64_t out, std::int64_t in, std::size_t bias, Activation activation) {
    return [=](Backend& backend, const Tensor& x, const Tensor& y) {
      const auto elements = static_cast<std::size_t>(out * in);
      backend.linear(
          x, linear_on(backend, std::vector<float>(elements), std::vector<float>(bias), out, in, Precision::f32),
          activation, y);
    };
  };
  const TestTensor x(DType::f32, {4, 6});
  const TestTensor y(DType::f32, {4, 5});
  refuses("linear of [4, 6] by [5, 7] into [4, 5]", with(5, 7, 0, Activation::none), x, y);
  refuses("linear of [3, 6]", with(5, 6, 5, Activation::none), TestTensor(DType::f32, {3, 6}), y);
  refuses("into [4, 6]", with(5, 6, 5, Activation::none), x, x);
  refuses("residual stream of bf16", with(5, 6, 5, Activation::add_to_target), x, TestTensor(DType::bf16, {4, 5}));
  refuses("bias of 16 bytes for 5 outputs", with(5, 6, 4, Activation::none), x, y);
  refuses(
      "weights of another back end",
      [](Backend& backend, const Tensor& from, const Tensor& to) {
        backend.linear(from, Linear{}, Activation::none, to);
      },
      x, y);
  refuses("weights of 29 elements for 5x6",
          [](Backend& backend) { (void)backend.pack(std::vector<float>(29), 5, 6, Precision::f32); });
}

TEST_F(CudaProduct, RefusesWhatItCannotDo) {
  const OnGpu x(gpu(), TestTensor(DType::f32, {4, 6}));
  const OnGpu y(gpu(), TestTensor(DType::f32, {4, 5}));
  const OnGpu half(gpu(), TestTensor(DType::f16, {4, 6}));
  const Linear own = linear_on(gpu(), std::vector<float>(30), {}, 5, 6, Precision::f32);
  const auto refused = [](const auto& action) { return refusal_of(action); };
  EXPECT_THAT(refused([&] { gpu().linear(half, own, Activation::none, y); }),
              HasSubstr("linear of fp16 by fp32 into fp32"));
  const Linear others = linear_on(cpu, std::vector<float>(30), {}, 5, 6, Precision::f32);
  EXPECT_THAT(refused([&] { gpu().linear(x, others, Activation::none, y); }), HasSubstr("weights of another back end"));
  Linear scaled = own;
  scaled.scale = buffer_on(gpu(), std::vector<float>(5));
  EXPECT_THAT(refused([&] { gpu().linear(x, scaled, Activation::none, y); }),
              HasSubstr("a scaled product that adds to nothing"));
  scaled.scale = buffer_on(gpu(), std::vector<float>(4));
  EXPECT_THAT(refused([&] { gpu().linear(x, scaled, Activation::add_to_target, y); }),
              HasSubstr("scale of 16 bytes for 5 outputs"));
}

}  // namespace
}  // namespace lingbot_map::test
