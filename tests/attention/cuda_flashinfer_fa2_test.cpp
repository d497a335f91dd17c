#include "attention/cuda/flashinfer_fa2.hpp"
#include "attention/gpu_attention.hpp"

namespace lingbot_map::test {
namespace {

using cuda::FlashInferFa2;
using testing::HasSubstr;

/// Parts of the keys meet by the logarithms of their sums, which are float32 too.
constexpr AttentionErrors kFa2Errors{.exponential = 0x1p-20};

/// The kernels that GPUs without FlashAttention-3 take, whatever GPU this is.
class CudaFlashInferFa2 : public GpuAttention {
 protected:
  static constexpr int kHeads = 2;
  static constexpr std::int64_t kWidth = kHeads * 64;
  static constexpr int kPageSize = 37;
  static constexpr std::int64_t kPages = 40;

  /// Which rows of the planes the pages of a table are.
  static std::vector<std::int64_t> rows_of(const std::vector<std::int32_t>& table, std::int64_t last_page_len) {
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::int64_t count = i + 1 == table.size() ? last_page_len : kPageSize;
      for (std::int64_t token = 0; token < count; ++token) rows.push_back(table[i] * kPageSize + token);
    }
    return rows;
  }
  static TestTensor random_tensor(DType dtype, std::int64_t rows, std::int64_t gap, float most, std::uint32_t seed) {
    Random random(seed);
    TestTensor x(dtype, {rows, kWidth}, gap);
    x.fill(random, -most, most);
    return x;
  }
  /// x where `rows` are, no number elsewhere.
  static TestTensor only(const TestTensor& x, const std::vector<std::int64_t>& rows, std::int64_t gap) {
    TestTensor result(x.view().dtype(), {x.view().dim(0), kWidth}, gap);
    result.fill(NAN);
    for (const std::int64_t row : rows) {
      for (std::int64_t i = row * kWidth; i < (row + 1) * kWidth; ++i) result.set(i, x[i]);
    }
    return result;
  }
  template <typename Action>
  static void for_each_type(const Action& action) {
    for (const DType dtype : types()) {
      if (dtype != DType::f32) action(dtype);
    }
  }
};

TEST_F(CudaFlashInferFa2, ReadsThePagesOfItsTableAndNothingElse) {
  struct Case {
    std::vector<std::int32_t> table;
    std::int64_t last_page_len;
    std::int64_t queries;
  };
  std::vector<std::int32_t> many;
  for (std::int32_t page = 0; page < kPages; ++page) many.push_back(page * 7 % kPages);
  for_each_type([&](DType dtype) {
    FlashInferFa2 attention(kHeads, dtype);
    for (const Case& c : {Case{{0}, 1, 1}, Case{{3}, 37, 5}, Case{{3, 0, 7, 5, 11}, 20, 130},
                          Case{{5, 6, 7, 8}, 1, 300}, Case{{9, 2}, 36, 64}, Case{many, 18, 3}, Case{many, 37, 257}}) {
      const std::string what = message(c.queries, " queries, ", c.table.size(), " pages, the last of ", c.last_page_len,
                                       ", ", name_of(dtype));
      SCOPED_TRACE(what);
      const std::vector<std::int64_t> rows = rows_of(c.table, c.last_page_len);
      const TestTensor q = random_tensor(dtype, c.queries, 16, 3, 1);
      const TestTensor k = only(random_tensor(dtype, kPages * kPageSize, 0, 1, 2), rows, 16);
      const TestTensor v = only(random_tensor(dtype, kPages * kPageSize, 0, 1, 3), rows, 16);
      const OnGpu gpu_q(gpu(), q);
      const OnGpu gpu_k(gpu(), k);
      const OnGpu gpu_v(gpu(), v);
      attention.plan_pages(c.table, c.last_page_len, kPageSize, static_cast<int>(c.queries), gpu().stream());
      const TestTensor out(dtype, {c.queries, kWidth}, 16);
      run_on_gpu(
          gpu(), [&](const Tensor& to) { attention.run(gpu_q, gpu_k, gpu_v, to, gpu().stream()); }, out);
      const AttentionReference reference(q, k, v, kHeads, kFa2Errors);
      for (const std::int64_t query : {std::int64_t{0}, c.queries / 2, c.queries - 1}) {
        (void)expect_attention(out, query, 1, reference, rows, what);
      }
      EXPECT_TRUE(out.intact());
    }
  });
}

TEST_F(CudaFlashInferFa2, ARecordedRunServesLaterPlans) {
  constexpr int kQueries = 70;
  for_each_type([&](DType dtype) {
    FlashInferFa2 attention(kHeads, dtype);
    attention.reserve_pages(kPages, gpu().stream());
    const OnGpu q(gpu(), random_tensor(dtype, kQueries, 0, 3, 1));
    const OnGpu k(gpu(), random_tensor(dtype, kPages * kPageSize, 0, 1, 2));
    const OnGpu v(gpu(), random_tensor(dtype, kPages * kPageSize, 0, 1, 3));
    const OnGpu direct(gpu(), TestTensor(dtype, {kQueries, kWidth}));
    const OnGpu replayed(gpu(), TestTensor(dtype, {kQueries, kWidth}));
    const auto run = [&](const OnGpu& out) { attention.run(q, k, v, out, gpu().stream()); };
    cuda::CaptureSignature signature;
    std::unique_ptr<Recording> recording;
    for (const std::int32_t pages : {5, 6, 1, 33, 40}) {
      std::vector<std::int32_t> table;
      for (std::int32_t page = 0; page < pages; ++page) table.push_back(kPages - 1 - page);
      attention.plan_pages(table, pages % kPageSize + 1, kPageSize, kQueries, gpu().stream());
      run(direct);
      if (!recording) {
        signature = attention.signature();
        recording = gpu().record([&] { run(replayed); });
      }
      EXPECT_TRUE(attention.signature() == signature) << pages << " pages";
      gpu().replay(*recording);
      EXPECT_TRUE(direct.bytes() == replayed.bytes()) << pages << " pages";
    }
    attention.plan_pages(std::vector<std::int32_t>{1}, 1, kPageSize, kQueries + 1, gpu().stream());
    EXPECT_FALSE(attention.signature() == signature);
  });
}

TEST_F(CudaFlashInferFa2, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal_of([] { FlashInferFa2(2, DType::f32); }), HasSubstr("found fp32, expected bf16 or fp16"));
  EXPECT_THAT(refusal_of([] { FlashInferFa2(0, DType::f16); }), HasSubstr("found 0 heads"));
  FlashInferFa2 attention(kHeads, DType::f16);
  const OnGpu x(gpu(), TestTensor(DType::f16, {80, kWidth}));
  const OnGpu apart(gpu(), TestTensor(DType::f16, {80, kWidth}, 16));
  const OnGpu odd(gpu(), TestTensor(DType::f16, {80, kWidth}, 3));
  const auto run = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out) {
    return refusal_of([&] { attention.run(q, k, v, out, gpu().stream()); });
  };
  EXPECT_THAT(run(x, x, x, x), HasSubstr("runs before it is planned"));
  const auto plan = [&](std::vector<std::int32_t> table, std::int64_t last) {
    attention.plan_pages(table, last, kPageSize, 10, gpu().stream());
  };
  EXPECT_THAT(refusal_of([&] { plan({}, 1); }), HasSubstr("paged attention of 10 queries over 0 pages"));
  EXPECT_THAT(refusal_of([&] { plan({0}, 38); }), HasSubstr("the last with 38"));
  EXPECT_THAT(refusal_of([&] { plan({-1, 0}, 3); }), HasSubstr("negative page"));
  plan({0, 2}, 3);
  EXPECT_THAT(run(x.view().rows(0, 9), x, x, x), HasSubstr("attention queries: found [9, 128], planned 10 rows"));
  EXPECT_THAT(run(x, x.view().rows(0, 76), x, x), HasSubstr("attention keys: found [76, 128], planned 77 rows"));
  EXPECT_THAT(run(x, x, apart, x), HasSubstr("found row strides 128 and 144"));
  EXPECT_THAT(run(x, x, x, odd), HasSubstr("attention output: rows must start on 16-byte borders"));
}

}  // namespace
}  // namespace lingbot_map::test
