#include <optional>

#include "backend/gpu.hpp"
#include "backend/split_heads_example.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

/// A HeadExample on a GPU.
class GpuHeads {
 public:
  GpuHeads(Backend& gpu, const HeadExample& example)
      : qkv(gpu, example.qkv),
        temporal_(gpu, example.temporal),
        spatial_(gpu, example.spatial),
        q_norm_(norm_on(gpu, example.q.weight, example.q.bias, example.q.norm.epsilon)),
        k_norm_(norm_on(gpu, example.k.weight, example.k.bias, example.k.norm.epsilon)),
        split_(example.split()) {
    if (split_.q_norm != nullptr) split_.q_norm = &q_norm_;
    if (split_.k_norm != nullptr) split_.k_norm = &k_norm_;
    if (!split_.rotary.temporal.empty()) split_.rotary.temporal = temporal_;
    if (!split_.rotary.spatial.empty()) split_.rotary.spatial = spatial_;
  }
  GpuHeads(const GpuHeads&) = delete;
  GpuHeads& operator=(const GpuHeads&) = delete;

  [[nodiscard]] HeadSplit split() const { return split_; }
  OnGpu qkv;

 private:
  OnGpu temporal_;
  OnGpu spatial_;
  Norm q_norm_;
  Norm k_norm_;
  HeadSplit split_;
};

class CudaSplitHeads : public Gpu {
 protected:
  /// Expects row `row` of a part at row `place` of `tensor`.
  static void expect_part(const TestTensor& tensor, std::int64_t place, const HeadExample& example, std::int64_t row,
                          int part) {
    const std::int64_t width = example.width();
    const Sums expected = example.expected(row, part, tensor.view().dtype());
    std::vector<float> got;
    for (std::int64_t i = 0; i < width; ++i) got.push_back(tensor[place * width + i]);
    expect_close(
        got, expected.values, [&](std::int64_t i) { return expected.tolerances[static_cast<std::size_t>(i)]; },
        message("row ", row, " part ", part));
  }

  /// One plane for keys and one for values: frames lie backwards, with rows between them that nobody may touch.
  static void compare(const HeadCase& c, DType dtype, std::int64_t gap) {
    SCOPED_TRACE(message(c.name, " ", name_of(dtype), ", gap ", gap));
    const HeadExample example(c);
    const GpuHeads on_gpu(gpu(), example);
    const std::int64_t width = example.width();
    const std::int64_t patches = c.tokens - c.specials;
    const std::int64_t frame_rows = c.tokens + 3;
    const std::int64_t plane_rows = c.frames * frame_rows;
    const TestTensor q(dtype, {c.frames * c.tokens, width}, gap);
    TestTensor keys(dtype, {plane_rows, width}, gap);
    TestTensor values(dtype, {plane_rows, width}, gap);
    keys.fill(42.0F);
    values.fill(42.0F);
    const auto patch_row = [&](std::int64_t frame) { return (c.frames - 1 - frame) * frame_rows; };
    const auto special_row = [&](std::int64_t frame) { return patch_row(frame) + patches + 2; };
    std::vector<std::int64_t> places;
    for (std::int64_t frame = 0; frame < c.frames; ++frame) {
      places.insert(places.end(), {patch_row(frame), special_row(frame)});
    }
    const Buffer places_on_gpu = buffer_on(gpu(), places);
    run_on_gpu(
        gpu(),
        [&](const Tensor& to_q, const Tensor& to_keys, const Tensor& to_values) {
          gpu().split_heads(on_gpu.qkv, c.frames, on_gpu.split(), to_q,
                            {.keys = to_keys,
                             .values = to_values,
                             .places = places_on_gpu.view(DType::i64, {c.frames, 2}),
                             .specials = c.specials});
        },
        q, keys, values);

    std::vector<bool> written(static_cast<std::size_t>(plane_rows));
    for (std::int64_t row = 0; row < c.frames * c.tokens; ++row) {
      const std::int64_t frame = row / c.tokens;
      const std::int64_t token = row % c.tokens;
      const std::int64_t place =
          token < c.specials ? special_row(frame) + token : patch_row(frame) + token - c.specials;
      written[static_cast<std::size_t>(place)] = true;
      expect_part(q, row, example, row, 0);
      expect_part(keys, place, example, row, 1);
      expect_part(values, place, example, row, 2);
    }
    for (std::int64_t i = 0; i < plane_rows * width; ++i) {
      if (written[static_cast<std::size_t>(i / width)]) continue;
      ASSERT_EQ(keys[i], 42.0F) << "row " << i / width << " is no token's";
      ASSERT_EQ(values[i], 42.0F) << "row " << i / width << " is no token's";
    }
    EXPECT_TRUE(q.intact() && keys.intact() && values.intact());
  }
};

