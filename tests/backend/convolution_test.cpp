#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "backend/kernel_sets.hpp"
#include "backend/reference.hpp"
#include "expect_error.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

struct Case {
  std::int64_t height;
  std::int64_t width;
  std::int64_t in;
  std::int64_t out;
  int kernel;
  int stride;
  int padding;

  [[nodiscard]] std::int64_t out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  [[nodiscard]] std::int64_t out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
};
constexpr Case kCases[] = {
    {1, 1, 1, 1, 3, 1, 1},   {1, 1, 5, 33, 3, 2, 1},  {1, 1, 3, 2, 1, 1, 0},    {2, 2, 3, 4, 3, 2, 1},
    {1, 7, 4, 9, 3, 1, 1},   {7, 1, 4, 9, 3, 1, 1},   {5, 6, 130, 31, 3, 1, 1}, {7, 8, 44, 48, 3, 2, 1},
    {13, 9, 17, 2, 3, 1, 1}, {6, 5, 33, 40, 1, 1, 0}, {17, 20, 3, 33, 3, 1, 1}, {6, 7, 5, 3, 3, 1, 0},
    {9, 9, 2, 6, 5, 3, 2},   {4, 4, 7, 5, 1, 2, 0},
};

/// The windows of a channels-last image as rows, written out with zeros around the image.
std::vector<float> windows(const TestTensor& image, const Case& c) {
  std::vector<float> rows;
  for (std::int64_t y = 0; y < c.out_height(); ++y) {
    for (std::int64_t x = 0; x < c.out_width(); ++x) {
      for (int i = 0; i < c.kernel; ++i) {
        for (int j = 0; j < c.kernel; ++j) {
          const std::int64_t r = y * c.stride + i - c.padding;
          const std::int64_t s = x * c.stride + j - c.padding;
          const bool inside = r >= 0 && r < c.height && s >= 0 && s < c.width;
          for (std::int64_t channel = 0; channel < c.in; ++channel) {
            rows.push_back(inside ? image[(r * c.width + s) * c.in + channel] : 0.0F);
          }
        }
      }
    }
  }
  return rows;
}

class Convolving : public KernelSets {};

TEST_P(Convolving, IsTheProductOfEveryWindow) {
  Random random(1);
  int turn = 0;
  for (const Case& c : kCases) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Activation activation = std::array{Activation::none, Activation::relu, Activation::add_to_target}[turn % 3];
      SCOPED_TRACE(message(c.height, "x", c.width, "x", c.in, " to ", c.out, ", kernel ", c.kernel, " stride ",
                           c.stride, " ", name_of(dtype)));
      TestTensor x(DType::f32, {c.height, c.width, c.in});
      x.fill(random);
      const std::int64_t columns = c.in * c.kernel * c.kernel;
      const std::vector<float> weights = random_values(random, c.out * columns);
      const std::vector<float> bias = turn % 2 == 0 ? random_values(random, c.out) : std::vector<float>();
      TestTensor y(DType::f32, {c.out_height(), c.out_width(), c.out});
      y.fill(random);
      const std::vector<float> before = y.values();
      backend.convolve(x,
                       {.product = make_linear(backend, weights, bias, c.out, columns, dtype),
                        .kernel = c.kernel,
                        .stride = c.stride,
                        .padding = c.padding},
                       activation, y);
      const Sums sums =
          product_reference(windows(x, c), weights, bias, c.out_height() * c.out_width(), columns, c.out, dtype);
      expect_activated(y, sums, activation, before, "convolve");
      ++turn;
    }
  }
}

TEST_P(Convolving, GivesTheSameBitsForAnyNumberOfThreads) {
  Random random(2);
  TestTensor x(DType::f32, {23, 31, 20});
  x.fill(random);
  const std::vector<float> weights = random_values(random, 36 * 180);
  TestTensor first(DType::f32, {23, 31, 36});
  for (const int threads : {1, 2, 3, 5}) {
    CpuBackend other(threads, &kernels());
    TestTensor y(DType::f32, {23, 31, 36});
    other.convolve(x, {.product = make_linear(other, weights, {}, 36, 180, DType::f32), .kernel = 3, .padding = 1},
                   Activation::relu, threads == 1 ? first : y);
    if (threads > 1) {
      EXPECT_TRUE(same_bits(first, y)) << threads;
    }
  }
}

TEST_P(Convolving, RefusesWhatDoesNotFit) {
  const TestTensor x(DType::f32, {5, 6, 2});
  const TestTensor y(DType::f32, {5, 6, 3});
  const TestTensor y_bf16(DType::bf16, {5, 6, 3});
  const TestTensor x_bf16(DType::bf16, {5, 6, 2});
  const Convolution right{.product = make_linear(backend, std::vector<float>(54), {}, 3, 18, DType::f32),
                          .kernel = 3,
                          .stride = 1,
                          .padding = 1};
  const auto refuses = [&](const Tensor& from, Convolution with, const Tensor& to, const char* text) {
    expect_error(
        ErrorCode::internal, [&] { backend.convolve(from, with, Activation::none, to); }, HasSubstr(text));
  };
  Convolution unpadded = right;
  unpadded.padding = 0;
  Convolution strided = right;
  strided.stride = 2;
  Convolution still = right;
  still.stride = 0;
  refuses(x, unpadded, y, "convolve of [5, 6, 2] by [3, 18] into [5, 6, 3]");
  refuses(x, strided, y, "convolve of");
  refuses(x, still, y, "convolve of");
  refuses(y, right, x, "convolve of");
  refuses(x_bf16, right, y, "bf16");
  refuses(x, right, y_bf16, "bf16");
  const TestTensor tiny(DType::f32, {2, 2, 2});
  refuses(tiny, {.product = right.product, .kernel = 3, .stride = 2}, TestTensor(DType::f32, {1, 1, 3}), "convolve of");
}

