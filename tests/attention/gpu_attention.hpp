#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention.hpp"
#include "attention/cuda/cuda_attention.hpp"
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

  /// A way to attend: the best of a kind, or a kernel of `sdpa` that is not the best here.
  struct Way {
    AttentionKind kind;
    std::optional<cuda::DenseKernel> kernel{};

    [[nodiscard]] std::string name() const {
      return message(name_of(kind), !kernel                                  ? ""
                                    : *kernel == cuda::DenseKernel::cudnn    ? " by cuDNN"
                                    : *kernel == cuda::DenseKernel::portable ? " by the portable kernel"
                                                                             : " by the kernel for 9.0");
    }
  };
  [[nodiscard]] static std::unique_ptr<Attention> make(const Way& way, DType dtype, int heads) {
    if (!way.kernel) return make_attention(gpu(), way.kind, dtype, heads);
    return std::make_unique<cuda::SdpaCuda>(gpu(), dtype, way.kernel);
  }
  /// The ways that this build and this GPU have for a type.
  [[nodiscard]] static std::vector<Way> ways(DType dtype) {
    std::vector<Way> ways;
    for (const Way& way : {Way{AttentionKind::sdpa}, Way{AttentionKind::sdpa, cuda::DenseKernel::cudnn},
                           Way{AttentionKind::sdpa, cuda::DenseKernel::portable}, Way{AttentionKind::flashinfer}}) {
      try {
        (void)make(way, dtype, 1);
        ways.push_back(way);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
      }
    }
    return ways;
  }
  template <typename Action>
  static void for_each_way(const Action& action) {
    for (const DType dtype : types()) {
      for (const Way& way : ways(dtype)) action(way, dtype);
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