TEST_F(CudaSplitHeads, NormalisesTurnsAndSendsEveryTokenToItsPlace) {
  for (const HeadCase& c : kHeadCases) {
    for (const DType dtype : types()) {
      compare(c, dtype, 0);
      compare(c, dtype, 5);
    }
  }
  compare({"widest heads", 2, 5, 2, 2, 256, true, Turning::interleaved, 10}, DType::f32, 2);
  compare({"wide heads", 1, 9, 0, 3, 192, true, Turning::half_split, 32}, DType::f32, 0);
}

TEST_F(CudaSplitHeads, WithoutPlacesFramesFollowEachOther) {
  for (const DType dtype : types()) {
    const HeadExample example({"", 3, 11, 0, 2, 64, true, Turning::half_split, 0});
    const GpuHeads on_gpu(gpu(), example);
    const TestTensor q(dtype, {33, 128});
    TestTensor keys(dtype, {35, 128}, 2);
    TestTensor values(dtype, {33, 128}, 4);
    keys.fill(42.0F);
    run_on_gpu(
        gpu(),
        [&](const Tensor& to_q, const Tensor& to_keys, const Tensor& to_values) {
          gpu().split_heads(on_gpu.qkv, 3, on_gpu.split(), to_q, {.keys = to_keys, .values = to_values});
        },
        q, keys, values);
    for (std::int64_t row = 0; row < 33; ++row) {
      expect_part(q, row, example, row, 0);
      expect_part(keys, row, example, row, 1);
      expect_part(values, row, example, row, 2);
    }
    for (std::int64_t i = 33 * 128; i < 35 * 128; ++i) ASSERT_EQ(keys[i], 42.0F);
    EXPECT_TRUE(q.intact() && keys.intact() && values.intact());
  }
}

TEST_F(CudaSplitHeads, OfTheNetworkGoesIntoTheCache) {
  constexpr std::int64_t kTokens = 1005;
  const HeadExample example({"", 2, kTokens, 6, 16, 64, true, Turning::interleaved, 10});
  const GpuHeads on_gpu(gpu(), example);
  const Buffer places = buffer_on(gpu(), std::vector<std::int64_t>{999, 1998, 0, 2004});
  for (const DType dtype : types()) {
    const TestTensor q(dtype, {2 * kTokens, 1024});
    const TestTensor keys(dtype, {2 * kTokens, 1024});
    const TestTensor values(dtype, {2 * kTokens, 1024});
    run_on_gpu(
        gpu(),
        [&](const Tensor& to_q, const Tensor& to_keys, const Tensor& to_values) {
          gpu().split_heads(
              on_gpu.qkv, 2, on_gpu.split(), to_q,
              {.keys = to_keys, .values = to_values, .places = places.view(DType::i64, {2, 2}), .specials = 6});
        },
        q, keys, values);
    for (std::int64_t row = 0; row < 2 * kTokens; row += 37) {
      const std::int64_t frame = row / kTokens;
      const std::int64_t token = row % kTokens;
      const std::int64_t place = token < 6 ? 1998 + 6 * frame + token : 999 * (1 - frame) + token - 6;
      expect_part(q, row, example, row, 0);
      expect_part(keys, place, example, row, 1);
      expect_part(values, place, example, row, 2);
    }
    EXPECT_TRUE(q.intact() && keys.intact() && values.intact());
  }
}

