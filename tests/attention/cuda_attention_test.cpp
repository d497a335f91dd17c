#include "attention/attention.hpp"
#include "attention/cuda/portable_attention.hpp"
#include "attention/gpu_attention.hpp"

namespace lingbot_map::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class CudaAttentionTest : public GpuAttention {};

TEST_F(CudaAttentionTest, EveryKindIsThereOrSaysWhyNot) {
  for (const DType dtype : types()) {
    for (const AttentionKind kind : {AttentionKind::automatic, AttentionKind::sdpa}) {
      const auto attention = make_attention(gpu(), kind, dtype, 2);
      EXPECT_EQ(attention->kind(), AttentionKind::sdpa);
      EXPECT_THAT(attention->description(), HasSubstr("sdpa ("));
    }
    try {
      const auto attention = make_attention(gpu(), AttentionKind::flashinfer, dtype, 2);
      EXPECT_EQ(attention->kind(), AttentionKind::flashinfer);
      EXPECT_THAT(attention->description(), HasSubstr("flashinfer ("));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_THAT(error.what(),
                  AnyOf(HasSubstr("attention back end 'flashinfer': this build has none, its headers were "
                                  "not there"),
                        HasSubstr("FlashInfer has no kernel for")));
    }
  }
}

// ---- Within frames -------------------------------------------------------------------------------------------------

TEST_F(CudaAttentionTest, WithinAFrameIsSoftmaxOverAnyNumberOfKeys) {
  constexpr int kHeads = 2;
  for_each_way([&](const Way& way, DType dtype) {
    const auto attention = make(way, dtype, kHeads);
    for (const std::int64_t keys : {1, 2, 31, 33, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1100}) {
      const std::string what = message(keys, " keys, ", way.name(), " ", name_of(dtype));
      SCOPED_TRACE(what);
      Random random(static_cast<std::uint32_t>(keys));
      const Inputs in(gpu(), dtype, keys, kHeads * 64, random, 16);
      const TestTensor out(dtype, {keys, kHeads * 64}, 16);
      run_on_gpu(
          gpu(), [&](const Tensor& to) { in.within_frames(*attention, 1, kHeads, to); }, out);
      const AttentionReference reference = in.reference(kHeads);
      for (const std::int64_t query : {std::int64_t{0}, keys / 3, keys - 1}) {
        expect_within(out, query, 1, reference, counted(0, keys), dtype, what);
      }
      EXPECT_TRUE(out.intact());
    }
  });
}

TEST_F(CudaAttentionTest, KeepsFramesApart) {
  constexpr int kHeads = 3;
  constexpr int kFrames = 4;
  for_each_way([&](const Way& way, DType dtype) {
    const auto attention = make(way, dtype, kHeads);
    for (const std::int64_t tokens : {1, 7, 40, 130}) {
      const std::string what = message(tokens, " tokens, ", way.name(), " ", name_of(dtype));
      SCOPED_TRACE(what);
      Random random(11);
      const Inputs in(gpu(), dtype, kFrames * tokens, kHeads * 64, random, 0);
      const TestTensor out(dtype, {kFrames * tokens, kHeads * 64});
      run_on_gpu(
          gpu(), [&](const Tensor& to) { in.within_frames(*attention, kFrames, kHeads, to); }, out);
      const AttentionReference reference = in.reference(kHeads);
      for (std::int64_t frame = 0; frame < kFrames; ++frame) {
        expect_within(out, frame * tokens, tokens, reference, counted(frame * tokens, tokens), dtype, what);
      }
      EXPECT_TRUE(out.intact());
    }
  });
}

TEST_F(CudaAttentionTest, TakesHeadsOf32And128) {
  for (const DType dtype : types()) {
    const auto attention = make_attention(gpu(), AttentionKind::sdpa, dtype, 2);
    for (const std::int64_t head_dim : {32, 128}) {
      for (const std::int64_t tokens : {70, 300}) {
        const std::string what = message("heads of ", head_dim, " ", name_of(dtype));
        SCOPED_TRACE(what);
        Random random(12);
        const Inputs in(gpu(), dtype, 2 * tokens, 2 * head_dim, random, 16);
        const TestTensor out(dtype, {2 * tokens, 2 * head_dim}, 16);
        run_on_gpu(
            gpu(), [&](const Tensor& to) { in.within_frames(*attention, 2, 2, to); }, out);
        const AttentionReference reference = in.reference(2);
        expect_within(out, 0, 20, reference, counted(0, tokens), dtype, what);
        expect_within(out, 2 * tokens - 3, 3, reference, counted(tokens, tokens), dtype, what);
        EXPECT_TRUE(out.intact());
      }
    }
  }
}

