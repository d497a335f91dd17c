#include "bench/peak.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_backend.hpp"
#include "bench/device_time.hpp"
#include "bench/operands.hpp"
#include "stopwatch.hpp"

namespace lingbot_map::tool {
namespace {

/// All threads multiply blocks that stay in first-level cache, with sums in registers.
double cpu_flops(CpuBackend& backend, Precision precision) {
  constexpr int kRows = 12;
  constexpr int kUnits = 192;
  constexpr int kCalls = 4000;
  constexpr int kAttempts = 20;
  const cpu::Kernels& kernels = backend.kernels();
  const bool pairs = storage_of(precision) == DType::bf16;
  const int threads = backend.threads().size();
  double best = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Stopwatch watch;
    backend.threads().parallel_for(threads, [&](std::int64_t, int) {
      Operands operands(backend);
      const cpu::ProductBlock block{.a = operands.tensor(DType::f32, {kRows, kUnits}).raw(),
                                    .a_stride = kUnits,
                                    .b = operands.tensor(DType::f32, {kUnits, kernels.panel_width}).raw(),
                                    .b_stride = 0,
                                    .c = operands.tensor(DType::f32, {kRows, kernels.panel_width}).data<float>(),
                                    .c_stride = kernels.panel_width,
                                    .rows = kRows,
                                    .panels = 1,
                                    .k = kUnits,
                                    .accumulate = false};
      for (int call = 0; call < kCalls; ++call) (pairs ? kernels.product_bf16 : kernels.product_f32)(block);
    });
    const double flops = (pairs ? 4.0 : 2.0) * threads * kCalls * kRows * kUnits * kernels.panel_width;
    best = std::max(best, flops / watch.seconds());
  }
  return best;
}

double best_of(Backend& backend, const std::function<void()>& step) {
  step();
  const std::vector<double> seconds = device_seconds(backend, step, {.repeats = 10, .warmup = 2});
  return *std::min_element(seconds.begin(), seconds.end());
}

double gpu_flops(Backend& backend, Precision precision) {
  constexpr std::int64_t kSide = 8192;
  Operands operands(backend);
  const DType dtype = storage_of(precision);
  const Tensor x = operands.tensor(dtype, {kSide, kSide});
  const Tensor y = operands.tensor(DType::f32, {kSide, kSide});
  const Linear product{.weight = operands.linear(kSide, kSide, precision).weight};
  // The residual stream's product: the one that always goes to the library.
  const double seconds = best_of(backend, [&] { backend.linear(x, product, Activation::add_to_target, y); });
  return 2.0 * kSide * kSide * kSide / seconds;
}

/// Every thread copies a share that no cache holds.
double cpu_bandwidth(CpuBackend& backend) {
  constexpr std::size_t kBytes = std::size_t{1} << 27;
  const int threads = backend.threads().size();
  const std::size_t share = kBytes / static_cast<std::size_t>(threads);
  const Buffer from = backend.allocate(kBytes);
  const Buffer to = backend.allocate(kBytes);
  double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const Stopwatch watch;
    backend.threads().parallel_for(threads, [&](std::int64_t part, int) {
      const std::size_t start = static_cast<std::size_t>(part) * share;
      std::memcpy(static_cast<std::byte*>(to.data()) + start, static_cast<const std::byte*>(from.data()) + start,
                  share);
    });
    best = std::max(best, 2.0 * static_cast<double>(share) * threads / watch.seconds());
  }
  return best;
}

double gpu_bandwidth(Backend& backend) {
  constexpr std::int64_t kRows = 65536;
  constexpr std::int64_t kWidth = 4096;
  const Buffer from = backend.allocate(std::size_t{kRows} * kWidth * sizeof(float));
  const Buffer to = backend.allocate(from.bytes());
  const Tensor x = from.view(DType::f32, {kRows, kWidth});
  const Tensor y = to.view(DType::f32, {kRows, kWidth});
  return 2.0 * static_cast<double>(from.bytes()) / best_of(backend, [&] { backend.copy(x, y); });
}

}  // namespace

double Peak::flops(Precision precision) {
  auto* cpu = dynamic_cast<CpuBackend*>(&backend_);
  if (cpu != nullptr && precision == Precision::tf32) precision = Precision::f32;
  const auto known = flops_.find(precision);
  if (known != flops_.end()) return known->second;
  return flops_[precision] = cpu != nullptr ? cpu_flops(*cpu, precision) : gpu_flops(backend_, precision);
}

double Peak::bandwidth() {
  if (bandwidth_ > 0) return bandwidth_;
  auto* cpu = dynamic_cast<CpuBackend*>(&backend_);
  return bandwidth_ = cpu != nullptr ? cpu_bandwidth(*cpu) : gpu_bandwidth(backend_);
}

}  // namespace lingbot_map::tool
