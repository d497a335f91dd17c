#include "media/resize.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/message.hpp"

namespace lingbot_map {

namespace {

constexpr int kFractionBits = 22;  // of an integer weight: 8 bits of sample and 2 of headroom remain
constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

/// For every output position, which inputs it is a weighted sum of.
struct Weights {
  struct Range {
    int first = 0;  ///< input position
    int count = 0;
    std::size_t at = 0;  ///< where its weights begin in `values`
  };
  std::vector<Range> ranges;
  std::vector<std::int32_t> values;  ///< in units of 2^-kFractionBits
};

/// Keys' cubic with a = -0.5.
double cubic(double x) noexcept {
  x = std::abs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return 0;
}

/// Weights of output positions [first, first + count) out of `out`, over `in` inputs. Shrinking widens the cubic, so
/// that every input counts.
Weights make_weights(int in, int out, int first, int count) {
  const double scale = static_cast<double>(in) / out;
  const double stretch = std::max(scale, 1.0);
  const double support = 2 * stretch;
  Weights weights;
  weights.ranges.reserve(static_cast<std::size_t>(count));
  std::vector<double> exact;
  for (int o = first; o < first + count; ++o) {
    const double centre = (o + 0.5) * scale;
    const int begin = std::max(static_cast<int>(std::floor(centre - support + 0.5)), 0);
    const int end = std::min(static_cast<int>(std::floor(centre + support + 0.5)), in);
    exact.clear();
    double sum = 0;
    for (int i = begin; i < end; ++i) {
      exact.push_back(cubic((i - centre + 0.5) * (1 / stretch)));
      sum += exact.back();
    }
    weights.ranges.push_back({begin, end - begin, weights.values.size()});
    for (const double value : exact) {
      weights.values.push_back(static_cast<std::int32_t>(std::round(value / sum * (1 << kFractionBits))));
    }
  }
  return weights;
}

std::uint8_t to_sample(std::int32_t sum) noexcept {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

// Both passes add `lanes` neighbouring samples at once, all with the same weight: a loop that compilers vectorise.
template <std::size_t kLanes>
[[gnu::always_inline]] inline void weighted_sum(const std::uint8_t* in, std::size_t in_step,
                                                const std::int32_t* weights, int count, std::uint8_t* out) noexcept {
  std::array<std::int32_t, kLanes> sums{};
  sums.fill(kHalf);
  for (int i = 0; i < count; ++i, in += in_step) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += weights[i] * in[lane];
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) out[lane] = to_sample(sums[lane]);
}

constexpr std::size_t kRows = 16;          // rows that the horizontal pass resizes together
constexpr std::size_t kBlock = kRows * 3;  // one column of them, [3, kRows]
constexpr std::size_t kColumns = 64;       // samples that the vertical pass adds together

/// Up to kRows rows of `width` pixels as columns of blocks, so that neighbouring samples have the same weight.
void interleave(const std::uint8_t* in, std::size_t width, std::size_t rows, std::uint8_t* blocks) noexcept {
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint8_t* pixel = in + row * width * 3;
    std::uint8_t* block = blocks + row;
    for (std::size_t x = 0; x < width; ++x, pixel += 3, block += kBlock) {
      for (std::size_t c = 0; c < 3; ++c) block[c * kRows] = pixel[c];
    }
  }
}

[[gnu::always_inline]] inline void resize_rows(const std::uint8_t* in, std::size_t in_width, std::size_t rows,
                                               const Weights& weights, std::uint8_t* out) {
  const std::size_t out_width = weights.ranges.size();
  std::vector<std::uint8_t> blocks(in_width * kBlock);
  std::array<std::uint8_t, kBlock> sums{};
  for (std::size_t first = 0; first < rows; first += kRows) {
    const std::size_t some = std::min(kRows, rows - first);
    interleave(in + first * in_width * 3, in_width, some, blocks.data());
    for (std::size_t x = 0; x < out_width; ++x) {
      const Weights::Range range = weights.ranges[x];
      weighted_sum<kBlock>(&blocks[static_cast<std::size_t>(range.first) * kBlock], kBlock, &weights.values[range.at],
                           range.count, sums.data());
      for (std::size_t row = 0; row < some; ++row) {
        for (std::size_t c = 0; c < 3; ++c) out[((first + row) * out_width + x) * 3 + c] = sums[c * kRows + row];
      }
    }
  }
}

[[gnu::always_inline]] inline void resize_columns(const std::uint8_t* in, std::size_t row_bytes, const Weights& weights,
                                                  std::uint8_t* out) noexcept {
  for (const Weights::Range& range : weights.ranges) {
    const std::uint8_t* rows = in + static_cast<std::size_t>(range.first) * row_bytes;
    const std::int32_t* values = &weights.values[range.at];
    std::size_t x = 0;
    for (; x + kColumns <= row_bytes; x += kColumns) {
      weighted_sum<kColumns>(rows + x, row_bytes, values, range.count, out + x);
    }
    for (; x < row_bytes; ++x) weighted_sum<1>(rows + x, row_bytes, values, range.count, out + x);
    out += row_bytes;
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void resize_rows_avx2(const std::uint8_t* in, std::size_t in_width, std::size_t rows,
                                              const Weights& weights, std::uint8_t* out) {
  resize_rows(in, in_width, rows, weights, out);
}
[[gnu::target("avx2")]] void resize_columns_avx2(const std::uint8_t* in, std::size_t row_bytes, const Weights& weights,
                                                 std::uint8_t* out) {
  resize_columns(in, row_bytes, weights, out);
}
bool has_avx2() noexcept { return __builtin_cpu_supports("avx2") != 0; }
#else
constexpr auto resize_rows_avx2 = resize_rows;
constexpr auto resize_columns_avx2 = resize_columns;
bool has_avx2() noexcept { return false; }
#endif

}  // namespace

Image resize_bicubic(const Image& image, int width, int height, int first_row, int rows) {
  check(image.width > 0 && image.height > 0 && width > 0 && rows > 0 && first_row >= 0 && first_row <= height - rows,
        "rows ", first_row, " to ", first_row + rows, " of ", width, " x ", height);
  // Only the input rows that the wanted rows see take part.
  const bool change_height = height != image.height;
  Weights vertical;
  int begin = first_row;
  int end = first_row + rows;
  if (change_height) {
    vertical = make_weights(image.height, height, first_row, rows);
    begin = vertical.ranges.front().first;
    end = vertical.ranges.back().first + vertical.ranges.back().count;
    for (Weights::Range& range : vertical.ranges) range.first -= begin;
  }
  const auto in_width = static_cast<std::size_t>(image.width);
  const auto seen = static_cast<std::size_t>(end - begin);
  Image wide(width, end - begin);
  const std::uint8_t* first = image.pixels.data() + static_cast<std::size_t>(begin) * in_width * 3;
  if (width == image.width) {
    std::copy_n(first, wide.pixels.size(), wide.pixels.data());
  } else {
    const Weights horizontal = make_weights(image.width, width, 0, width);
    (has_avx2() ? resize_rows_avx2 : resize_rows)(first, in_width, seen, horizontal, wide.pixels.data());
  }
  if (!change_height) return wide;

  Image resized(width, rows);
  const auto row_bytes = static_cast<std::size_t>(width) * 3;
  (has_avx2() ? resize_columns_avx2 : resize_columns)(wide.pixels.data(), row_bytes, vertical, resized.pixels.data());
  return resized;
}

Image resize_bicubic(const Image& image, int width, int height) {
  return resize_bicubic(image, width, height, 0, height);
}

}  // namespace lingbot_map
