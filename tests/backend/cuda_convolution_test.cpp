#include "backend/gpu.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

constexpr Activation kEpilogues[] = {Activation::none, Activation::relu, Activation::add_to_target};

struct Case {
  std::int64_t height;
  std::int64_t width;
  std::int64_t in;
  std::int64_t out;
  int kernel;
  int stride;
  int padding;

  [[nodiscard]] std::int64_t out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  [[nodiscard]] std::int64_t out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
  [[nodiscard]] std::int64_t columns() const { return in * kernel * kernel; }
};

class CudaConvolution : public Gpu {
 protected:
  void compare(const Case& c, Precision precision, Activation activation, bool biased) {
    const std::string what =
        message(c.height, "x", c.width, "x", c.in, " to ", c.out, ", kernel ", c.kernel, " stride ", c.stride, " ",
                name_of(precision), ", activation ", static_cast<int>(activation), biased ? ", bias" : "");
    SCOPED_TRACE(what);
    Random random(static_cast<std::uint32_t>(c.height * 31 + c.in));
    TestTensor x(DType::f32, {c.height, c.width, c.in});
    x.fill(random);
    const float size = 1.0F / std::sqrt(static_cast<float>(c.columns()));
    const std::vector<float> weights = random_values(random, c.out * c.columns(), -size, size);
    const std::vector<float> bias = biased ? random_values(random, c.out) : std::vector<float>();
    TestTensor y(DType::f32, {c.out_height(), c.out_width(), c.out});
    y.fill(random);
    const std::vector<float> before = y.values();
    const auto convolution = [&](Backend& backend, const std::vector<float>& w, const std::vector<float>& b,
                                 Precision in) {
      return Convolution{.product = linear_on(backend, w, b, c.out, c.columns(), in),
                         .kernel = c.kernel,
                         .stride = c.stride,
                         .padding = c.padding};
    };
    const Convolution on_gpu = convolution(gpu(), weights, bias, precision);
    const OnGpu from(gpu(), x);
    EXPECT_NO_THROW(run_on_gpu(
        gpu(), [&](const Tensor& to) { gpu().convolve(from, on_gpu, activation, to); }, y));

    const auto on_cpu = [&](std::vector<float> image, const std::vector<float>& w, const std::vector<float>& b) {
      std::vector<float> result(static_cast<std::size_t>(y.elements()));
      cpu.convolve(Tensor(image.data(), DType::f32, {c.height, c.width, c.in}), convolution(cpu, w, b, Precision::f32),
                   Activation::none, Tensor(result.data(), DType::f32, {c.out_height(), c.out_width(), c.out}));
      return result;
    };
    expect_product(y, cpu_sums(x.values(), weights, bias, c.columns(), precision, on_cpu), precision, activation,
                   before, what);
  }
};

// Windows of so many elements are no rows of whole 16 bytes, which cuDNN would need.
TEST_F(CudaConvolution, AgreesWithTheCpuWhereItIsAProductOfWindows) {
  for (const Case& c : {Case{1, 1, 1, 1, 3, 1, 1}, Case{1, 1, 5, 33, 3, 2, 1}, Case{1, 1, 3, 2, 1, 1, 0},
                        Case{2, 2, 3, 4, 3, 2, 1}, Case{5, 6, 130, 31, 3, 1, 1}, Case{13, 9, 17, 2, 3, 1, 1},
                        Case{6, 5, 33, 40, 1, 1, 0}, Case{17, 20, 3, 33, 3, 1, 1}, Case{6, 7, 5, 3, 3, 1, 0},
                        Case{9, 9, 2, 6, 5, 3, 2}, Case{4, 4, 7, 5, 1, 2, 0}, Case{19, 3, 6, 7, 3, 2, 1}}) {
    for (const Precision precision : {Precision::f32, Precision::tf32}) {
      for (const Activation activation : kEpilogues) {
        for (const bool biased : {true, false}) compare(c, precision, activation, biased);
      }
    }
  }
}

// cuDNN, where it is installed, takes the rows of whole 16 bytes; not relu or a sum without a bias.
TEST_F(CudaConvolution, AgreesWithTheCpuWhereCudnnMayTakeIt) {
  for (const Precision precision : {Precision::f32, Precision::tf32}) {
    for (const Activation activation : kEpilogues) {
      for (const bool biased : {true, false}) compare({9, 11, 8, 16, 3, 1, 1}, precision, activation, biased);
    }
    compare({7, 8, 44, 48, 3, 2, 1}, precision, Activation::none, true);
    compare({12, 10, 64, 36, 1, 1, 0}, precision, Activation::add_to_target, true);
    compare({1, 7, 4, 9, 3, 1, 1}, precision, Activation::relu, true);
  }
}

