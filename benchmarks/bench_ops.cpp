// The operations of the CPU back end at the sizes of the official model, each by itself: what a frame's time is made
// of.
//
//   bench_ops [--threads=N] [--kernels=NAME] [--benchmark_filter=product/.*bf16] ...
//
// Names are operation/case/type/size. `GFLOP/s` counts two for a multiply-add; `peak_%` is that against the peak of the
// same kernel set on as many threads: its inner product on operands that stay in the first-level cache and sums that
// stay in registers, the best of several runs before the benchmarks start.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attention/sdpa_cpu.hpp"
#include "backend/cpu/cpu_backend.hpp"

namespace {

using namespace lingbot_map;

constexpr std::int64_t kWidth = 1024;
constexpr int kHeads = 16;
constexpr int kHeadDim = 64;
/// Tokens of a frame of 518x294 and of 518x378 pixels: six special ones and a patch for each 14x14.
constexpr std::int64_t kFrameTokens[] = {783, 1005};

/// Owned tensors of numbers that differ; zero would let denormals or tricks of the processor in.
class Data {
 public:
  Tensor operator()(DType dtype, std::initializer_list<std::int64_t> shape) {
    const Tensor counted(nullptr, dtype, shape);
    buffers_.push_back(Buffer::allocate_cpu(counted.bytes()));
    const Tensor view = buffers_.back().view(dtype, shape);
    for (std::int64_t i = 0; i < view.elements(); ++i) {
      const auto value = static_cast<float>((i * 7919 + 13) % 1009) / 504.5F - 1;
      if (dtype == DType::bf16) {
        view.data<bf16>()[i] = bf16(value);
      } else {
        view.data<float>()[i] = value;
      }
    }
    return view;
  }
  Buffer buffer(std::int64_t count) {
    (void)(*this)(DType::f32, {count});
    return buffers_.back();
  }

 private:
  std::vector<Buffer> buffers_;
};

class Bench {
 public:
  Bench(int threads, const cpu::Kernels* kernels) : backend(threads, kernels) {
    peak_f32_ = measure_peak(DType::f32);
    peak_bf16_ = measure_peak(DType::bf16);
  }

  CpuBackend backend;

  [[nodiscard]] double peak(DType dtype) const { return dtype == DType::bf16 ? peak_bf16_ : peak_f32_; }

  /// Registers `step` under a name. Before its first run `prepare` makes it, so that only what runs takes memory.
  void add(const std::string& name, double flops, DType dtype, std::function<std::function<void()>(Data&)> prepare) {
    benchmark::RegisterBenchmark(
        name.c_str(),
        [this, flops, dtype, prepare = std::move(prepare)](benchmark::State& state) {
          Data data;
          const std::function<void()> step = prepare(data);
          step();
          for (auto _ : state) step();
          if (flops == 0) return;
          const double done = flops * static_cast<double>(state.iterations());
          state.counters["GFLOP/s"] = benchmark::Counter(done * 1e-9, benchmark::Counter::kIsRate);
          state.counters["peak_%"] = benchmark::Counter(100 * done / peak(dtype), benchmark::Counter::kIsRate);
        })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }

 private:
  double measure_peak(DType dtype) {
    using Clock = std::chrono::steady_clock;
    constexpr int kRows = 12;
    constexpr int kUnits = 192;
    constexpr int kCalls = 4000;
    const cpu::Kernels& kernels = backend.kernels();
    const int threads = backend.threads().size();
    double best = 0;
    for (int attempt = 0; attempt < 20; ++attempt) {
      const auto start = Clock::now();
      backend.threads().parallel_for(threads, [&](std::int64_t, int) {
        Data data;
        const Tensor a = data(DType::f32, {kRows, kUnits});
        const Tensor b = data(DType::f32, {kUnits, kernels.panel_width});
        const Tensor c = data(DType::f32, {kRows, kernels.panel_width});
        for (int call = 0; call < kCalls; ++call) {
          (dtype == DType::bf16 ? kernels.product_bf16 : kernels.product_f32)({.a = a.raw(),
                                                                               .a_stride = kUnits,
                                                                               .b = b.raw(),
                                                                               .b_stride = 0,
                                                                               .c = c.data<float>(),
                                                                               .c_stride = kernels.panel_width,
                                                                               .rows = kRows,
                                                                               .panels = 1,
                                                                               .k = kUnits,
                                                                               .accumulate = false});
        }
      });
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const double flops =
          2.0 * threads * kCalls * kRows * kUnits * kernels.panel_width * (dtype == DType::bf16 ? 2 : 1);
      best = std::max(best, flops / seconds);
    }
    return best;
  }

