#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/cpu/cpu_matrix.hpp"

namespace lingbot_map {
namespace {

constexpr std::array<float, 3> kMean = {0.485F, 0.456F, 0.406F};
constexpr std::array<float, 3> kDeviation = {0.229F, 0.224F, 0.225F};

/// Patches of one image as rows of normalised colours: row, column, channel of the patch.
class PatchRows final : public cpu::RowSource {
 public:
  PatchRows(const cpu::Kernels& kernels, const std::uint8_t* image, std::int64_t width, int patch)
      : kernels_(kernels), image_(image), columns_(width / patch), width_(width), patch_(patch) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      for (std::size_t value = 0; value < 256; ++value) {
        normalised_[value * 3 + channel] = (static_cast<float>(value) / 255.0F - kMean[channel]) / kDeviation[channel];
      }
    }
  }

  void pack(std::int64_t row, int rows, std::int64_t first, int count, float* out,
            std::ptrdiff_t stride) const override {
    const std::int64_t length = std::int64_t{patch_} * 3;
    const std::int64_t end = std::min<std::int64_t>(first + count, length * patch_);
    for (int i = 0; i < rows; ++i, out += stride) {
      const std::int64_t top = (row + i) / columns_ * patch_;
      const std::int64_t left = (row + i) % columns_ * patch_;
      for (std::int64_t e = first; e < end; ++e) {
        const std::uint8_t value = image_[((top + e / length) * width_ + left) * 3 + e % length];
        out[e - first] = normalised_[static_cast<std::size_t>(value) * 3 + static_cast<std::size_t>(e % 3)];
      }
      std::fill(out + std::max<std::int64_t>(end - first, 0), out + count, 0.0F);
    }
  }

  void pack(std::int64_t row, int rows, std::int64_t first, int count, bf16* out,
            std::ptrdiff_t stride) const override {
    constexpr int kRun = 256;
    std::array<float, kRun> wide{};
    for (int i = 0; i < rows; ++i, out += stride) {
      for (int at = 0; at < count; at += kRun) {
        const int run = std::min(kRun, count - at);
        pack(row + i, 1, first + at, run, wide.data(), run);
        kernels_.to_bf16(wide.data(), run, out + at);
      }
    }
  }

 private:
  const cpu::Kernels& kernels_;
  const std::uint8_t* image_;
  std::int64_t columns_;
  std::int64_t width_;
  int patch_;
  std::array<float, 256 * 3> normalised_{};
};

/// Windows of a channels-last image as rows: window row, window column, channel; zero outside the image.
class WindowRows final : public cpu::RowSource {
 public:
  WindowRows(const cpu::Kernels& kernels, const Tensor& x, const Convolution& shape, std::int64_t out_width)
      : kernels_(kernels), x_(x), shape_(shape), out_width_(out_width) {}

  void pack(std::int64_t row, int rows, std::int64_t first, int count, float* out,
            std::ptrdiff_t stride) const override {
    for (int i = 0; i < rows; ++i, out += stride) {
      for_pieces(row + i, first, count, [&](int offset, const float* from, int length) {
        if (from != nullptr) {
          std::memcpy(out + offset, from, static_cast<std::size_t>(length) * sizeof(float));
        } else {
          std::fill_n(out + offset, length, 0.0F);
        }
      });
    }
  }

  void pack(std::int64_t row, int rows, std::int64_t first, int count, bf16* out,
            std::ptrdiff_t stride) const override {
    for (int i = 0; i < rows; ++i, out += stride) {
      for_pieces(row + i, first, count, [&](int offset, const float* from, int length) {
        if (from != nullptr) {
          kernels_.to_bf16(from, length, out + offset);
        } else {
          std::fill_n(out + offset, length, bf16());
        }
      });
    }
  }

 private:
  /// Calls piece(offset in the row, source or null for zeros, length) for runs of channels of one tap.
  template <typename Piece>
  void for_pieces(std::int64_t row, std::int64_t first, int count, const Piece& piece) const {
    const std::int64_t channels = x_.dim(2);
    const std::int64_t total = channels * shape_.kernel * shape_.kernel;
    const std::int64_t y0 = row / out_width_ * shape_.stride - shape_.padding;
    const std::int64_t x0 = row % out_width_ * shape_.stride - shape_.padding;
    int offset = 0;
    while (offset < count) {
      const std::int64_t element = first + offset;
      if (element >= total) {
        piece(offset, nullptr, count - offset);
        return;
      }
      const std::int64_t tap = element / channels;
      const std::int64_t channel = element % channels;
      const int length = static_cast<int>(std::min<std::int64_t>(channels - channel, count - offset));
      const std::int64_t y = y0 + tap / shape_.kernel;
      const std::int64_t x = x0 + tap % shape_.kernel;
      const bool inside = y >= 0 && y < x_.dim(0) && x >= 0 && x < x_.dim(1);
      piece(offset, inside ? x_.data<float>() + y * x_.row_stride() + x * channels + channel : nullptr, length);
      offset += length;
    }
  }

