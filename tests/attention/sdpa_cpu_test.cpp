#include "attention/sdpa_cpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "attention/reference.hpp"
#include "backend/kernel_sets.hpp"
#include "expect_error.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

/// Expects the rows of `out` to be those of attention over `key_rows`.
void expect_attention(const TestTensor& out, std::int64_t first_query, std::int64_t queries, const TestTensor& q,
                      const TestTensor& k, const TestTensor& v, const std::vector<std::int64_t>& key_rows, int heads,
                      const std::string& what) {
  (void)test::expect_attention(out, first_query, queries, AttentionReference(q, k, v, heads), key_rows, what);
}

class Sdpa : public KernelSets {
 protected:
  SdpaCpu attention{backend};
};

constexpr std::int64_t kKeyCounts[] = {1, 2, 31, 33, 511, 512, 513, 1100};

TEST_P(Sdpa, IsSoftmaxOverAnyNumberOfKeys) {
  constexpr int kHeads = 2;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t keys : kKeyCounts) {
      // A frame attends to itself, so there are as many queries as keys; a few of them are looked at.
      Random random(static_cast<std::uint32_t>(keys));
      TestTensor q(dtype, {keys, kHeads * 64}, 8);
      TestTensor k(dtype, {keys, kHeads * 64}, 16);
      TestTensor v(dtype, {keys, kHeads * 64}, 4);
      q.fill(random, -3, 3);
      k.fill(random);
      v.fill(random);
      const TestTensor out(dtype, {keys, kHeads * 64}, 2);
      attention.within_frames(q, k, v, 1, kHeads, out);
      for (const std::int64_t query : {std::int64_t{0}, keys / 3, keys - 1}) {
        expect_attention(out, query, 1, q, k, v, counted(0, keys), kHeads, message(keys, " keys ", name_of(dtype)));
      }
      EXPECT_TRUE(out.intact());
    }
  }
}

TEST_P(Sdpa, KeepsFramesApart) {
  constexpr int kHeads = 3;
  constexpr int kFrames = 4;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t tokens : {1, 7, 40}) {
      Random random(11);
      TestTensor q(dtype, {kFrames * tokens, kHeads * 64});
      TestTensor k(dtype, {kFrames * tokens, kHeads * 64});
      TestTensor v(dtype, {kFrames * tokens, kHeads * 64});
      q.fill(random, -4, 4);
      k.fill(random);
      v.fill(random);
      const TestTensor out(dtype, {kFrames * tokens, kHeads * 64});
      attention.within_frames(q, k, v, kFrames, kHeads, out);
      for (std::int64_t frame = 0; frame < kFrames; ++frame) {
        expect_attention(out, frame * tokens, tokens, q, k, v, counted(frame * tokens, tokens), kHeads,
                         message(tokens, " tokens"));
      }
    }
  }
}

TEST_P(Sdpa, TakesHeadsOf128) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Random random(12);
    TestTensor q(dtype, {70, 256});
    TestTensor k(dtype, {70, 256});
    TestTensor v(dtype, {70, 256});
    q.fill(random, -2, 2);
    k.fill(random);
    v.fill(random);
    const TestTensor out(dtype, {70, 256});
    attention.within_frames(q, k, v, 1, 2, out);
    expect_attention(out, 0, 70, q, k, v, counted(0, 70), 2, "heads of 128");
  }
}

// The largest score may come early or late, and all of them may be far from zero on either side.
TEST_P(Sdpa, SurvivesLargeScores) {
  constexpr std::int64_t kTokens = 1030;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const float size : {30.0F, 1e4F, 1e18F}) {
      for (const float order : {1.0F, -1.0F}) {
        TestTensor q(dtype, {kTokens, 64});
        TestTensor k(dtype, {kTokens, 64});
        TestTensor v(dtype, {kTokens, 64});
        Random random(13);
        v.fill(random);
        // Scores rise (or fall) along the keys in steps that bf16 holds, from -8 size to 8 size.
        for (std::int64_t row = 0; row < kTokens; ++row) {
          q.set(row * 64, size);
          k.set(row * 64, order * (static_cast<float>(row / 8) / 64 - 1) * 8);
        }
        const TestTensor out(dtype, {kTokens, 64});
        attention.within_frames(q, k, v, 1, 1, out);
        for (const std::int64_t query : {0, 500, 1029}) {
          expect_attention(out, query, 1, q, k, v, counted(0, kTokens), 1,
                           message("scores of ", size, " ", name_of(dtype)));
        }
      }
    }
  }
}