class Embedding : public KernelSets {};

TEST_P(Embedding, ProjectsNormalisedPatchesAndAddsPositions) {
  constexpr double kMean[] = {0.485, 0.456, 0.406};
  constexpr double kDeviation[] = {0.229, 0.224, 0.225};
  struct Size {
    std::int64_t frames;
    std::int64_t rows;
    std::int64_t columns;
    int patch;
    std::int64_t width;
    std::int64_t first;
  };
  for (const Size& s : {Size{1, 1, 1, 14, 9, 0}, Size{2, 3, 5, 14, 33, 6}, Size{3, 2, 2, 4, 48, 1}}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(message(s.rows, "x", s.columns, " patches of ", s.patch, " ", name_of(dtype)));
      Random random(7);
      const std::int64_t height = s.rows * s.patch;
      const std::int64_t width = s.columns * s.patch;
      const std::int64_t patches = s.rows * s.columns;
      const std::int64_t in = std::int64_t{s.patch} * s.patch * 3;
      std::vector<std::uint8_t> pixels(static_cast<std::size_t>(s.frames * height * width * 3));
      for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random.integer(0, 255));
      const std::vector<float> weights = random_values(random, s.width * in);
      const std::vector<float> bias = random_values(random, s.width);
      TestTensor positions(DType::f32, {patches, s.width});
      positions.fill(random);
      const std::int64_t tokens = s.first + patches + 1;
      TestTensor x(DType::f32, {s.frames, tokens, s.width});
      x.fill(42.0F);
      backend.embed_patches(Tensor(pixels.data(), DType::u8, {s.frames, height, width, 3}), s.patch,
                            make_linear(backend, weights, bias, s.width, in, dtype), positions, s.first, x);
      for (std::int64_t frame = 0; frame < s.frames; ++frame) {
        std::vector<float> rows;
        for (std::int64_t n = 0; n < patches; ++n) {
          for (std::int64_t e = 0; e < in; ++e) {
            const std::int64_t r = n / s.columns * s.patch + e / 3 / s.patch;
            const std::int64_t c = n % s.columns * s.patch + e / 3 % s.patch;
            const auto channel = static_cast<std::size_t>(e % 3);
            const double value = pixels[static_cast<std::size_t>(((frame * height + r) * width + c) * 3 + e % 3)];
            rows.push_back(static_cast<float>((value / 255 - kMean[channel]) / kDeviation[channel]));
          }
        }
        Sums sums = product_reference(rows, weights, bias, patches, in, s.width, dtype);
        std::vector<float> got;
        for (std::int64_t i = 0; i < patches * s.width; ++i) {
          const auto at = static_cast<std::size_t>(i);
          sums.values[at] += positions[i];
          // Pixels are normalised in float32 here; one on the edge may round to the other bf16 neighbour.
          sums.tolerances[at] += dtype == DType::bf16 ? kUnitBf16 : static_cast<double>(in) * 4 * kUnit;
          got.push_back(x[(frame * tokens + s.first) * s.width + i]);
        }
        expect_close(
            got, sums.values, [&](std::int64_t i) { return sums.tolerances[static_cast<std::size_t>(i)]; },
            "embed_patches");
        for (std::int64_t i = 0; i < tokens * s.width; ++i) {
          const std::int64_t token = i / s.width;
          if (token < s.first || token >= s.first + patches) {
            ASSERT_EQ(x[frame * tokens * s.width + i], 42.0F) << "token " << token << " is not a patch";
          }
        }
      }
    }
  }
}

TEST_P(Embedding, RefusesWhatDoesNotFit) {
  std::vector<std::uint8_t> pixels(1 * 28 * 42 * 3);
  const Tensor images(pixels.data(), DType::u8, {1, 28, 42, 3});
  const TestTensor positions(DType::f32, {6, 8});
  const Linear projection = make_linear(backend, std::vector<float>(8 * 588), {}, 8, 588, DType::f32);
  const auto refuses = [&](const Tensor& from, int patch, const Linear& with, const Tensor& place, std::int64_t first,
                           const Tensor& to) {
    expect_error(
        ErrorCode::internal, [&] { backend.embed_patches(from, patch, with, place, first, to); },
        HasSubstr("embed_patches of [1, 28, 42, 3] into"));
  };
  const TestTensor x(DType::f32, {1, 7, 8});
  backend.embed_patches(images, 14, projection, positions, 1, x);
  refuses(images, 14, projection, positions, 2, x);
  refuses(images, 14, projection, positions, -1, x);
  refuses(images, 14, projection, TestTensor(DType::f32, {5, 8}), 1, x);
  refuses(images, 14, projection, positions, 1, TestTensor(DType::f32, {2, 7, 8}));
  refuses(images, 14, projection, TestTensor(DType::f32, {6, 9}), 1, TestTensor(DType::f32, {1, 7, 9}));
  refuses(images, 14, make_linear(backend, std::vector<float>(8 * 587), {}, 8, 587, DType::f32), positions, 1, x);
  refuses(images, 13, projection, positions, 1, x);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Convolving, testing::ValuesIn(every_kernel_set()), kernel_set_name);
INSTANTIATE_TEST_SUITE_P(Kernels, Embedding, testing::ValuesIn(every_kernel_set()), kernel_set_name);

}  // namespace
}  // namespace lingbot_map::test