TEST_F(CudaAttentionTest, OfTheNetworkWithinFrames) {
  constexpr std::int64_t kTokens = 1005;
  for_each_way([&](const Way& way, DType dtype) {
    const std::string what = message(way.name(), " ", name_of(dtype));
    SCOPED_TRACE(what);
    const auto attention = make(way, dtype, 16);
    Random random(13);
    const Inputs in(gpu(), dtype, 2 * kTokens, 1024, random, 0);
    const TestTensor out(dtype, {2 * kTokens, 1024});
    run_on_gpu(
        gpu(), [&](const Tensor& to) { in.within_frames(*attention, 2, 16, to); }, out);
    const AttentionReference reference = in.reference(16);
    for (const std::int64_t query : {std::int64_t{0}, std::int64_t{640}, kTokens - 1}) {
      expect_within(out, query, 1, reference, counted(0, kTokens), dtype, what);
      expect_within(out, kTokens + query, 1, reference, counted(kTokens, kTokens), dtype, what);
    }
    EXPECT_TRUE(out.intact());
  });
}

// The largest score may come early or late, and all of them may be far from zero on either side.
TEST_F(CudaAttentionTest, SurvivesLargeScores) {
  constexpr std::int64_t kTokens = 1030;
  for (const DType dtype : types()) {
    const auto attention = make_attention(gpu(), AttentionKind::sdpa, dtype, 1);
    for (const float size : {30.0F, 1e4F}) {
      for (const float order : {1.0F, -1.0F}) {
        const std::string what = message("scores of ", size, " ", name_of(dtype), ", order ", order);
        SCOPED_TRACE(what);
        TestTensor q(dtype, {kTokens, 64});
        TestTensor k(dtype, {kTokens, 64});
        TestTensor v(dtype, {kTokens, 64});
        Random random(13);
        v.fill(random);
        // Scores rise (or fall) along the keys in steps that 16-bit types hold, from -8 size to 8 size.
        for (std::int64_t row = 0; row < kTokens; ++row) {
          q.set(row * 64, size);
          k.set(row * 64, order * (static_cast<float>(row / 8) / 64 - 1) * 8);
        }
        const Inputs in(gpu(), q, k, v);
        const TestTensor out(dtype, {kTokens, 64});
        run_on_gpu(
            gpu(), [&](const Tensor& to) { in.within_frames(*attention, 1, 1, to); }, out);
        const AttentionReference reference = in.reference(1);
        for (const std::int64_t query : {0, 500, 1029}) {
          (void)expect_attention(out, query, 1, reference, counted(0, kTokens), what);
        }
      }
    }
  }
}

TEST_F(CudaAttentionTest, OfEqualScoresIsTheMean) {
  for (const DType dtype : types()) {
    const auto attention = make_attention(gpu(), AttentionKind::sdpa, dtype, 1);
    TestTensor q(dtype, {600, 64});
    TestTensor k(dtype, {600, 64});
    TestTensor v(dtype, {600, 64});
    Random random(14);
    k.fill(random);
    v.fill(5.0F);
    const Inputs in(gpu(), q, k, v);
    const TestTensor out(dtype, {600, 64});
    run_on_gpu(
        gpu(), [&](const Tensor& to) { in.within_frames(*attention, 1, 1, to); }, out);
    for (std::int64_t i = 0; i < out.elements(); ++i) ASSERT_NEAR(out[i], 5, 1e-5) << name_of(dtype);
  }
}

// ---- Over rows -----------------------------------------------------------------------------------------------------