// Each of q and k may have a norm or none, and an epsilon of its own.
TEST_F(CudaSplitHeads, TreatsQAndKByTheirOwnNorms) {
  HeadExample example({"", 1, 9, 0, 2, 64, true, Turning::none, 0});
  example.k.norm.epsilon = 0.5F;
  const GpuHeads on_gpu(gpu(), example);
  for (const auto& [q_has, k_has] : {std::pair{true, true}, std::pair{true, false}, std::pair{false, true}}) {
    HeadSplit here = on_gpu.split();
    HeadSplit there = example.split();
    if (!q_has) here.q_norm = there.q_norm = nullptr;
    if (!k_has) here.k_norm = there.k_norm = nullptr;
    const TestTensor q(DType::f32, {9, 128});
    const TestTensor keys(DType::f32, {9, 128});
    const TestTensor values(DType::f32, {9, 128});
    run_on_gpu(
        gpu(),
        [&](const Tensor& to_q, const Tensor& to_keys, const Tensor& to_values) {
          gpu().split_heads(on_gpu.qkv, 1, here, to_q, {.keys = to_keys, .values = to_values});
        },
        q, keys, values);
    const TestTensor q_expected(DType::f32, {9, 128});
    const TestTensor k_expected(DType::f32, {9, 128});
    cpu.split_heads(example.qkv, 1, there, q_expected, {.keys = k_expected, .values = values});
    const auto compare = [](const TestTensor& got, const TestTensor& expected) {
      const std::vector<float> wanted = expected.values();
      return distance(got, {wanted.begin(), wanted.end()});
    };
    EXPECT_LE(compare(q, q_expected), kExactNorm) << "norms " << q_has << k_has;
    EXPECT_LE(compare(keys, k_expected), kExactNorm) << "norms " << q_has << k_has;
  }
}

TEST_F(CudaSplitHeads, RefusesWhatDoesNotFit) {
  const HeadExample example({"", 2, 10, 6, 2, 64, true, Turning::interleaved, 10});
  const GpuHeads on_gpu(gpu(), example);
  const OnGpu q(gpu(), TestTensor(DType::f32, {20, 128}));
  const OnGpu plane(gpu(), TestTensor(DType::f32, {16, 128}));
  const Buffer numbers = buffer_on(gpu(), std::vector<std::int64_t>{6, 0, 12, 10});
  const Tensor places = numbers.view(DType::i64, {2, 2});
  const KeyValueTarget right{.keys = plane, .values = plane, .places = places, .specials = 6};
  const auto refuses = [&](const HeadSplit& split, const Tensor& to, std::int64_t frames, const KeyValueTarget& target,
                           const char* text) {
    EXPECT_THAT(refusal_of([&] { gpu().split_heads(on_gpu.qkv, frames, split, to, target); }), HasSubstr(text));
  };
  const HeadSplit split = on_gpu.split();
  gpu().split_heads(on_gpu.qkv, 2, split, q, right);
  refuses(split, q, 0, right, "split_heads of [20, 384] into [20, 128], 0 frames");
  refuses(split, q, 3, right, "3 frames");
  refuses(split, q.view().rows(0, 19), 2, right, "into [19, 128]");
  KeyValueTarget wrong = right;
  wrong.keys = plane.view().columns(0, 64);
  refuses(split, q, 2, wrong, "a target of 6 + 4 tokens of 128 elements in [16, 64] and [16, 128]");
  wrong = right;
  wrong.places = places.rows(0, 1);
  refuses(split, q, 2, wrong, "target of 6 + 4 tokens");
  wrong = right;
  wrong.specials = 11;
  refuses(split, q, 2, wrong, "target of 11 + -1 tokens");
  wrong = right;
  wrong.places = Tensor();
  refuses(split, q, 2, wrong, "target of 6 + 4 tokens");
  wrong.specials = 0;
  refuses(split, q, 2, wrong, "target of 0 + 10 tokens");
  const OnGpu half(gpu(), TestTensor(DType::f16, {20, 128}));
  refuses(split, half, 2, right, "target of 6 + 4 tokens");
  HeadSplit other = split;
  other.rotary.temporal = split.rotary.temporal.rows(0, 1);
  refuses(other, q, 2, right, "rotary tables");
  other = split;
  other.rotary.spatial = split.rotary.spatial.rows(0, 9);
  refuses(other, q, 2, right, "rotary tables");
  other = split;
  other.rotary.spatial = Tensor();
  refuses(other, q, 2, right, "rotary pairs 10 + 0 for heads of 64");
  other = split;
  other.heads = 3;
  refuses(other, q, 2, right, "split_heads of");
  const Norm narrow = norm_on(gpu(), std::vector<float>(32), std::vector<float>(32), 1e-5F);
  other = split;
  other.q_norm = &narrow;
  refuses(other, q, 2, right, "norm of width 32 with a bias of 32, expected 64");

  const HeadExample thin({"", 1, 4, 0, 1, 48, true, Turning::half_split, 0});
  const GpuHeads thin_on_gpu(gpu(), thin);
  const OnGpu out(gpu(), TestTensor(DType::f32, {4, 48}));
  EXPECT_THAT(refusal_of([&] {
                gpu().split_heads(thin_on_gpu.qkv, 1, thin_on_gpu.split(), out, {.keys = out, .values = out});
              }),
              HasSubstr("heads of 48 in halves of 32"));
}