TEST_F(CudaConvolution, OfTheDepthHeadAgreesWithTheCpu) {
  for (const Precision precision : {Precision::f32, Precision::tf32}) {
    compare({54, 74, 256, 256, 3, 1, 1}, precision, Activation::relu, true);
    compare({27, 37, 1024, 1024, 3, 2, 1}, precision, Activation::none, true);
    compare({108, 148, 256, 256, 1, 1, 0}, precision, Activation::none, true);
    compare({126, 171, 32, 2, 1, 1, 0}, precision, Activation::none, true);
  }
}

// More windows than fit into memory at a time: 16 Mi elements.
TEST_F(CudaConvolution, OfALargeImageIsDoneInParts) {
  compare({150, 130, 101, 3, 3, 1, 1}, Precision::f32, Activation::relu, true);
  compare({150, 130, 104, 3, 3, 1, 1}, Precision::tf32, Activation::relu, false);
}

TEST_F(CudaConvolution, RefusesWhatTheCpuRefuses) {
  const TestTensor x(DType::f32, {5, 6, 2});
  const TestTensor y(DType::f32, {5, 6, 3});
  const auto with = [](int stride, int padding) {
    return [=](Backend& backend, const Tensor& from, const Tensor& to) {
      backend.convolve(from,
                       {.product = linear_on(backend, std::vector<float>(54), {}, 3, 18, Precision::f32),
                        .kernel = 3,
                        .stride = stride,
                        .padding = padding},
                       Activation::none, to);
    };
  };
  refuses("convolve of [5, 6, 2] by [3, 18] into [5, 6, 3]", with(1, 0), x, y);
  refuses("convolve of", with(2, 1), x, y);
  refuses("convolve of", with(0, 1), x, y);
  refuses("convolve of", with(1, 1), y, x);
  refuses("of bf16 and fp32", with(1, 1), TestTensor(DType::bf16, {5, 6, 2}), y);
  refuses("of fp32 and bf16", with(1, 1), x, TestTensor(DType::bf16, {5, 6, 3}));
  refuses("convolve of", with(2, 0), TestTensor(DType::f32, {2, 2, 2}), TestTensor(DType::f32, {1, 1, 3}));
}

TEST_F(CudaConvolution, RefusesWhatItCannotDo) {
  const OnGpu x(gpu(), TestTensor(DType::f32, {5, 6, 2}));
  const OnGpu y(gpu(), TestTensor(DType::f32, {5, 6, 3}));
  const auto with = [&](Precision precision) {
    return Convolution{
        .product = linear_on(gpu(), std::vector<float>(54), {}, 3, 18, precision), .kernel = 3, .padding = 1};
  };
  EXPECT_THAT(refusal_of([&] { gpu().convolve(x, with(Precision::f16), Activation::none, y); }),
              HasSubstr("a convolution of fp16"));
  EXPECT_THAT(refusal_of([&] { gpu().convolve(x, with(Precision::f32), Activation::gelu, y); }),
              HasSubstr("a convolution with gelu"));
}

// ---- Patches -------------------------------------------------------------------------------------------------------

class CudaEmbedding : public Gpu {
 protected:
  struct Size {
    std::int64_t frames;
    std::int64_t rows;
    std::int64_t columns;
    int patch;
    std::int64_t width;
    std::int64_t first;

    [[nodiscard]] std::int64_t patches() const { return rows * columns; }
    [[nodiscard]] std::int64_t in() const { return std::int64_t{3} * patch * patch; }
  };

  /// The patches of all frames as rows of normalised colours, in float32 as both back ends have them.
  static std::vector<float> patch_rows(const Size& s, const std::vector<std::uint8_t>& pixels) {
    constexpr float kMean[] = {0.485F, 0.456F, 0.406F};
    constexpr float kDeviation[] = {0.229F, 0.224F, 0.225F};
    std::vector<float> rows;
    for (std::int64_t n = 0; n < s.frames * s.patches(); ++n) {
      const std::int64_t top = n / s.columns * s.patch;  // frames lie one below the other
      const std::int64_t left = n % s.columns * s.patch;
      for (std::int64_t e = 0; e < s.in(); ++e) {
        const std::int64_t row = top + e / 3 / s.patch;
        const std::int64_t column = left + e / 3 % s.patch;
        const auto at = static_cast<std::size_t>((row * s.columns * s.patch + column) * 3 + e % 3);
        const auto channel = static_cast<std::size_t>(e % 3);
        rows.push_back((static_cast<float>(pixels[at]) / 255.0F - kMean[channel]) / kDeviation[channel]);
      }
    }
    return rows;
  }
};

