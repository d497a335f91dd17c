#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/kernel_sets.hpp"
#include "backend/reference.hpp"
#include "expect_error.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

constexpr Activation kActivations[] = {Activation::none, Activation::gelu, Activation::relu, Activation::add_to_target};

struct Size {
  std::int64_t rows;
  std::int64_t out;
  std::int64_t in;
};
// Around the tiles (4, 6, 12 rows; 8, 16, 32 columns) and blocks (240 rows, 512 columns, 384 units) of the kernels.
constexpr Size kSizes[] = {{1, 1, 1},      {1, 513, 5},    {2, 2, 3},     {11, 9, 7},     {12, 31, 64},
                           {13, 33, 383},  {5, 48, 384},   {12, 32, 385}, {169, 2, 65},   {169, 48, 769},
                           {240, 33, 130}, {241, 513, 17}, {481, 16, 33}, {3, 1030, 771}, {25, 544, 1537}};

class Product : public KernelSets {
 protected:
  /// One random product against its reference.
  void compare(const Size& size, DType x_type, DType weight_type, DType y_type, Activation activation, bool biased,
               std::int64_t gap) {
    SCOPED_TRACE(message(size.rows, "x", size.in, " by ", size.out, ", ", name_of(x_type), " ", name_of(weight_type),
                         " ", name_of(y_type), ", activation ", static_cast<int>(activation)));
    Random random(static_cast<std::uint32_t>(size.rows * 7 + size.out * 3 + size.in));
    TestTensor x(x_type, {size.rows, size.in}, gap);
    x.fill(random);
    const std::vector<float> weights = random_values(random, size.out * size.in);
    const std::vector<float> bias = biased ? random_values(random, size.out) : std::vector<float>();
    TestTensor y(y_type, {size.rows, size.out}, gap);
    y.fill(random);
    const std::vector<float> before = y.values();
    backend.linear(x, make_linear(backend, weights, bias, size.out, size.in, weight_type), activation, y);
    const Sums sums = product_reference(x.values(), weights, bias, size.rows, size.in, size.out, weight_type);
    expect_activated(y, sums, activation, before, "linear");
  }
};

TEST_P(Product, IsThatOfOddSizes) {
  int turn = 0;
  for (const Size& size : kSizes) {
    for (const DType weight_type : {DType::f32, DType::bf16}) {
      ++turn;
      compare(size, DType::f32, weight_type, DType::f32, kActivations[turn % 4], turn % 3 != 0, turn % 2 * 5);
    }
  }
}

TEST_P(Product, TakesAndGivesBothTypesThroughEveryActivation) {
  constexpr Size kSize = {13, 33, 67};
  for (const DType weight_type : {DType::f32, DType::bf16}) {
    for (const DType x_type : {DType::f32, DType::bf16}) {
      for (const DType y_type : {DType::f32, DType::bf16}) {
        for (const Activation activation : kActivations) {
          if (activation == Activation::add_to_target && y_type == DType::bf16) continue;
          compare(kSize, x_type, weight_type, y_type, activation, true, 3);
          compare(kSize, x_type, weight_type, y_type, activation, false, 0);
        }
      }
    }
  }
}

TEST_P(Product, OfNoRowsIsNothing) {
  const TestTensor x(DType::f32, {1, 5});
  const TestTensor y(DType::f32, {1, 3});
  const Linear linear = make_linear(backend, std::vector<float>(15), {}, 3, 5, DType::f32);
  backend.linear(x.view().rows(0, 0), linear, Activation::none, y.view().rows(0, 0));
}

TEST_P(Product, GivesTheSameBitsForAnyNumberOfThreads) {
  constexpr Size kSize = {251, 390, 450};
  Random random(3);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    TestTensor x(dtype, {kSize.rows, kSize.in});
    x.fill(random);
    const std::vector<float> weights = random_values(random, kSize.out * kSize.in);
    const std::vector<float> bias = random_values(random, kSize.out);
    for (const std::int64_t rows : {std::int64_t{7}, kSize.rows}) {
      TestTensor first(DType::f32, {rows, kSize.out});
      for (const int threads : {1, 2, 3, 5}) {
        CpuBackend other(threads, &kernels());
        TestTensor y(DType::f32, {rows, kSize.out});
        other.linear(x.view().rows(0, rows), make_linear(other, weights, bias, kSize.out, kSize.in, dtype),
                     Activation::gelu, threads == 1 ? first : y);
        if (threads > 1) {
          EXPECT_TRUE(same_bits(first, y)) << rows << " rows, " << threads << " threads";
        }
      }
    }
  }
}