TEST_F(CudaAttentionTest, OverRowsReadsTheirNumberOnTheDevice) {
  constexpr int kHeads = 2;
  constexpr std::int64_t kRows = 3000;
  const auto attention = make_attention(gpu(), AttentionKind::sdpa, DType::f32, kHeads);
  const Buffer number = gpu().allocate(sizeof(std::int64_t));
  const Tensor count = number.view(DType::i64, {1});
  const auto set_count = [&](std::int64_t keys) { gpu().upload(std::as_bytes(std::span(&keys, 1)), count); };
  for (const std::int64_t head_dim : {32, 64, 128, 256}) {
    for (const std::int64_t queries : {1, 3, 9}) {
      const std::int64_t width = kHeads * head_dim;
      Random random(static_cast<std::uint32_t>(head_dim + queries));
      TestTensor q(DType::f32, {queries, width}, 8);
      TestTensor k(DType::f32, {kRows, width}, 16);
      TestTensor v(DType::f32, {kRows, width}, 16);
      q.fill(random, -2, 2);
      k.fill(random);
      v.fill(random);
      const AttentionReference reference(q, k, v, kHeads, kErrors);
      const OnGpu gpu_q(gpu(), q);
      const OnGpu all_k(gpu(), k);
      const OnGpu all_v(gpu(), v);
      // What lies past the count is no number.
      const OnGpu gpu_k(gpu(), TestTensor(DType::f32, {kRows, width}, 16).fill(NAN));
      const OnGpu gpu_v(gpu(), TestTensor(DType::f32, {kRows, width}, 16).fill(NAN));
      std::int64_t there = 0;
      for (const std::int64_t keys : {1, 2, 31, 33, 63, 64, 65, 129, 511, 512, 513, 1100, 2047, 3000}) {
        const std::string what = message(keys, " of ", kRows, " keys, ", queries, " queries of ", head_dim);
        SCOPED_TRACE(what);
        gpu().copy(all_k.view().rows(there, keys - there), gpu_k.view().rows(there, keys - there));
        gpu().copy(all_v.view().rows(there, keys - there), gpu_v.view().rows(there, keys - there));
        there = keys;
        set_count(keys);
        const TestTensor out(DType::f32, {queries, width}, 8);
        run_on_gpu(
            gpu(), [&](const Tensor& to) { attention->over_rows(gpu_q, gpu_k, gpu_v, count, kHeads, to); }, out);
        expect_within(out, 0, queries, reference, counted(0, keys), DType::f32, what);
        EXPECT_TRUE(out.intact());
      }
      // One recording serves every count.
      const OnGpu direct(gpu(), TestTensor(DType::f32, {queries, width}));
      const OnGpu replayed(gpu(), TestTensor(DType::f32, {queries, width}));
      const auto recording = gpu().record([&] { attention->over_rows(gpu_q, gpu_k, gpu_v, count, kHeads, replayed); });
      for (const std::int64_t keys : {3000, 1, 77, 1500}) {
        set_count(keys);
        attention->over_rows(gpu_q, gpu_k, gpu_v, count, kHeads, direct);
        gpu().replay(*recording);
        EXPECT_TRUE(direct.bytes() == replayed.bytes()) << keys << " keys replayed";
      }
    }
  }
}

TEST_F(CudaAttentionTest, OverRowsSurvivesLargeScores) {
  const auto attention = make_attention(gpu(), AttentionKind::sdpa, DType::f32, 1);
  const Buffer count = buffer_on(gpu(), std::vector<std::int64_t>{300});
  for (const float size : {30.0F, 1e4F}) {
    for (const float order : {1.0F, -1.0F}) {
      Random random(32);
      TestTensor q(DType::f32, {1, 128});
      TestTensor k(DType::f32, {300, 128});
      TestTensor v(DType::f32, {300, 128});
      v.fill(random);
      q.set(0, size);
      for (std::int64_t row = 0; row < 300; ++row) k.set(row * 128, order * static_cast<float>(row - 150));
      const OnGpu a(gpu(), q);
      const OnGpu b(gpu(), k);
      const OnGpu c(gpu(), v);
      const TestTensor out(DType::f32, {1, 128});
      run_on_gpu(
          gpu(), [&](const Tensor& to) { attention->over_rows(a, b, c, count.view(DType::i64, {1}), 1, to); }, out);
      (void)expect_attention(out, 0, 1, AttentionReference(q, k, v, 1, kErrors), counted(0, 300),
                             message("scores of ", size));
    }
  }
}

// ---- Kernels that other GPUs take ----------------------------------------------------------------------------------

TEST_F(CudaAttentionTest, ThePortableKernelsSeeTheirRangeAndNothingElse) {
  constexpr int kHeads = 2;
  constexpr std::int64_t kRows = 2500;
  struct Case {
    int head_dim;
    std::int64_t queries;
    std::int64_t first;
    std::int64_t rows;
  };
  for (const DType dtype : types()) {
    for (const Case& c : {Case{64, 150, 0, 2500}, Case{64, 3, 7, 1}, Case{64, 150, 999, 64}, Case{64, 3, 1, 700},
                          Case{64, 150, 130, 2203}, Case{32, 150, 130, 2203}, Case{32, 1, 0, 2500},
                          Case{128, 150, 130, 2203}, Case{128, 3, 1, 700}}) {
      const std::string what =
          message(c.queries, " queries over ", c.first, "+", c.rows, ", heads of ", c.head_dim, ", ", name_of(dtype));
      SCOPED_TRACE(what);
      const std::int64_t width = std::int64_t{kHeads} * c.head_dim;
      Random random(15);
      TestTensor q(dtype, {c.queries, width}, 16);
      TestTensor k(dtype, {kRows, width}, 16);
      TestTensor v(dtype, {kRows, width}, 16);
      q.fill(random, -2, 2);
      for (TestTensor* plane : {&k, &v}) {
        plane->fill(NAN);
        for (std::int64_t i = c.first * width; i < (c.first + c.rows) * width; ++i) plane->set(i, random());
      }
      const OnGpu gpu_q(gpu(), q);
      const OnGpu gpu_k(gpu(), k);
      const OnGpu gpu_v(gpu(), v);
      const Buffer range = buffer_on(gpu(), std::vector<std::int64_t>{c.first, c.rows});
      cuda::AttentionCall call{.q = gpu_q.view().raw(),
                               .q_stride = gpu_q.view().row_stride(),
                               .k = gpu_k.view().raw(),
                               .v = gpu_v.view().raw(),
                               .kv_stride = gpu_k.view().row_stride(),
                               .queries = c.queries,
                               .heads = kHeads,
                               .head_dim = c.head_dim,
                               .keys = kRows,
                               .range = static_cast<const std::int64_t*>(range.data()),
                               .dtype = dtype};
      const bool exact = dtype == DType::f32;
      call.workspace_bytes = exact ? cuda::attention_f32_workspace(call) : cuda::attention_16bit_workspace(call);
      const Buffer workspace = gpu().allocate(call.workspace_bytes);
      call.workspace = workspace.data();
      const TestTensor out(dtype, {c.queries, width}, 16);
      run_on_gpu(
          gpu(),
          [&](const Tensor& to) {
            call.out = to.raw();
            call.out_stride = to.row_stride();
            (exact ? cuda::attention_f32 : cuda::attention_16bit)(call, gpu().stream());
          },
          out);
      const AttentionReference reference(q, k, v, kHeads, kErrors);
      for (const std::int64_t query : {std::int64_t{0}, c.queries / 2, c.queries - 1}) {
        expect_within(out, query, 1, reference, counted(c.first, c.rows), dtype, what);
      }
      EXPECT_TRUE(out.intact());
    }
  }
}