TEST_F(CudaEmbedding, ProjectsNormalisedPatchesAndAddsPositions) {
  for (const Size& s : {Size{1, 1, 1, 14, 9, 0}, Size{2, 3, 5, 14, 33, 6}, Size{3, 2, 2, 4, 48, 1},
                        Size{5, 4, 3, 3, 7, 2}, Size{2, 27, 37, 14, 1024, 6}}) {
    Random random(7);
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(s.frames * s.patches() * s.in()));
    for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random.integer(0, 255));
    const Buffer images = buffer_on(gpu(), pixels);
    const float size = 1.0F / std::sqrt(static_cast<float>(s.in()));
    const std::vector<float> weights = random_values(random, s.width * s.in(), -size, size);
    const std::vector<float> bias = random_values(random, s.width);
    TestTensor positions(DType::f32, {s.patches(), s.width});
    positions.fill(random);
    const OnGpu positions_on_gpu(gpu(), positions);
    const std::int64_t tokens = s.first + s.patches() + 1;
    for (const Precision precision : precisions()) {
      const std::string what =
          message(s.frames, " frames of ", s.rows, "x", s.columns, " patches of ", s.patch, ", ", name_of(precision));
      SCOPED_TRACE(what);
      TestTensor x(DType::f32, {s.frames, tokens, s.width});
      x.fill(42.0F);
      const Linear projection = linear_on(gpu(), weights, bias, s.width, s.in(), precision);
      EXPECT_NO_THROW(run_on_gpu(
          gpu(),
          [&](const Tensor& to) {
            gpu().embed_patches(
                images.view(DType::u8, {s.frames, s.rows * s.patch, s.columns * s.patch, std::int64_t{3}}), s.patch,
                projection, positions_on_gpu, s.first, to);
          },
          x));
      EXPECT_TRUE(x.intact());

      Sums sums = cpu_product(cpu, patch_rows(s, pixels), weights, bias, s.frames * s.patches(), s.width, precision);
      std::vector<float> got;
      for (std::int64_t i = 0; i < s.frames * s.patches() * s.width; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t in_frame = i % (s.patches() * s.width);
        sums.values[at] += positions[in_frame];
        sums.tolerances[at] += 2 * kUnit * std::abs(sums.values[at]);
        got.push_back(x[(i / (s.patches() * s.width) * tokens + s.first) * s.width + in_frame]);
      }
      expect_close(
          got, sums.values, [&](std::int64_t i) { return sums.tolerances[static_cast<std::size_t>(i)]; }, what);
      if (got.size() > 64) {
        EXPECT_LE(distance(got, sums.values), norm_bound(precision, DType::f32));
      }
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        const std::int64_t token = i / s.width % tokens;
        if (token < s.first || token >= s.first + s.patches()) {
          ASSERT_EQ(x[i], 42.0F) << "token " << token;
        }
      }
    }
  }
}

TEST_F(CudaEmbedding, RefusesWhatTheCpuRefuses) {
  const auto with = [](int patch, std::int64_t out, std::int64_t in, std::int64_t first) {
    return [=](Backend& backend, const Tensor& positions, const Tensor& x) {
      const Buffer pixels = backend.allocate(28 * 42 * 3);
      backend.embed_patches(
          pixels.view(DType::u8, {1, 28, 42, 3}), patch,
          linear_on(backend, std::vector<float>(static_cast<std::size_t>(out * in)), {}, out, in, Precision::f32),
          positions, first, x);
    };
  };
  const char* const text = "embed_patches of [1, 28, 42, 3] into";
  const TestTensor positions(DType::f32, {6, 8});
  const TestTensor x(DType::f32, {1, 7, 8});
  refuses(text, with(14, 8, 588, 2), positions, x);
  refuses(text, with(14, 8, 588, -1), positions, x);
  refuses(text, with(14, 8, 588, 1), TestTensor(DType::f32, {5, 8}), x);
  refuses(text, with(14, 8, 588, 1), positions, TestTensor(DType::f32, {2, 7, 8}));
  refuses(text, with(14, 8, 588, 1), TestTensor(DType::f32, {6, 9}), TestTensor(DType::f32, {1, 7, 9}));
  refuses(text, with(14, 8, 587, 1), positions, x);
  refuses(text, with(13, 8, 588, 1), positions, x);
}

}  // namespace
}  // namespace lingbot_map::test