  double peak_f32_ = 0;
  double peak_bf16_ = 0;
};

std::string sized(std::initializer_list<std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

Linear make_linear(Bench& bench, Data& data, std::int64_t out, std::int64_t in, DType dtype) {
  const Tensor weights = data(DType::f32, {out * in});
  return {.weight = bench.backend.pack({weights.data<float>(), static_cast<std::size_t>(out * in)}, out, in,
                                       precision_of(dtype)),
          .bias = data.buffer(out)};
}

void add_products(Bench& bench) {
  struct Case {
    const char* name;
    std::int64_t in;
    std::int64_t out;
    Activation activation;
    bool to_float;
  };
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t rows : kFrameTokens) {
      for (const Case& c : {Case{"qkv", kWidth, 3 * kWidth, Activation::none, true},
                            Case{"projection", kWidth, kWidth, Activation::add_to_target, true},
                            Case{"fc1", kWidth, 4 * kWidth, Activation::gelu, false},
                            Case{"fc2", 4 * kWidth, kWidth, Activation::add_to_target, true}}) {
        bench.add(message("product/", c.name, "/", name_of(dtype), "/", sized({rows, c.in, c.out})),
                  2.0 * static_cast<double>(rows * c.in * c.out), dtype, [&bench, c, rows, dtype](Data& data) {
                    const Tensor x = data(dtype, {rows, c.in});
                    const Tensor y = data(c.to_float ? DType::f32 : dtype, {rows, c.out});
                    return [&bench, c, x, y, linear = make_linear(bench, data, c.out, c.in, dtype)] {
                      bench.backend.linear(x, linear, c.activation, y);
                    };
                  });
      }
    }
  }
  constexpr std::int64_t kIn = 9216;
  bench.add(message("product/camera/fp32/", sized({1, 2048, kIn})), 2.0 * 2048 * kIn, DType::f32, [&bench](Data& data) {
    const Tensor x = data(DType::f32, {1, 2048});
    const Tensor y = data(DType::f32, {1, kIn});
    return [&bench, x, y, linear = make_linear(bench, data, kIn, 2048, DType::f32)] {
      bench.backend.linear(x, linear, Activation::none, y);
    };
  });
}

void add_attention(Bench& bench) {
  const auto flops = [](std::int64_t queries, std::int64_t keys) {
    return 4.0 * static_cast<double>(queries * keys * kWidth);
  };
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t tokens : kFrameTokens) {
      bench.add(message("attention/within_frame/", name_of(dtype), "/", sized({tokens, tokens})), flops(tokens, tokens),
                dtype, [&bench, tokens, dtype](Data& data) {
                  const Tensor q = data(dtype, {tokens, kWidth});
                  const Tensor k = data(dtype, {tokens, kWidth});
                  const Tensor v = data(dtype, {tokens, kWidth});
                  const Tensor out = data(dtype, {tokens, kWidth});
                  return [q, k, v, out, sdpa = std::make_shared<SdpaCpu>(bench.backend)] {
                    sdpa->within_frames(q, k, v, 1, kHeads, out);
                  };
                });
    }
    constexpr std::int64_t kQueries = 783;
    constexpr int kPatches = 12'494;
    bench.add(
        message("attention/cache/", name_of(dtype), "/", sized({kQueries, kPatches + 6})),
        flops(kQueries, kPatches + 6), dtype, [&bench, dtype](Data& data) {
          TwoStreamCache cache({.scale_frames = 1, .window = 1, .patches_per_frame = kPatches});
          auto store = std::make_shared<KvStore>(
              KvStore::Shape{.layers = 1, .slot_tokens = cache.slot_tokens(), .width = kWidth, .dtype = dtype});
          (void)cache.append_scale_frames(1);
          store->prepare(cache.visible());
          const VisibleRange range = cache.visible();
          bench.backend.copy(data(dtype, {range.tokens, kWidth}), store->keys(0).rows(range.first_token, range.tokens));
          bench.backend.copy(data(dtype, {range.tokens, kWidth}),
                             store->values(0).rows(range.first_token, range.tokens));
          const Tensor q = data(dtype, {kQueries, kWidth});
          const Tensor out = data(dtype, {kQueries, kWidth});
          auto sdpa = std::make_shared<SdpaCpu>(bench.backend);
          sdpa->plan(cache, q.dim(0));
          return [q, out, store, sdpa] { sdpa->run(*store, 0, q, kHeads, out); };
        });
  }
  static constexpr std::int64_t kFrames = 1000;
  bench.add(message("attention/over_rows/fp32/", sized({1, kFrames})), flops(1, 2 * kFrames), DType::f32,
            [&bench](Data& data) {
              const Tensor k = data(DType::f32, {kFrames, 2 * kWidth});
              const Tensor v = data(DType::f32, {kFrames, 2 * kWidth});
              const Tensor q = data(DType::f32, {1, 2 * kWidth});
              const Tensor out = data(DType::f32, {1, 2 * kWidth});
              const auto count = std::make_shared<std::int64_t>(kFrames);
              return [q, k, v, out, count, sdpa = std::make_shared<SdpaCpu>(bench.backend)] {
                sdpa->over_rows(q, k, v, Tensor(count.get(), DType::i64, {1}), kHeads, out);
              };
            });
}