// ---- With the product before it ------------------------------------------------------------------------------------

class CudaLinearHeads : public CudaSplitHeads {
 protected:
  /// linear_heads() against linear() and split_heads(). Both round the same sums but for the order of their terms.
  static void compare_with_two_steps(const HeadCase& c, std::int64_t in, DType dtype, std::int64_t gap) {
    SCOPED_TRACE(message(c.name, " of ", in, " ", name_of(dtype), ", gap ", gap));
    const HeadExample example(c);
    const GpuHeads on_gpu(gpu(), example);
    const std::int64_t rows = c.frames * c.tokens;
    const std::int64_t width = example.width();
    Random random(static_cast<std::uint32_t>(in));
    TestTensor x(dtype, {rows, in}, gap);
    x.fill(random);
    const float most = 1.0F / std::sqrt(static_cast<float>(in));
    const Linear qkv = linear_on(gpu(), random_values(random, 3 * width * in, -most, most),
                                 random_values(random, 3 * width), 3 * width, in, precision_of(dtype));
    const OnGpu from(gpu(), x);
    const OnGpu scratch(gpu(), TestTensor(DType::f32, {rows, 3 * width}));
    const std::int64_t frame_rows = c.tokens + 3;
    std::vector<std::int64_t> places;
    for (std::int64_t frame = 0; frame < c.frames; ++frame) {
      const std::int64_t patch_row = (c.frames - 1 - frame) * frame_rows;
      places.insert(places.end(), {patch_row, patch_row + c.tokens - c.specials + 2});
    }
    const Buffer places_on_gpu = buffer_on(gpu(), places);
    const auto target = [&](const Tensor& keys, const Tensor& values) {
      return KeyValueTarget{.keys = keys,
                            .values = values,
                            .places = places_on_gpu.view(DType::i64, {c.frames, 2}),
                            .specials = c.specials};
    };
    struct Outputs {
      TestTensor q;
      TestTensor keys;
      TestTensor values;
    };
    const auto outputs = [&] {
      Outputs result{{dtype, {rows, width}, gap},
                     {dtype, {c.frames * frame_rows, width}, gap},
                     {dtype, {c.frames * frame_rows, width}, gap}};
      result.keys.fill(42.0F);
      result.values.fill(42.0F);
      return result;
    };
    const Outputs expected = outputs();
    run_on_gpu(
        gpu(),
        [&](const Tensor& q, const Tensor& keys, const Tensor& values) {
          gpu().linear(from, qkv, Activation::none, scratch);
          gpu().split_heads(scratch, c.frames, on_gpu.split(), q, target(keys, values));
        },
        expected.q, expected.keys, expected.values);
    const Outputs got = outputs();
    EXPECT_NO_THROW(run_on_gpu(
        gpu(),
        [&](const Tensor& q, const Tensor& keys, const Tensor& values) {
          gpu().linear_heads(from, qkv, c.frames, on_gpu.split(), scratch, q, target(keys, values));
        },
        got.q, got.keys, got.values));
    // The terms of a sum are a quarter of 1 / sqrt(in) on average; a head's deviation is above 0.2, by which its norm
    // divides; then pairs of elements turn into each other.
    const double of_sums = 2 * rounding_of_sum(in) * std::sqrt(static_cast<double>(in)) / 4;
    const auto near = [&](const TestTensor& a, const TestTensor& b, const char* what) {
      std::vector<double> wanted;
      for (const float value : b.values()) wanted.push_back(value);
      expect_close(
          a, wanted,
          [&](std::int64_t i) {
            const double value = wanted[static_cast<std::size_t>(i)];
            return value == 42 ? 0 : 2 * storage_error(dtype, value) + 4 * of_sums / 0.2;
          },
          what);
      EXPECT_LE(distance(a, wanted), norm_bound(Precision::f32, dtype)) << what;
      EXPECT_TRUE(a.intact()) << what;
    };
    near(got.q, expected.q, "q");
    near(got.keys, expected.keys, "keys");
    near(got.values, expected.values, "values");
  }
};

