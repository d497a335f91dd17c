#include <gtest/gtest.h>

#include <array>

#include "backend/kernel_sets.hpp"
#include "backend/reference.hpp"

namespace lingbot_map::test {
namespace {

class Epilogues : public KernelSets {};

/// The epilogue of a kernel set over rows x columns of random sums.
void run(const cpu::Kernels& kernels, const TestTensor& sums, const std::vector<float>& bias, cpu::Epilogue epilogue,
         const TestTensor& y) {
  const cpu::EpilogueBlock block{.sums = sums.view().data<float>(),
                                 .sums_stride = sums.view().row_stride(),
                                 .bias = bias.empty() ? nullptr : bias.data(),
                                 .y = y.view().raw(),
                                 .y_stride = y.view().row_stride(),
                                 .rows = static_cast<int>(y.view().dim(0)),
                                 .columns = static_cast<int>(y.view().dim(1)),
                                 .epilogue = epilogue};
  (y.view().dtype() == DType::bf16 ? kernels.epilogue_to_bf16 : kernels.epilogue_to_f32)(block);
}

TEST_P(Epilogues, TreatEveryColumnAlikeAndTouchNoOther) {
  constexpr std::int64_t kRows = 3;
  Random random(1);
  for (std::int64_t columns = 1; columns <= 70; ++columns) {
    TestTensor sums(DType::f32, {kRows, 96});
    sums.fill(random, -3, 3);
    for (const cpu::Epilogue epilogue :
         {cpu::Epilogue::store, cpu::Epilogue::gelu, cpu::Epilogue::relu, cpu::Epilogue::add}) {
      const std::vector<float> bias = columns % 2 == 0 ? random_values(random, columns) : std::vector<float>();
      TestTensor y(DType::f32, {kRows, columns}, 7);
      y.fill(random);
      const std::vector<float> before = y.values();
      run(kernels(), sums, bias, epilogue, y);
      std::vector<double> expected;
      for (std::int64_t i = 0; i < y.elements(); ++i) {
        const double sum = static_cast<double>(sums[i / columns * 96 + i % columns]) +
                           (bias.empty() ? 0.0F : bias[static_cast<std::size_t>(i % columns)]);
        expected.push_back(epilogue == cpu::Epilogue::gelu   ? gelu(sum)
                           : epilogue == cpu::Epilogue::relu ? std::max(sum, 0.0)
                           : epilogue == cpu::Epilogue::add  ? sum + before[static_cast<std::size_t>(i)]
                                                             : sum);
      }
      expect_close(
          y, expected, [](std::int64_t) { return 16 * kUnit * 4; }, message(columns, " columns"));
      ASSERT_TRUE(y.intact()) << columns;
    }
  }
}

TEST_P(Epilogues, ToBf16RoundWhatTheyGiveInFloat32) {
  Random random(2);
  constexpr std::int64_t kColumns = 53;
  TestTensor sums(DType::f32, {4, 64});
  sums.fill(random, -3, 3);
  const std::vector<float> bias = random_values(random, kColumns);
  for (const cpu::Epilogue epilogue : {cpu::Epilogue::store, cpu::Epilogue::gelu, cpu::Epilogue::relu}) {
    const TestTensor wide(DType::f32, {4, kColumns});
    const TestTensor narrow(DType::bf16, {4, kColumns}, 3);
    run(kernels(), sums, bias, epilogue, wide);
    run(kernels(), sums, bias, epilogue, narrow);
    for (std::int64_t i = 0; i < wide.elements(); ++i) ASSERT_EQ(narrow[i], rounded_to(DType::bf16, wide[i])) << i;
    EXPECT_TRUE(narrow.intact());
  }
}

// The error function is exact to 3.5e-7, so gelu is to half of that times |x|, and to a rounding or two.
TEST_P(Epilogues, GeluFollowsTheErrorFunction) {
  constexpr std::int64_t kPoints = 200'001;
  TestTensor x(DType::f32, {1, kPoints});
  for (std::int64_t i = 0; i < kPoints; ++i) x.set(i, -10 + 20 * static_cast<float>(i) / (kPoints - 1));
  const TestTensor y(DType::f32, {1, kPoints});
  run(kernels(), x, {}, cpu::Epilogue::gelu, y);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < kPoints; ++i) expected.push_back(gelu(x[i]));
  expect_close(
      y, expected, [&](std::int64_t i) { return (3.5e-7 / 2 + 2 * kUnit) * std::abs(x[i]); }, "gelu");
}

TEST_P(Epilogues, GeluEndsInZeroAndX) {
  TestTensor x(DType::f32, {1, 5});
  for (std::int64_t i = 0; i < 5; ++i)
    x.set(i, std::array{-1e30F, -1000.0F, -6.0F, 6.0F, 1e30F}[static_cast<std::size_t>(i)]);
  const TestTensor y(DType::f32, {1, 5});
  run(kernels(), x, {}, cpu::Epilogue::gelu, y);
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(y[i], x[i] < 0 ? 0 : x[i]) << x[i];
}

INSTANTIATE_TEST_SUITE_P(Kernels, Epilogues, testing::ValuesIn(every_kernel_set()), kernel_set_name);

}  // namespace
}  // namespace lingbot_map::test
