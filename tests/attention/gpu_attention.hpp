#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attention/attention.hpp"
#include "attention/reference.hpp"
#include "backend/gpu.hpp"

namespace lingbot_map::test {

/// The GPU's exponentials are within 2^-22, of arguments that were rounded once.
inline constexpr AttentionErrors kErrors{.exponential = 0x1p-21};

/// Tests of attention on a GPU.
class GpuAttention : public Gpu {
 protected:
  /// Queries, keys and values of random numbers, here and on the GPU.
  class Inputs {
   public:
    Inputs(Backend& gpu, DType dtype, std::int64_t rows, std::int64_t width, Random& random, std::int64_t gap)
        : Inputs(gpu, random_tensor(dtype, rows, width, gap, random, 3),
                 random_tensor(dtype, rows, width, gap, random, 1), random_tensor(dtype, rows, width, gap, random, 1)) {
    }
    Inputs(Backend& gpu, const TestTensor& q, const TestTensor& k, const TestTensor& v)
        : q_(q), k_(k), v_(v), on_gpu_q_(gpu, q), on_gpu_k_(gpu, k), on_gpu_v_(gpu, v) {}

    void within_frames(Attention& attention, int frames, int heads, const Tensor& out) const {
      attention.within_frames(on_gpu_q_, on_gpu_k_, on_gpu_v_, frames, heads, out);
    }
    [[nodiscard]] AttentionReference reference(int heads) const { return {q_, k_, v_, heads, kErrors}; }

   private:
    static TestTensor random_tensor(DType dtype, std::int64_t rows, std::int64_t width, std::int64_t gap,
                                    Random& random, float most) {
      TestTensor x(dtype, {rows, width}, gap);
      x.fill(random, -most, most);
      return x;
    }

    TestTensor q_;
    TestTensor k_;
    TestTensor v_;
    OnGpu on_gpu_q_;
    OnGpu on_gpu_k_;
    OnGpu on_gpu_v_;
  };

  /// The kinds that this build and this GPU have for a type.
  [[nodiscard]] static std::vector<AttentionKind> kinds(DType dtype) {
    std::vector<AttentionKind> kinds = {AttentionKind::sdpa};
    try {
      (void)make_attention(gpu(), AttentionKind::flashinfer, dtype, 1);
      kinds.push_back(AttentionKind::flashinfer);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    }
    return kinds;
  }
  template <typename Action>
  static void for_each_kind(const Action& action) {
    for (const DType dtype : types()) {
      for (const AttentionKind kind : kinds(dtype)) action(kind, dtype);
    }
  }

  /// expect_attention(), and float32 to 1e-6 of all elements' norm.
  static void expect_within(const TestTensor& out, std::int64_t first_query, std::int64_t queries,
                            const AttentionReference& reference, std::span<const std::int64_t> key_rows, DType dtype,
                            const std::string& what) {
    const double error = expect_attention(out, first_query, queries, reference, key_rows, what);
    if (dtype == DType::f32) {
      EXPECT_LE(error, 1e-6) << what;
    }
  }
};

}  // namespace lingbot_map::test