TEST_F(CudaLinearHeads, AreThoseOfAProductThatIsSplit) {
  for (const HeadCase& c : kHeadCases) {
    for (const DType dtype : types()) {
      compare_with_two_steps(c, 128, dtype, 16);
      compare_with_two_steps(c, 72, dtype, 5);
    }
  }
  const HeadCase frames{"two frames of the network", 2, 1005, 6, 16, 64, true, Turning::interleaved, 10};
  const HeadCase halves{"blocks of the network", 3, 205, 0, 16, 64, true, Turning::half_split, 0};
  for (const DType dtype : types()) {
    compare_with_two_steps(frames, 1024, dtype, 0);
    compare_with_two_steps(halves, 320, dtype, 8);
  }
}

TEST_F(CudaLinearHeads, RefuseWhatDoesNotFit) {
  const OnGpu x(gpu(), TestTensor(DType::f16, {20, 64}));
  const OnGpu scratch(gpu(), TestTensor(DType::f32, {20, 192}));
  const OnGpu q(gpu(), TestTensor(DType::f16, {20, 64}));
  const Linear qkv = linear_on(gpu(), std::vector<float>(192 * 64), {}, 192, 64, Precision::f16);
  HeadSplit split;
  split.heads = 1;
  split.head_dim = 64;
  const auto refused = [&](const Tensor& from, int heads, std::int64_t frames, const Tensor& keys, const char* text) {
    split.heads = heads;
    EXPECT_THAT(
        refusal_of([&] { gpu().linear_heads(from, qkv, frames, split, scratch, q, {.keys = keys, .values = keys}); }),
        HasSubstr(text));
  };
  refused(x, 1, 0, q, "linear_heads of [20, 64] by [192, 64] into [20, 64], 0 frames");
  refused(x, 1, 3, q, "3 frames");
  refused(x, 2, 2, q, "linear_heads of");
  refused(x.view().rows(0, 19), 1, 1, q, "linear_heads of [19, 64]");
  refused(x.view().columns(0, 32), 1, 1, q, "linear_heads of [20, 32]");
  refused(x, 1, 1, q.view().rows(0, 19), "a target of 0 + 20 tokens of 64 elements in [19, 64] and [19, 64]");
}

}  // namespace
}  // namespace lingbot_map::test