TEST_P(Product, GivesTheSameBitsForARowWhateverStandsBesideIt) {
  Random random(4);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    constexpr Size kSize = {29, 40, 97};
    TestTensor x(DType::f32, {kSize.rows, kSize.in});
    x.fill(random);
    const Linear linear =
        make_linear(backend, random_values(random, kSize.out * kSize.in), {}, kSize.out, kSize.in, dtype);
    TestTensor all(DType::f32, {kSize.rows, kSize.out});
    TestTensor each(DType::f32, {kSize.rows, kSize.out});
    backend.linear(x, linear, Activation::none, all);
    for (std::int64_t row = 0; row < kSize.rows; ++row) {
      backend.linear(x.view().rows(row, 1), linear, Activation::none, each.view().rows(row, 1));
    }
    EXPECT_TRUE(same_bits(all, each)) << name_of(dtype);
  }
}

TEST_P(Product, ShowsNanAndInfinity) {
  constexpr Size kSize = {3, 5, 9};
  for (const Activation activation : kActivations) {
    TestTensor x(DType::f32, {kSize.rows, kSize.in});
    x.fill(1.0F).set(kSize.in + 4, NAN);
    x.set(2 * kSize.in + 4, INFINITY);
    TestTensor y(DType::f32, {kSize.rows, kSize.out});
    backend.linear(x, make_linear(backend, std::vector<float>(45, 1.0F), {}, kSize.out, kSize.in, DType::f32),
                   activation, y);
    for (std::int64_t c = 0; c < kSize.out; ++c) {
      EXPECT_NEAR(y[c], 9.0F, 1e-5F);
      EXPECT_TRUE(std::isnan(y[kSize.out + c])) << static_cast<int>(activation);
      EXPECT_EQ(y[2 * kSize.out + c], INFINITY);
    }
  }
}

TEST_P(Product, WeightsKnowTheirShape) {
  const auto matrix = backend.pack(std::vector<float>(35), 5, 7, Precision::bf16);
  EXPECT_EQ(matrix->out(), 5);
  EXPECT_EQ(matrix->in(), 7);
  EXPECT_EQ(matrix->dtype(), DType::bf16);
  EXPECT_GE(matrix->bytes(), 70U);
}

TEST_P(Product, RefusesWhatDoesNotFit) {
  const TestTensor x(DType::f32, {4, 6});
  const TestTensor y(DType::f32, {4, 5});
  const TestTensor y_bf16(DType::bf16, {4, 5});
  const Linear linear = make_linear(backend, std::vector<float>(30), std::vector<float>(5), 5, 6, DType::f32);
  const Linear wide = make_linear(backend, std::vector<float>(35), {}, 5, 7, DType::f32);
  const Linear short_bias = make_linear(backend, std::vector<float>(30), std::vector<float>(4), 5, 6, DType::f32);
  const auto refuses = [&](const Tensor& from, const Linear& with, Activation activation, const Tensor& to,
                           const char* text) {
    expect_error(
        ErrorCode::internal, [&] { backend.linear(from, with, activation, to); }, HasSubstr(text));
  };
  refuses(x, wide, Activation::none, y, "linear of [4, 6] by [5, 7] into [4, 5]");
  refuses(x.view().rows(0, 3), linear, Activation::none, y, "linear of [3, 6]");
  refuses(x, linear, Activation::none, x, "into [4, 6]");
  refuses(x, linear, Activation::add_to_target, y_bf16, "residual stream of bf16");
  refuses(x, short_bias, Activation::none, y, "bias of 16 bytes for 5 outputs");
  refuses(x, Linear{}, Activation::none, y, "weights of another back end");
  expect_error(
      ErrorCode::internal, [&] { (void)backend.pack(std::vector<float>(29), 5, 6, Precision::f32); },
      HasSubstr("weights of 29 elements for 5x6"));
  expect_error(
      ErrorCode::internal, [&] { (void)backend.pack(std::vector<float>(30), 5, 6, Precision::f16); },
      HasSubstr("weights of fp16"));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Product, testing::ValuesIn(every_kernel_set()), kernel_set_name);

TEST(Products, OfBf16AgreeBetweenKernelSets) {
  constexpr Size kSize = {37, 70, 1025};
  Random random(5);
  TestTensor x(DType::bf16, {kSize.rows, kSize.in});
  x.fill(random);
  const std::vector<float> weights = random_values(random, kSize.out * kSize.in);
  const Sums sums = product_reference(x.values(), weights, {}, kSize.rows, kSize.in, kSize.out, DType::bf16);
  std::vector<double> first;
  for (const cpu::Kernels* kernels : every_kernel_set()) {
    CpuBackend backend(1, kernels);
    TestTensor y(DType::f32, {kSize.rows, kSize.out});
    backend.linear(x, make_linear(backend, weights, {}, kSize.out, kSize.in, DType::bf16), Activation::none, y);
    if (first.empty()) {
      const std::vector<float> values = y.values();
      first.assign(values.begin(), values.end());
    }
    expect_close(
        y, first, [&](std::int64_t i) { return 2 * sums.tolerances[static_cast<std::size_t>(i)]; },
        std::string(kernels->name));
  }
}

}  // namespace
}  // namespace lingbot_map::test