TEST_P(Sdpa, OfEqualScoresIsTheMean) {
  TestTensor q(DType::f32, {600, 64});
  TestTensor k(DType::f32, {600, 64});
  TestTensor v(DType::f32, {600, 64});
  Random random(14);
  k.fill(random);
  v.fill(5.0F);
  const TestTensor out(DType::f32, {600, 64});
  attention.within_frames(q, k, v, 1, 1, out);
  for (std::int64_t i = 0; i < out.elements(); ++i) ASSERT_NEAR(out[i], 5, 1e-5);
}

/// A cache whose planes hold NaN wherever no kept frame lies.
class CachedSdpa : public Sdpa {
 protected:
  static constexpr int kHeads = 2;
  static constexpr std::int64_t kWidth = kHeads * 64;

  static void poison(const Tensor& rows) { std::memset(rows.raw(), 0xff, rows.bytes()); }

  /// Streams frames of all kinds and compares what each of them sees with a list kept by hand.
  void stream(DType dtype, int patches, int window, int scale_frames) {
    SCOPED_TRACE(message(name_of(dtype), ", ", patches, " patches, window ", window));
    constexpr int kSpecials = 6;
    constexpr int kFrames = 14;
    const std::int64_t tokens = patches + kSpecials;
    TwoStreamCache cache({scale_frames, window, patches, kSpecials});
    KvStore store({.layers = 2, .slot_tokens = cache.slot_tokens(), .width = kWidth, .dtype = dtype});
    store.prepare({0, cache.slot_tokens() + (scale_frames + kFrames + 1) * kSpecials});
    for (const int layer : {0, 1}) {
      poison(store.keys(layer));
      poison(store.values(layer));
    }
    Random random(21);
    TestTensor q(dtype, {scale_frames * tokens, kWidth}, 6);
    TestTensor k(dtype, {(scale_frames + kFrames) * tokens, kWidth});
    TestTensor v(dtype, {(scale_frames + kFrames) * tokens, kWidth});
    q.fill(random, -3, 3);
    k.fill(random);
    v.fill(random);
    const auto write = [&](const FrameSpan& span, std::int64_t frame) {
      const auto put = [&](const TestTensor& from, const Tensor& plane) {
        const Tensor rows = from.view().rows(frame * tokens, tokens);
        backend.copy(rows.rows(0, kSpecials), plane.rows(span.special_token, kSpecials));
        backend.copy(rows.rows(kSpecials, patches), plane.rows(span.patch_token, patches));
      };
      put(k, store.keys(1));
      put(v, store.values(1));
    };
    const auto compare = [&](std::int64_t queries, const std::vector<std::int64_t>& rows, std::int64_t frame) {
      const TestTensor out(dtype, {queries, kWidth}, 4);
      attention.plan(cache, 0);
      attention.run(store, 1, q.view().rows(0, queries), kHeads, out);
      for (const std::int64_t query : {std::int64_t{0}, queries / 2, queries - 1}) {
        expect_attention(out, query, 1, q, k, v, rows, kHeads, message("frame ", frame));
      }
      EXPECT_TRUE(out.intact());
    };

    std::vector<std::int64_t> scale_rows;
    std::int64_t frame = 0;
    for (const FrameSpan& span : cache.append_scale_frames(scale_frames)) {
      write(span, frame);
      const auto rows = counted(frame * tokens, tokens);
      scale_rows.insert(scale_rows.end(), rows.begin(), rows.end());
      ++frame;
    }
    compare(scale_frames * tokens, scale_rows, 0);

    std::vector<std::int64_t> kept;
    for (int streamed = 0; streamed < kFrames; ++streamed, ++frame) {
      const bool keyframe = streamed % 3 != 1;
      const FrameSpan span = cache.begin_frame(keyframe ? FrameRole::keyframe : FrameRole::passing);
      write(span, frame);
      std::vector<std::int64_t> rows = scale_rows;
      // The patches of the last `window` frames, a keyframe being one of them itself; specials of all.
      const std::int64_t others = window - (keyframe ? 1 : 0);
      for (std::size_t i = 0; i < kept.size(); ++i) {
        const auto specials = counted(kept[i] * tokens, kSpecials);
        rows.insert(rows.end(), specials.begin(), specials.end());
        if (static_cast<std::int64_t>(kept.size() - i) > others) continue;
        const auto visible = counted(kept[i] * tokens + kSpecials, patches);
        rows.insert(rows.end(), visible.begin(), visible.end());
      }
      const auto own = counted(frame * tokens, tokens);
      rows.insert(rows.end(), own.begin(), own.end());
      compare(tokens, rows, frame);
      if (keyframe) {
        cache.commit();
        kept.push_back(frame);
      } else {
        cache.roll_back();
        for (const Tensor& plane : {store.keys(1), store.values(1)}) {
          poison(plane.rows(span.patch_token, patches));
          poison(plane.rows(span.special_token, kSpecials));
        }
      }
    }
  }
};

