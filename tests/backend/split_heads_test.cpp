#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "backend/kernel_sets.hpp"
#include "backend/reference.hpp"
#include "expect_error.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

enum class Turning { none, half_split, interleaved };

struct Case {
  const char* name;
  std::int64_t frames;
  std::int64_t tokens;
  std::int64_t specials;
  int heads;
  int head_dim;
  bool normalised;
  Turning turning;
  std::int64_t temporal_pairs;
  bool one_spatial_row = false;
};
const Case kCases[] = {
    {"encoder", 2, 9, 0, 2, 64, false, Turning::none, 0},
    {"frame block", 3, 11, 0, 2, 64, true, Turning::half_split, 0},
    {"global block", 3, 13, 6, 2, 64, true, Turning::interleaved, 10},
    {"global block of one frame", 1, 40, 6, 3, 64, true, Turning::interleaved, 10},
    {"camera block", 1, 5, 0, 2, 128, false, Turning::interleaved, 0},
    {"one row for every token", 2, 7, 6, 1, 32, true, Turning::half_split, 0, true},
    {"angles of the frame alone", 4, 3, 1, 2, 32, true, Turning::interleaved, 16},
    {"temporal and half-split", 2, 8, 2, 1, 96, true, Turning::half_split, 16},
    {"special tokens alone", 2, 6, 6, 1, 64, true, Turning::interleaved, 10},
    {"narrow heads", 2, 4, 0, 3, 10, true, Turning::interleaved, 2},
    {"norm alone", 1, 33, 0, 1, 40, true, Turning::none, 0},
};

struct Heads {
  std::vector<double> values;
  std::vector<double> tolerances;
};

/// Angles, norms and the reference of one case.
class Example {
 public:
  explicit Example(const Case& c)
      : c_(c),
        qkv(DType::f32, {c.frames * c.tokens, 3 * width()}, 8),
        temporal(DType::f32, {c.frames, std::max<std::int64_t>(c.temporal_pairs, 1), 2}),
        spatial(DType::f32, {c.one_spatial_row ? 1 : c.tokens, std::max<std::int64_t>(spatial_pairs(), 1), 2}) {
    Random random(static_cast<std::uint32_t>(c.tokens * 100 + c.head_dim));
    qkv.fill(random, -2, 2);
    for (Norms* norms : {&q, &k}) {
      norms->weight = random_values(random, c.head_dim);
      norms->bias = random_values(random, c.head_dim);
      norms->norm = {.weight = buffer_of(norms->weight), .bias = buffer_of(norms->bias), .epsilon = 1e-5F};
    }
    for (TestTensor* angles : {&temporal, &spatial}) {
      for (std::int64_t pair = 0; pair < angles->elements() / 2; ++pair) {
        const double angle = random(-3, 3);
        angles->set(2 * pair, static_cast<float>(std::cos(angle)));
        angles->set(2 * pair + 1, static_cast<float>(std::sin(angle)));
      }
    }
  }

  [[nodiscard]] std::int64_t width() const { return std::int64_t{c_.heads} * c_.head_dim; }
  [[nodiscard]] std::int64_t spatial_pairs() const {
    return c_.turning == Turning::none ? 0 : c_.head_dim / 2 - c_.temporal_pairs;
  }
  [[nodiscard]] HeadSplit split() const {
    HeadSplit split;
    split.heads = c_.heads;
    split.head_dim = c_.head_dim;
    if (c_.normalised) {
      split.q_norm = &q.norm;
      split.k_norm = &k.norm;
    }
    if (c_.temporal_pairs > 0) split.rotary.temporal = temporal;
    if (spatial_pairs() > 0) split.rotary.spatial = spatial;
    split.rotary.interleaved = c_.turning == Turning::interleaved;
    return split;
  }