/// The depth head's convolutions at 518x294: a grid of 37x21 patches.
void add_convolutions(Bench& bench) {
  struct Case {
    const char* name;
    std::int64_t height;
    std::int64_t width;
    std::int64_t in;
    std::int64_t out;
    int stride;
  };
  for (const Case& c : {Case{"reduce", 21, 37, 1024, 1024, 2}, Case{"adapt1", 84, 148, 256, 256, 1},
                        Case{"adapt2", 42, 74, 512, 256, 1}, Case{"adapt3", 21, 37, 1024, 256, 1},
                        Case{"adapt4", 11, 19, 1024, 256, 1}, Case{"residual2", 42, 74, 256, 256, 1},
                        Case{"out1", 168, 296, 256, 128, 1}, Case{"out2", 294, 518, 128, 32, 1}}) {
    const std::int64_t height = (c.height - 1) / c.stride + 1;
    const std::int64_t width = (c.width - 1) / c.stride + 1;
    bench.add(message("convolve/", c.name, "/fp32/", sized({c.height, c.width, c.in, c.out})),
              18.0 * static_cast<double>(height * width * c.in * c.out), DType::f32,
              [&bench, c, height, width](Data& data) {
                const Tensor x = data(DType::f32, {c.height, c.width, c.in});
                const Tensor y = data(DType::f32, {height, width, c.out});
                const Convolution convolution{.product = make_linear(bench, data, c.out, 9 * c.in, DType::f32),
                                              .kernel = 3,
                                              .stride = c.stride,
                                              .padding = 1};
                return [&bench, x, y, convolution] { bench.backend.convolve(x, convolution, Activation::relu, y); };
              });
  }
}

void add_rows(Bench& bench) {
  constexpr std::int64_t kTokens = 783;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    bench.add(message("layer_norm/to_", name_of(dtype), "/", sized({kTokens, kWidth})), 0, dtype,
              [&bench, dtype](Data& data) {
                const Tensor x = data(DType::f32, {kTokens, kWidth});
                const Tensor y = data(dtype, {kTokens, kWidth});
                const Norm norm{.weight = data.buffer(kWidth), .bias = data.buffer(kWidth), .epsilon = 1e-5F};
                return [&bench, x, y, norm] { bench.backend.layer_norm(x, norm, y); };
              });
    for (const bool interleaved : {false, true}) {
      bench.add(message("split_heads/", interleaved ? "global" : "frame", "/", name_of(dtype), "/",
                        sized({kTokens, 3 * kWidth})),
                0, dtype, [&bench, dtype, interleaved](Data& data) {
                  const Tensor qkv = data(DType::f32, {kTokens, 3 * kWidth});
                  const Tensor q = data(dtype, {kTokens, kWidth});
                  const KeyValueTarget target{.keys = data(dtype, {kTokens, kWidth}),
                                              .values = data(dtype, {kTokens, kWidth})};
                  const auto norm = std::make_shared<Norm>(
                      Norm{.weight = data.buffer(kHeadDim), .bias = data.buffer(kHeadDim), .epsilon = 1e-5F});
                  HeadSplit split{.heads = kHeads,
                                  .head_dim = kHeadDim,
                                  .q_norm = norm.get(),
                                  .k_norm = norm.get(),
                                  .rotary = {.interleaved = interleaved}};
                  if (interleaved) split.rotary.temporal = data(DType::f32, {1, 10, 2});
                  split.rotary.spatial = data(DType::f32, {kTokens, interleaved ? 22 : 32, 2});
                  return [&bench, qkv, q, target, norm, split] { bench.backend.split_heads(qkv, 1, split, q, target); };
                });
    }
  }
  bench.add("embed_patches/fp32/294x518", 2.0 * 777 * 588 * kWidth, DType::f32, [&bench](Data& data) {
    const Tensor images = data(DType::f32, {294 * 518});  // any bytes will do
    const Tensor pixels(images.raw(), DType::u8, {1, 294, 518, 3});
    const Tensor positions = data(DType::f32, {777, kWidth});
    const Tensor x = data(DType::f32, {1, 783, kWidth});
    return [&bench, pixels, positions, x, linear = make_linear(bench, data, kWidth, 588, DType::f32)] {
      bench.backend.embed_patches(pixels, 14, linear, positions, 6, x);
    };
  });
}