  const cpu::Kernels& kernels_;
  Tensor x_;
  const Convolution& shape_;
  std::int64_t out_width_;
};

/// Where output position `i` of an axis lies in the input, corners aligned.
struct Sample {
  std::int64_t low;
  std::int64_t high;
  float weight;  ///< of `high`
};
Sample sample(std::int64_t i, std::int64_t in, std::int64_t out) {
  const float scale = out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0F;
  const float position = scale * static_cast<float>(i);
  const auto low = std::min(static_cast<std::int64_t>(position), in - 1);
  return {low, std::min(low + 1, in - 1), position - static_cast<float>(low)};
}

}  // namespace

void CpuBackend::embed_patches(const Tensor& images, int patch, const Linear& projection, const Tensor& positions,
                               std::int64_t first, const Tensor& x) {
  const std::int64_t patches = positions.dim(0);
  const std::int64_t width = x.dim(2);
  const cpu::PackedMatrix& weights = cpu::packed(projection);
  check(images.rank() == 4 && images.dim(3) == 3 && images.dtype() == DType::u8 && x.rank() == 3 &&
            x.dim(0) == images.dim(0) && positions.rank() == 2 && positions.dim(1) == width && weights.out == width &&
            weights.in == std::int64_t{3} * patch * patch && images.dim(1) % patch == 0 && images.dim(2) % patch == 0 &&
            patches * patch * patch == images.dim(1) * images.dim(2) && first >= 0 && first + patches <= x.dim(1),
        "embed_patches of ", images.shape_text(), " into ", x.shape_text(), ": patches of ", patch, ", projection [",
        weights.out, ", ", weights.in, "], positions ", positions.shape_text(), ", first token ", first);
  for (std::int64_t frame = 0; frame < images.dim(0); ++frame) {
    const Tensor rows(x.data<float>() + frame * x.row_stride() + first * width, DType::f32, {patches, width});
    copy(positions, rows);
    const PatchRows source(kernels_, images.data<std::uint8_t>() + frame * images.row_stride(), images.dim(2), patch);
    cpu::multiply(kernels_, threads_, source, patches, weights,
                  {.data = rows.raw(),
                   .dtype = DType::f32,
                   .stride = width,
                   .bias = cpu::bias_of(projection, width),
                   .epilogue = cpu::Epilogue::add});
  }
}

void CpuBackend::convolve(const Tensor& x, const Convolution& convolution, Activation activation, const Tensor& y) {
  const cpu::PackedMatrix& weights = cpu::packed(convolution.product);
  const auto fits = [&](std::int64_t in, std::int64_t out) {
    const std::int64_t room = in + 2 * convolution.padding - convolution.kernel;
    return room >= 0 && convolution.stride > 0 && out == room / convolution.stride + 1;
  };
  check(x.rank() == 3 && y.rank() == 3 && weights.in == x.dim(2) * convolution.kernel * convolution.kernel &&
            fits(x.dim(0), y.dim(0)) && fits(x.dim(1), y.dim(1)) && y.dim(2) == weights.out && y.contiguous() &&
            x.dtype() == DType::f32 && y.dtype() == DType::f32,
        "convolve of ", x.shape_text(), " by [", weights.out, ", ", weights.in, "] into ", y.shape_text(), " of ",
        name_of(x.dtype()), " and ", name_of(y.dtype()));
  cpu::multiply(kernels_, threads_, WindowRows(kernels_, x, convolution, y.dim(1)), y.dim(0) * y.dim(1), weights,
                {.data = y.raw(),
                 .dtype = DType::f32,
                 .stride = y.dim(2),
                 .bias = cpu::bias_of(convolution.product, weights.out),
                 .epilogue = cpu::epilogue_of(activation)});
}

void CpuBackend::relu(const Tensor& x) {
  threads_.parallel_for(x.dim(0), [&](std::int64_t row, int) {
    float* p = x.data<float>() + row * x.row_stride();
    for (std::int64_t i = 0; i < x.row_elements(); ++i) p[i] = std::max(p[i], 0.0F);
  });
}

void CpuBackend::add(const Tensor& x, const Tensor& y) {
  check(x.dim(0) == y.dim(0) && x.row_elements() == y.row_elements(), "add of ", x.shape_text(), " to ",
        y.shape_text());
  threads_.parallel_for(x.dim(0), [&](std::int64_t row, int) {
    const float* from = x.data<float>() + row * x.row_stride();
    float* to = y.data<float>() + row * y.row_stride();
    for (std::int64_t i = 0; i < x.row_elements(); ++i) to[i] += from[i];
  });
}