  /// Part 0, 1 or 2 (q, k, v) of a row, as it should be stored.
  [[nodiscard]] Heads expected(std::int64_t row, int part, DType dtype) const {
    Heads result;
    for (int head = 0; head < c_.heads; ++head) {
      std::vector<double> x;
      for (int i = 0; i < c_.head_dim; ++i)
        x.push_back(qkv[row * 3 * width() + part * width() + head * c_.head_dim + i]);
      std::vector<double> tolerance(x.size(), 0);
      if (part < 2 && c_.normalised) normalise(x, tolerance, part == 0 ? q : k);
      if (part < 2 && c_.turning != Turning::none) turn(x, tolerance, row / c_.tokens, row % c_.tokens);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (dtype == DType::bf16) tolerance[i] += kUnitBf16 * std::abs(x[i]);
        result.values.push_back(x[i]);
        result.tolerances.push_back(tolerance[i]);
      }
    }
    return result;
  }

  Case c_;
  TestTensor qkv;
  TestTensor temporal;
  TestTensor spatial;
  struct Norms {
    std::vector<float> weight;
    std::vector<float> bias;
    Norm norm;
  };
  Norms q;
  Norms k;

 private:
  static void normalise(std::vector<double>& x, std::vector<double>& tolerance, const Norms& norms) {
    const auto n = static_cast<double>(x.size());
    double mean = 0;
    for (const double value : x) mean += value / n;
    double variance = 0;
    for (const double value : x) variance += (value - mean) * (value - mean) / n;
    const double inverse = 1 / std::sqrt(variance + 1e-5);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = (x[i] - mean) * inverse * norms.weight[i] + norms.bias[i];
      // |x| is at most 2: what a sum of them is off by, over the deviation.
      tolerance[i] = rounding_of_sum(static_cast<std::int64_t>(n)) * (2 * inverse + std::abs(x[i]) + 1);
    }
  }

  void turn(std::vector<double>& x, std::vector<double>& tolerance, std::int64_t frame, std::int64_t token) const {
    const std::vector<double> before = x;
    const std::vector<double> error = tolerance;
    for (std::int64_t j = 0; j < c_.head_dim / 2; ++j) {
      const bool of_frame = j < c_.temporal_pairs;
      const TestTensor& table = of_frame ? temporal : spatial;
      const std::int64_t pairs = of_frame ? c_.temporal_pairs : spatial_pairs();
      const std::int64_t row = of_frame ? frame : c_.one_spatial_row ? 0 : token;
      const std::int64_t place = 2 * (row * pairs + j - (of_frame ? 0 : c_.temporal_pairs));
      const double c = table[place];
      const double s = table[place + 1];
      const bool adjacent = c_.turning == Turning::interleaved;
      const auto first = static_cast<std::size_t>(adjacent ? 2 * j : j / 16 * 32 + j % 16);
      const std::size_t second = first + (adjacent ? 1 : 16);
      x[first] = before[first] * c - before[second] * s;
      x[second] = before[first] * s + before[second] * c;
      const double most = std::abs(before[first]) + std::abs(before[second]);
      tolerance[first] = tolerance[second] = error[first] + error[second] + 2 * kUnit * most;
    }
  }
};

/// Places [frames, 2] as split_heads() reads them.
Tensor view_of(std::vector<std::int64_t>& places) {
  return {places.data(), DType::i64, {static_cast<std::int64_t>(places.size()) / 2, 2}};
}

class Splitting : public KernelSets {};

TEST_P(Splitting, NormalisesTurnsAndSendsEveryTokenToItsPlace) {
  for (const Case& c : kCases) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(message(c.name, " ", name_of(dtype)));
      const Example example(c);
      const std::int64_t width = example.width();
      const std::int64_t patches = c.tokens - c.specials;
      const TestTensor q(dtype, {c.frames * c.tokens, width}, 4);
      // One plane for keys and one for values: frames lie backwards, with rows between them that nobody may touch.
      const std::int64_t frame_rows = c.tokens + 3;
      const std::int64_t plane_rows = c.frames * frame_rows;
      TestTensor keys(dtype, {plane_rows, width}, 6);
      TestTensor values(dtype, {plane_rows, width}, 2);
      keys.fill(42.0F);
      values.fill(42.0F);
      const auto patch_row = [&](std::int64_t frame) { return (c.frames - 1 - frame) * frame_rows; };
      const auto special_row = [&](std::int64_t frame) { return patch_row(frame) + patches + 2; };
      std::vector<std::int64_t> places;
      for (std::int64_t frame = 0; frame < c.frames; ++frame) {
        places.insert(places.end(), {patch_row(frame), special_row(frame)});
      }
      backend.split_heads(example.qkv, c.frames, example.split(), q,
                          {.keys = keys, .values = values, .places = view_of(places), .specials = c.specials});

      std::vector<bool> written(static_cast<std::size_t>(plane_rows));
      const auto compare = [&](const TestTensor& tensor, std::int64_t place, std::int64_t row, int part) {
        const Heads expected = example.expected(row, part, dtype);
        std::vector<float> got;
        for (std::int64_t i = 0; i < width; ++i) got.push_back(tensor[place * width + i]);
        expect_close(
            got, expected.values, [&](std::int64_t i) { return expected.tolerances[static_cast<std::size_t>(i)]; },
            message("row ", row, " part ", part));
      };
      for (std::int64_t row = 0; row < c.frames * c.tokens; ++row) {
        const std::int64_t frame = row / c.tokens;
        const std::int64_t token = row % c.tokens;
        const std::int64_t place =
            token < c.specials ? special_row(frame) + token : patch_row(frame) + token - c.specials;
        written[static_cast<std::size_t>(place)] = true;
        compare(q, row, row, 0);
        compare(keys, place, row, 1);
        compare(values, place, row, 2);
      }
      for (std::int64_t i = 0; i < plane_rows * width; ++i) {
        if (written[static_cast<std::size_t>(i / width)]) continue;
        ASSERT_EQ(keys[i], 42.0F) << "row " << i / width << " is no token's";
        ASSERT_EQ(values[i], 42.0F) << "row " << i / width << " is no token's";
      }
      EXPECT_TRUE(q.intact() && keys.intact() && values.intact());
    }
  }
}