void add_images(Bench& bench) {
  bench.add("resize/fusion/fp32/84x148x256_to_168x296", 0, DType::f32, [&bench](Data& data) {
    const Tensor x = data(DType::f32, {84, 148, 256});
    const Tensor y = data(DType::f32, {168, 296, 256});
    return [&bench, x, y] { bench.backend.resize(x, y); };
  });
  bench.add("resize/pixels/fp32/168x296x128_to_294x518", 0, DType::f32, [&bench](Data& data) {
    const Tensor x = data(DType::f32, {168, 296, 128});
    const Tensor y = data(DType::f32, {294, 518, 128});
    return [&bench, x, y] { bench.backend.resize(x, y); };
  });
  bench.add("add_positions/fp32/294x518x128", 0, DType::f32, [&bench](Data& data) {
    const Tensor columns = data(DType::f32, {518, 64});
    const Tensor rows = data(DType::f32, {294, 64});
    const Tensor x = data(DType::f32, {294, 518, 128});
    return [&bench, columns, rows, x] { bench.backend.add_positions(columns, rows, x); };
  });
  bench.add("depth_outputs/fp32/294x518", 0, DType::f32, [&bench](Data& data) {
    const Tensor x = data(DType::f32, {294, 518, 2});
    const Tensor depth = data(DType::f32, {294, 518});
    const Tensor confidence = data(DType::f32, {294, 518});
    return [&bench, x, depth, confidence] { bench.backend.depth_outputs(x, depth, confidence); };
  });
}

/// Takes `--name=value` out of the arguments.
std::string take_option(int& argc, char** argv, std::string_view name) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(name) || argument.substr(name.size(), 1) != "=") continue;
    std::copy(argv + i + 1, argv + argc + 1, argv + i);
    --argc;
    return std::string(argument.substr(name.size() + 1));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string threads = take_option(argc, argv, "--threads");
  const std::string name = take_option(argc, argv, "--kernels");
  const auto sets = cpu::available_kernels();
  const auto chosen = name.empty() ? sets.begin() : std::ranges::find(sets, name, &cpu::Kernels::name);
  benchmark::Initialize(&argc, argv);
  if (chosen == sets.end() || benchmark::ReportUnrecognizedArguments(argc, argv)) {
    std::fputs("usage: bench_ops [--threads=N] [--kernels=NAME] [--benchmark_...]; kernels of this processor:", stderr);
    for (const cpu::Kernels* set : sets) std::fprintf(stderr, " %s", std::string(set->name).c_str());
    std::fputs("\n", stderr);
    return 2;
  }
  Bench bench(std::atoi(threads.c_str()), *chosen);
  benchmark::AddCustomContext("kernels", std::string((*chosen)->name));
  benchmark::AddCustomContext("threads", std::to_string(bench.backend.threads_used()));
  benchmark::AddCustomContext("peak fp32", message(std::lround(bench.peak(DType::f32) * 1e-9), " GFLOP/s"));
  benchmark::AddCustomContext("peak bf16", message(std::lround(bench.peak(DType::bf16) * 1e-9), " GFLOP/s"));
  add_products(bench);
  add_attention(bench);
  add_convolutions(bench);
  add_rows(bench);
  add_images(bench);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
