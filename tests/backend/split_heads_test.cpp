#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "backend/kernel_sets.hpp"
#include "backend/split_heads_example.hpp"
#include "expect_error.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

class Splitting : public KernelSets {};

TEST_P(Splitting, NormalisesTurnsAndSendsEveryTokenToItsPlace) {
  for (const HeadCase& c : kHeadCases) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(message(c.name, " ", name_of(dtype)));
      const HeadExample example(c);
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
        const Sums expected = example.expected(row, part, dtype);
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
  const HeadExample example({"", 3, 50, 6, 2, 64, true, Turning::interleaved, 10});
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
  const HeadExample example({"", 2, 10, 6, 2, 64, true, Turning::interleaved, 10});
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

  const HeadExample half({"", 1, 4, 0, 1, 48, true, Turning::half_split, 0});
  const TestTensor out(DType::f32, {4, 48});
  const KeyValueTarget target{.keys = out, .values = out};
  expect_error(
      ErrorCode::internal, [&] { backend.split_heads(half.qkv, 1, half.split(), out, target); },
      HasSubstr("halves of 32"));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Splitting, testing::ValuesIn(every_kernel_set()), kernel_set_name);

}  // namespace
}  // namespace lingbot_map::test