TEST_P(Splitting, GivesTheSameBitsForAnyNumberOfThreads) {
  const Example example({"", 3, 50, 6, 2, 64, true, Turning::interleaved, 10});
  std::optional<TestTensor> first;
  for (const int threads : {1, 2, 3, 5}) {
    CpuBackend other(threads, &kernels());
    TestTensor all(DType::bf16, {3 * 150, 128});
    std::vector<std::int64_t> places = {6, 0, 56, 50, 106, 100};
    other.split_heads(example.qkv, 3, example.split(), all.view().rows(0, 150),
                      {.keys = all.view().rows(150, 150),
                       .values = all.view().rows(300, 150),
                       .places = view_of(places),
                       .specials = 6});
    if (!first) first = all;
    EXPECT_TRUE(same_bits(*first, all)) << threads;
  }
}

TEST_P(Splitting, RefusesWhatDoesNotFit) {
  const Example example({"", 2, 10, 6, 2, 64, true, Turning::interleaved, 10});
  const TestTensor q(DType::f32, {20, 128});
  const TestTensor plane(DType::f32, {16, 128});
  std::vector<std::int64_t> places = {6, 0, 12, 10};
  const KeyValueTarget right{.keys = plane, .values = plane, .places = view_of(places), .specials = 6};
  const auto refuses = [&](const HeadSplit& split, const Tensor& to, std::int64_t frames, const KeyValueTarget& target,
                           const char* text) {
    expect_error(
        ErrorCode::internal, [&] { backend.split_heads(example.qkv, frames, split, to, target); }, HasSubstr(text));
  };
  const HeadSplit split = example.split();
  backend.split_heads(example.qkv, 2, split, q, right);
  refuses(split, q, 0, right, "split_heads of [20, 384] into [20, 128], 0 frames");
  refuses(split, q, 3, right, "3 frames");
  refuses(split, q.view().rows(0, 19), 2, right, "into [19, 128]");
  KeyValueTarget wrong = right;
  wrong.values = plane.view().rows(0, 15);
  refuses(split, q, 2, wrong, "frame 1 at rows 12 and 10 of 15");
  wrong = right;
  wrong.keys = plane.view().columns(0, 64);
  refuses(split, q, 2, wrong, "target of 6 + 4 tokens");
  wrong = right;
  wrong.places = view_of(places).rows(0, 1);
  refuses(split, q, 2, wrong, "target of 6 + 4 tokens");
  wrong = right;
  wrong.specials = 11;
  refuses(split, q, 2, wrong, "target of 11 + -1 tokens");
  wrong = right;
  wrong.places = Tensor();
  refuses(split, q, 2, wrong, "target of 6 + 4 tokens");
  wrong.specials = 0;
  refuses(split, q, 2, wrong, "frame 1 at rows 10 and 0 of 16");
  std::vector<std::int64_t> before = {6, 0, -1, 10};
  wrong = right;
  wrong.places = view_of(before);
  refuses(split, q, 2, wrong, "frame 1 at rows -1 and 10 of 16");
  HeadSplit other = split;
  other.rotary.temporal = split.rotary.temporal.rows(0, 1);
  refuses(other, q, 2, right, "rotary");
  other = split;
  other.rotary.spatial = split.rotary.spatial.rows(0, 9);
  refuses(other, q, 2, right, "rotary");
  other = split;
  other.rotary.spatial = Tensor();
  refuses(other, q, 2, right, "rotary pairs 10 + 0 for heads of 64");
  other = split;
  other.heads = 3;
  refuses(other, q, 2, right, "split_heads of");
  const Norm narrow{.weight = buffer_of(std::vector<float>(32)), .bias = buffer_of(std::vector<float>(32))};
  other = split;
  other.q_norm = &narrow;
  refuses(other, q, 2, right, "norm of width 32");

  const Example half({"", 1, 4, 0, 1, 48, true, Turning::half_split, 0});
  const TestTensor out(DType::f32, {4, 48});
  const KeyValueTarget target{.keys = out, .values = out};
  expect_error(
      ErrorCode::internal, [&] { backend.split_heads(half.qkv, 1, half.split(), out, target); },
      HasSubstr("halves of 32"));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Splitting, testing::ValuesIn(every_kernel_set()), kernel_set_name);

}  // namespace
}  // namespace lingbot_map::test
