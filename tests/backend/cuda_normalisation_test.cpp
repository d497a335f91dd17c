#include "backend/gpu.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

class CudaNormalisation : public Gpu {};

// Rows in registers up to 2048 elements in fours, any others too; offset and gap decide about their alignment.
TEST_F(CudaNormalisation, LayerNormIsThatOfOddWidthsAndOffsets) {
  for (const std::int64_t width : {1, 3, 15, 16, 17, 33, 64, 130, 512, 516, 1000, 1024, 1028, 1500, 2048, 2052, 4099}) {
    for (const std::int64_t rows : {1, 33}) {
      for (const float offset : {0.0F, 50.0F}) {
        Random random(static_cast<std::uint32_t>(width));
        TestTensor x(DType::f32, {rows, width}, width % 3 == 0 ? 3 : 8);
        x.fill(random, offset - 2, offset + 2);
        const std::vector<float> weight = random_values(random, width);
        const std::vector<float> bias = random_values(random, width);
        const Norm norm = norm_on(gpu(), weight, bias, 1e-5F);
        const OnGpu from(gpu(), x);
        for (const DType y_type : types()) {
          for (const std::int64_t gap : {8, 3}) {
            const std::string what = message(rows, "x", width, " offset ", offset, " ", name_of(y_type), ", gap ", gap);
            SCOPED_TRACE(what);
            const TestTensor y(y_type, {rows, width}, gap);
            run_on_gpu(
                gpu(), [&](const Tensor& to) { gpu().layer_norm(from, norm, to); }, y);
            const Sums expected = layer_norm_reference(x, weight, bias, 1e-5, y_type);
            expect_sums(y, expected, what);
            if (offset == 0 && rows > 1 && width > 2) {
              EXPECT_LE(distance(y, expected.values), norm_bound(Precision::f32, y_type)) << what;
            }
          }
        }
      }
    }
  }
}

TEST_F(CudaNormalisation, LayerNormOfTheNetworkAgreesWithTheCpu) {
  constexpr std::int64_t kRows = 1005;
  constexpr std::int64_t kWidth = 1024;
  Random random(1);
  TestTensor x(DType::f32, {kRows, kWidth});
  x.fill(random, -20, 30);
  const std::vector<float> weight = random_values(random, kWidth);
  const std::vector<float> bias = random_values(random, kWidth);
  const Norm on_gpu = norm_on(gpu(), weight, bias, 1e-6F);
  const OnGpu from(gpu(), x);
  const TestTensor expected(DType::f32, {kRows, kWidth});
  cpu.layer_norm(x, norm_on(cpu, weight, bias, 1e-6F), expected);
  const std::vector<float> values = expected.values();
  for (const DType y_type : types()) {
    const TestTensor y(y_type, {kRows, kWidth});
    run_on_gpu(
        gpu(), [&](const Tensor& to) { gpu().layer_norm(from, on_gpu, to); }, y);
    EXPECT_LE(distance(y, {values.begin(), values.end()}), norm_bound(Precision::f32, y_type)) << name_of(y_type);
    EXPECT_TRUE(y.intact());
  }
}

TEST_F(CudaNormalisation, LayerNormOfAConstantRowIsTheBias) {
  TestTensor x(DType::f32, {2, 48});
  x.fill(3.0F);
  const OnGpu from(gpu(), x);
  const Norm norm = norm_on(gpu(), std::vector<float>(48, 2.0F), std::vector<float>(48, 0.25F), 1e-6F);
  const TestTensor y(DType::f32, {2, 48});
  run_on_gpu(
      gpu(), [&](const Tensor& to) { gpu().layer_norm(from, norm, to); }, y);
  EXPECT_EQ(y.values(), std::vector<float>(96, 0.25F));
}

TEST_F(CudaNormalisation, LayerNormRefusesWhatTheCpuRefuses) {
  const auto with = [](std::size_t weights, std::size_t biases) {
    return [=](Backend& backend, const Tensor& x, const Tensor& y) {
      backend.layer_norm(x, norm_on(backend, std::vector<float>(weights), std::vector<float>(biases), 1), y);
    };
  };
  const TestTensor x(DType::f32, {4, 6});
  refuses("layer_norm of [4, 6] into [4, 5]", with(6, 6), x, TestTensor(DType::f32, {4, 5}));
  refuses("layer_norm of", with(6, 6), x, TestTensor(DType::f32, {3, 6}));
  refuses("layer_norm of", with(6, 6), TestTensor(DType::bf16, {4, 6}), x);
  refuses("norm of width 5 with a bias of 6, expected 6", with(5, 6), x, x);
  refuses("norm of width 6 with a bias of 7, expected 6", with(6, 7), x, x);
}

TEST_F(CudaNormalisation, ModulateScalesShiftsAndGatesTheNormalised) {
  for (const std::int64_t width : {1, 31, 64, 257, 2048}) {
    constexpr std::int64_t kRows = 3;
    Random random(static_cast<std::uint32_t>(width));
    TestTensor x(DType::f32, {kRows, width});
    x.fill(random, -3, 3);
    TestTensor modulation(DType::f32, {kRows, 3 * width});
    modulation.fill(random);
    const OnGpu from(gpu(), x);
    const OnGpu by(gpu(), modulation);
    const TestTensor y(DType::f32, {kRows, width});
    run_on_gpu(
        gpu(), [&](const Tensor& to) { gpu().modulate(from, by, to); }, y);
    const Sums expected = modulate_reference(x, modulation);
    expect_sums(y, expected, message("width ", width));
    EXPECT_LE(distance(y, expected.values), kExactNorm) << width;
  }
}

TEST_F(CudaNormalisation, ModulateRefusesWhatTheCpuRefuses) {
  const TestTensor x(DType::f32, {2, 5});
  const auto modulate = [](Backend& backend, const Tensor& from, const Tensor& by, const Tensor& to) {
    backend.modulate(from, by, to);
  };
  refuses("modulate of [2, 5]", modulate, x, TestTensor(DType::f32, {2, 14}), x);
  refuses("modulate of [2, 5]", modulate, x, TestTensor(DType::f32, {1, 15}), x);
  refuses("modulate of [2, 5]", modulate, x, TestTensor(DType::f32, {2, 15}), TestTensor(DType::f32, {2, 6}));
}

TEST_F(CudaNormalisation, SiluIsXTimesItsLogistic) {
  TestTensor x(DType::f32, {3, 1001});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, -110 + 220 * static_cast<float>(i) / 3002);
  Sums expected;
  for (const float value : x.values()) {
    expected.values.push_back(value / (1 + std::exp(-static_cast<double>(value))));
    // Where e^-x passes float32's range the result is zero.
    expected.tolerances.push_back(8 * kUnit * std::abs(expected.values.back()) + 1e-36);
  }
  const OnGpu from(gpu(), x);
  const TestTensor y(DType::f32, {3, 1001});
  run_on_gpu(
      gpu(), [&](const Tensor& to) { gpu().silu(from, to); }, y);
  expect_sums(y, expected, "silu");
  run_on_gpu(
      gpu(), [&](const Tensor& to) { gpu().silu(to, to); }, x);
  EXPECT_TRUE(same_bits(x, y)) << "in place";
  refuses(
      "silu of", [](Backend& backend, const Tensor& a, const Tensor& b) { backend.silu(a, b); }, x,
      TestTensor(DType::f32, {3, 1000}));
}

}  // namespace
}  // namespace lingbot_map::test