void CpuBackend::add_positions(const Tensor& columns, const Tensor& rows, const Tensor& x) {
  const std::int64_t half = x.dim(2) / 2;
  check(columns.dim(0) == x.dim(1) && rows.dim(0) == x.dim(0) && columns.dim(1) == half && rows.dim(1) == half,
        "add_positions of ", columns.shape_text(), " and ", rows.shape_text(), " to ", x.shape_text());
  threads_.parallel_for(x.dim(0), [&](std::int64_t r, int) {
    const float* row = rows.data<float>() + r * half;
    for (std::int64_t c = 0; c < x.dim(1); ++c) {
      const float* column = columns.data<float>() + c * half;
      float* p = x.data<float>() + r * x.row_stride() + c * 2 * half;
      for (std::int64_t i = 0; i < half; ++i) p[i] += column[i];
      for (std::int64_t i = 0; i < half; ++i) p[half + i] += row[i];
    }
  });
}

void CpuBackend::resize(const Tensor& x, const Tensor& y) {
  const std::int64_t channels = x.dim(2);
  check(x.rank() == 3 && y.rank() == 3 && y.dim(2) == channels, "resize of ", x.shape_text(), " to ", y.shape_text());
  threads_.parallel_for(y.dim(0), [&](std::int64_t r, int) {
    const Sample vertical = sample(r, x.dim(0), y.dim(0));
    const float* top = x.data<float>() + vertical.low * x.row_stride();
    const float* bottom = x.data<float>() + vertical.high * x.row_stride();
    float* to = y.data<float>() + r * y.row_stride();
    for (std::int64_t c = 0; c < y.dim(1); ++c, to += channels) {
      const Sample horizontal = sample(c, x.dim(1), y.dim(1));
      const std::int64_t left = horizontal.low * channels;
      const std::int64_t right = horizontal.high * channels;
      kernels_.bilinear(top + left, top + right, bottom + left, bottom + right, horizontal.weight, vertical.weight,
                        channels, to);
    }
  });
}

void CpuBackend::depth_to_space(const Tensor& x, std::int64_t height, std::int64_t width, int factor, const Tensor& y) {
  const std::int64_t channels = y.dim(2);
  check(x.rank() == 2 && y.rank() == 3 && x.dim(0) == height * width && x.dim(1) == channels * factor * factor &&
            y.dim(0) == height * factor && y.dim(1) == width * factor,
        "depth_to_space of ", x.shape_text(), " into ", y.shape_text());
  const std::int64_t run = channels * factor;
  threads_.parallel_for(height, [&](std::int64_t r, int) {
    for (std::int64_t c = 0; c < width; ++c) {
      const float* from = x.data<float>() + (r * width + c) * x.row_stride();
      for (int i = 0; i < factor; ++i) {
        std::memcpy(y.data<float>() + (r * factor + i) * y.row_stride() + c * run, from + i * run,
                    static_cast<std::size_t>(run) * sizeof(float));
      }
    }
  });
}

void CpuBackend::depth_outputs(const Tensor& x, const Tensor& depth, const Tensor& confidence) {
  const auto fits = [&x](const Tensor& y) { return y.rank() == 2 && y.dim(0) == x.dim(0) && y.dim(1) == x.dim(1); };
  check(x.rank() == 3 && x.dim(2) == 2 && fits(depth) && fits(confidence), "depth_outputs of ", x.shape_text(),
        " into ", depth.shape_text(), " and ", confidence.shape_text());
  threads_.parallel_for(x.dim(0), [&](std::int64_t r, int) {
    const float* from = x.data<float>() + r * x.row_stride();
    float* to_depth = depth.data<float>() + r * depth.row_stride();
    float* to_confidence = confidence.data<float>() + r * confidence.row_stride();
    constexpr std::int64_t kRun = 128;
    std::array<float, 2 * kRun> power{};
    for (std::int64_t c = 0; c < x.dim(1); c += kRun) {
      const std::int64_t run = std::min(kRun, x.dim(1) - c);
      kernels_.exp(from + 2 * c, 2 * run, power.data());
      for (std::int64_t i = 0; i < run; ++i) {
        to_depth[c + i] = power[static_cast<std::size_t>(2 * i)];
        to_confidence[c + i] = 1.0F + power[static_cast<std::size_t>(2 * i + 1)];
      }
    }
  });
}

void CpuBackend::point_outputs(const Tensor& x, const Tensor& points, const Tensor& confidence) {
  check(x.rank() == 3 && x.dim(2) == 4 && points.rank() == 3 && points.dim(0) == x.dim(0) &&
            points.dim(1) == x.dim(1) && points.dim(2) == 3 && confidence.rank() == 2 &&
            confidence.dim(0) == x.dim(0) && confidence.dim(1) == x.dim(1),
        "point_outputs of ", x.shape_text(), " into ", points.shape_text(), " and ", confidence.shape_text());
  threads_.parallel_for(x.dim(0), [&](std::int64_t r, int) {
    for (std::int64_t c = 0; c < x.dim(1); ++c) {
      const float* from = x.data<float>() + r * x.row_stride() + c * 4;
      float* to = points.data<float>() + r * points.row_stride() + c * 3;
      for (int i = 0; i < 3; ++i) to[i] = std::copysign(std::expm1(std::abs(from[i])), from[i]);
      confidence.data<float>()[r * confidence.row_stride() + c] = 1.0F + std::exp(from[3]);
    }
  });
}

}  // namespace lingbot_map