// ---- What does not fit ---------------------------------------------------------------------------------------------

TEST_F(CudaAttentionTest, RefusesWhatTheCpuRefuses) {
  const auto on_cpu = make_attention(cpu, AttentionKind::sdpa, DType::f32, 2);
  const auto on_gpu = make_attention(gpu(), AttentionKind::sdpa, DType::f32, 2);
  const auto attention = [&](Backend& backend) -> Attention& {
    return backend.device() == cpu.device() ? *on_cpu : *on_gpu;
  };
  const auto within = [&](int frames, int heads) {
    return [&attention, frames, heads](Backend& backend, const Tensor& q, const Tensor& k, const Tensor& v,
                                       const Tensor& out) {
      attention(backend).within_frames(q, k, v, frames, heads, out);
    };
  };
  const TestTensor x(DType::f32, {6, 128});
  const TestTensor narrow(DType::f32, {6, 64});
  const TestTensor bf16(DType::bf16, {6, 128});
  refuses("attention of 4 frames in [6, 128] and [6, 128]", within(4, 2), x, x, x, x);
  refuses("attention of [6, 128] over [6, 64] and [6, 128] into [6, 128], all fp32", within(1, 2), x, narrow, x, x);
  refuses("attention of", within(1, 2), x, x, narrow, x);
  refuses("attention of", within(1, 2), x, x, x, narrow);
  refuses("attention of", within(1, 2), x, bf16, x, x);
}

TEST_F(CudaAttentionTest, RefusesWhatItCannotDo) {
  const OnGpu x(gpu(), TestTensor(DType::f32, {6, 128}));
  const OnGpu half(gpu(), TestTensor(DType::f16, {6, 128}));
  const OnGpu out(gpu(), TestTensor(DType::f32, {6, 128}));
  const OnGpu odd(gpu(), TestTensor(DType::f32, {6, 128}, 3));
  const OnGpu odd_half(gpu(), TestTensor(DType::f16, {6, 128}, 3));
  const Buffer one = buffer_on(gpu(), std::vector<std::int64_t>{1, 1});
  const Tensor count = one.view(DType::i64, {1});
  const auto exact = make_attention(gpu(), AttentionKind::sdpa, DType::f32, 2);
  const auto narrow = make_attention(gpu(), AttentionKind::sdpa, DType::f16, 2);
  const auto refused = [](const char* text, const auto& action) { EXPECT_THAT(refusal_of(action), HasSubstr(text)); };
  refused("3 heads of 128 elements", [&] { exact->within_frames(x, x, x, 1, 3, out); });
  refused("head_dim 4, expected 32, 64 or 128", [&] { exact->within_frames(x, x, x, 1, 32, out); });
  refused("strides 131, 128, 128", [&] { exact->within_frames(odd, x, x, 1, 2, out); });
  refused("attention", [&] { narrow->within_frames(odd_half, half, half, 1, 2, half); });
  refused("over_rows of fp16 with a count of [1]", [&] { narrow->over_rows(half, half, half, count, 2, half); });
  refused("with a count of [2]", [&] { exact->over_rows(x, x, x, one.view(DType::i64, {2}), 2, out); });
  refused("3 heads of 128 elements", [&] { exact->over_rows(x, x, x, count, 3, out); });
}

}  // namespace
}  // namespace lingbot_map::test