TEST_P(CachedSdpa, SeesTheVisibleRangeAndNothingElse) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    stream(dtype, 24, 3, 2);
    stream(dtype, 1, 2, 1);
    stream(dtype, 37, 4, 3);
  }
}

TEST_P(CachedSdpa, ReadsTheLayerAskedFor) {
  TwoStreamCache cache({1, 1, 5, 6});
  KvStore store({.layers = 2, .slot_tokens = cache.slot_tokens(), .width = kWidth, .dtype = DType::f32});
  (void)cache.append_scale_frames(1);
  store.prepare(cache.visible());
  for (const int layer : {0, 1}) {
    const Tensor values = store.values(layer);
    std::fill_n(values.data<float>(), values.elements(), static_cast<float>(layer + 1));
  }
  attention.plan(cache, 0);
  const TestTensor q(DType::f32, {3, kWidth});
  const TestTensor out(DType::f32, {3, kWidth});
  for (const int layer : {0, 1}) {
    attention.run(store, layer, q, kHeads, out);
    for (std::int64_t i = 0; i < out.elements(); ++i) ASSERT_NEAR(out[i], layer + 1, 1e-5);
  }
}

TEST_P(Sdpa, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Random random(31);
    TestTensor q(dtype, {131, 192});
    TestTensor k(dtype, {700, 192});
    TestTensor v(dtype, {700, 192});
    q.fill(random, -3, 3);
    k.fill(random);
    v.fill(random);
    TwoStreamCache cache({1, 1, 694, 6});
    KvStore store({.layers = 1, .slot_tokens = cache.slot_tokens(), .width = 192, .dtype = dtype});
    const FrameSpan span = cache.append_scale_frames(1).front();
    store.prepare(cache.visible());
    backend.copy(k, store.keys(0).rows(span.patch_token, 700));
    backend.copy(v, store.values(0).rows(span.patch_token, 700));
    std::optional<TestTensor> first;
    for (const int threads : {1, 2, 3, 5, 40}) {
      CpuBackend other(threads, &kernels());
      SdpaCpu sdpa(other);
      const TestTensor out(dtype, {131 + 700, 192});
      sdpa.plan(cache, 0);
      sdpa.run(store, 0, q, 3, out.view().rows(0, 131));
      sdpa.within_frames(k, k, v, 7, 3, out.view().rows(131, 700));
      if (!first) first = out;
      EXPECT_TRUE(same_bits(*first, out)) << threads << " threads, " << name_of(dtype);
    }
  }
}

/// A number of rows, where over_rows() reads it. Lives as long as the call.
class RowCount {
 public:
  explicit RowCount(std::int64_t count) : count_(count) {}
  operator Tensor() { return {&count_, DType::i64, {1}}; }

 private:
  std::int64_t count_;
};

