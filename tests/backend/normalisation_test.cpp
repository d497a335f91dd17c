#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/kernel_sets.hpp"
#include "backend/reference.hpp"
#include "expect_error.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

class Normalising : public KernelSets {};

TEST_P(Normalising, LayerNormIsThatOfOddWidthsAndOffsets) {
  for (const std::int64_t width : {1, 3, 15, 16, 17, 33, 64, 130, 1000, 1024}) {
    for (const std::int64_t rows : {1, 33}) {
      for (const float offset : {0.0F, 50.0F}) {
        for (const DType y_type : {DType::f32, DType::bf16}) {
          Random random(static_cast<std::uint32_t>(width));
          TestTensor x(DType::f32, {rows, width}, 4);
          x.fill(random, offset - 2, offset + 2);
          const std::vector<float> weight = random_values(random, width);
          const std::vector<float> bias = random_values(random, width);
          const TestTensor y(y_type, {rows, width}, 6);
          backend.layer_norm(x, {.weight = buffer_of(weight), .bias = buffer_of(bias), .epsilon = 1e-5F}, y);
          expect_sums(y, layer_norm_reference(x, weight, bias, 1e-5, y_type),
                      message("width ", width, " offset ", offset, " ", name_of(y_type)));
        }
      }
    }
  }
}

TEST_P(Normalising, LayerNormOfAConstantRowIsTheBias) {
  TestTensor x(DType::f32, {2, 48});
  x.fill(3.0F);
  const TestTensor y(DType::f32, {2, 48});
  backend.layer_norm(x,
                     {.weight = buffer_of(std::vector<float>(48, 2.0F)),
                      .bias = buffer_of(std::vector<float>(48, 0.25F)),
                      .epsilon = 1e-6F},
                     y);
  for (std::int64_t i = 0; i < y.elements(); ++i) ASSERT_EQ(y[i], 0.25F);
}

TEST_P(Normalising, LayerNormRefusesWhatDoesNotFit) {
  const TestTensor x(DType::f32, {4, 6});
  const Norm norm{.weight = buffer_of(std::vector<float>(6)), .bias = buffer_of(std::vector<float>(6)), .epsilon = 1};
  const auto refuses = [&](const Tensor& from, const Norm& with, const Tensor& to, const char* text) {
    expect_error(
        ErrorCode::internal, [&] { backend.layer_norm(from, with, to); }, HasSubstr(text));
  };
  refuses(x, norm, TestTensor(DType::f32, {4, 5}), "layer_norm of [4, 6] into [4, 5]");
  refuses(x, norm, TestTensor(DType::f32, {3, 6}), "layer_norm of");
  refuses(TestTensor(DType::bf16, {4, 6}), norm, x, "layer_norm of");
  refuses(x, {.weight = buffer_of(std::vector<float>(5)), .bias = norm.bias, .epsilon = 1}, x, "norm of width 5");
  refuses(x, {.weight = norm.weight, .bias = buffer_of(std::vector<float>(7)), .epsilon = 1}, x, "norm of width");
}

TEST_P(Normalising, ModulateScalesShiftsAndGatesTheNormalised) {
  for (const std::int64_t width : {1, 31, 64, 257}) {
    constexpr std::int64_t kRows = 3;
    Random random(static_cast<std::uint32_t>(width));
    TestTensor x(DType::f32, {kRows, width}, 2);
    x.fill(random, -3, 3);
    TestTensor modulation(DType::f32, {kRows, 3 * width}, 4);
    modulation.fill(random);
    const TestTensor y(DType::f32, {kRows, width}, 6);
    backend.modulate(x, modulation, y);
    expect_sums(y, modulate_reference(x, modulation), message("width ", width));
  }
}

TEST_P(Normalising, ModulateRefusesWhatDoesNotFit) {
  const TestTensor x(DType::f32, {2, 5});
  const auto refuses = [&](const Tensor& modulation, const Tensor& y) {
    expect_error(
        ErrorCode::internal, [&] { backend.modulate(x, modulation, y); }, HasSubstr("modulate of [2, 5]"));
  };
  refuses(TestTensor(DType::f32, {2, 14}), x);
  refuses(TestTensor(DType::f32, {1, 15}), x);
  refuses(TestTensor(DType::f32, {2, 15}), TestTensor(DType::f32, {2, 6}));
}

TEST_P(Normalising, SiluIsXTimesItsLogistic) {
  TestTensor x(DType::f32, {3, 1001});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, -110 + 220 * static_cast<float>(i) / 3002);
  const TestTensor y(DType::f32, {3, 1001});
  backend.silu(x, y);
  std::vector<double> expected;
  for (const float value : x.values()) expected.push_back(value / (1 + std::exp(-static_cast<double>(value))));
  // Where e^-x passes float32's range the result is zero.
  expect_close(
      y, expected, [&](std::int64_t i) { return 8 * kUnit * std::abs(expected[static_cast<std::size_t>(i)]) + 1e-36; },
      "silu");
  backend.silu(x, x);
  EXPECT_TRUE(same_bits(x, y)) << "in place";
  expect_error(
      ErrorCode::internal,
      [&] {
        backend.silu(x, TestTensor(DType::f32, {3, 1000}));
      },
      HasSubstr("silu of"));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Normalising, testing::ValuesIn(every_kernel_set()), kernel_set_name);

}  // namespace
}  // namespace lingbot_map::test