TEST_P(Sdpa, OverRowsIsSoftmaxOverAnyNumberOfKeys) {
  for (const int head_dim : {64, 128, 256}) {
    constexpr int kHeads = 2;
    const std::int64_t width = kHeads * head_dim;
    for (const std::int64_t keys : {1, 2, 31, 33, 63, 64, 65, 511, 512, 513, 1100}) {
      for (const std::int64_t queries : {1, 3}) {
        Random random(static_cast<std::uint32_t>(keys));
        TestTensor q(DType::f32, {queries, width}, 8);
        TestTensor k(DType::f32, {keys, width}, 16);
        TestTensor v(DType::f32, {keys, width}, 4);
        q.fill(random, -3, 3);
        k.fill(random);
        v.fill(random);
        const TestTensor out(DType::f32, {queries, width}, 2);
        attention.over_rows(q, k, v, RowCount(keys), kHeads, out);
        expect_attention(out, 0, queries, q, k, v, counted(0, keys), kHeads, message(keys, " keys of ", head_dim));
        EXPECT_TRUE(out.intact());
      }
    }
  }
}

TEST_P(Sdpa, OverRowsSurvivesLargeScores) {
  for (const float size : {1e4F, 1e18F}) {
    for (const float order : {1.0F, -1.0F}) {
      Random random(32);
      TestTensor q(DType::f32, {1, 128});
      TestTensor k(DType::f32, {300, 128});
      TestTensor v(DType::f32, {300, 128});
      v.fill(random);
      q.set(0, size);
      for (std::int64_t row = 0; row < 300; ++row) k.set(row * 128, order * static_cast<float>(row - 150));
      const TestTensor out(DType::f32, {1, 128});
      attention.over_rows(q, k, v, RowCount(300), 1, out);
      expect_attention(out, 0, 1, q, k, v, counted(0, 300), 1, message("scores of ", size));
    }
  }
}

TEST_P(Sdpa, RefusesWhatDoesNotFit) {
  const TestTensor q(DType::f32, {6, 128});
  const TestTensor k(DType::f32, {6, 128});
  const TestTensor narrow(DType::f32, {6, 64});
  const TestTensor bf16(DType::bf16, {6, 128});
  const auto refuses = [&](auto&& action, const char* text) {
    expect_error(ErrorCode::internal, action, HasSubstr(text));
  };
  refuses([&] { attention.within_frames(q, k, k, 4, 2, q); }, "attention of 4 frames");
  refuses([&] { attention.within_frames(q, narrow, k, 1, 2, q); }, "attention of [6, 128] over [6, 64]");
  refuses([&] { attention.within_frames(q, k, narrow, 1, 2, q); }, "attention of");
  refuses([&] { attention.within_frames(q, k, k, 1, 2, narrow); }, "attention of");
  refuses([&] { attention.within_frames(q, bf16, k, 1, 2, q); }, "attention of");
  refuses([&] { attention.within_frames(q, k, k, 1, 3, q); }, "3 heads");
  refuses([&] { attention.within_frames(q, k, k, 1, 32, q); }, "32 heads");
  refuses([&] { attention.over_rows(bf16, bf16, bf16, RowCount(6), 2, bf16); }, "over_rows of bf16");
  refuses([&] { attention.over_rows(q, k, k, RowCount(0), 2, q); }, "attention of");
  refuses([&] { attention.over_rows(q, k, k, RowCount(6), 32, q); }, "32 heads");
  TwoStreamCache cache({1, 1, 5, 6});
  const KvStore store({.layers = 1, .slot_tokens = cache.slot_tokens(), .width = 128, .dtype = DType::f32});
  refuses([&] { attention.run(store, 0, q, 2, q); }, "attention of [6, 128] over [0, 128]");
}

INSTANTIATE_TEST_SUITE_P(Kernels, Sdpa, testing::ValuesIn(every_kernel_set()), kernel_set_name);
INSTANTIATE_TEST_SUITE_P(Kernels, CachedSdpa, testing::ValuesIn(every_kernel_set()), kernel_set_name);

}  // namespace
}  // namespace lingbot_map::test
