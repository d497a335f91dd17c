#include "backend/cpu/matrix.hpp"

#include <algorithm>
#include <cstring>

namespace lingbot_map::cpu {
namespace {

// Sized for 1 MiB of second-level cache: a block of A, the sums, and one panel of B that stays in the first level.
constexpr int kBlockUnits = 384;
constexpr int kBlockRows = 240;
constexpr int kBlockColumns = 512;
constexpr int kRowGranule = 12;

// Multiply-adds that take less time than sharing them out.
constexpr std::int64_t kSmallProduct = 1 << 18;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

int elements_per_unit(DType dtype) { return dtype == DType::bf16 ? 2 : 1; }

/// One thread's block of A and its sums, kept between calls.
struct Workspace {
  Buffer a = Buffer::allocate_cpu(std::size_t{kBlockRows} * kBlockUnits * sizeof(float));
  Buffer sums = Buffer::allocate_cpu(std::size_t{kBlockRows} * kBlockColumns * sizeof(float));
  static Workspace& mine() {
    thread_local Workspace workspace;
    return workspace;
  }
};

}  // namespace

PackedMatrix pack_matrix(const Kernels& kernels, std::span<const float> weights, std::int64_t out, std::int64_t in,
                         DType dtype) {
  check(weights.size() == static_cast<std::size_t>(out * in), "weights of ", weights.size(), " elements for ", out, "x",
        in);
  const int per_unit = elements_per_unit(dtype);
  PackedMatrix matrix;
  matrix.dtype = dtype;
  matrix.in = in;
  matrix.out = out;
  matrix.units = ceil_div(in, per_unit);
  matrix.panels = ceil_div(out, kernels.panel_width);
  matrix.buffer =
      Buffer::allocate_cpu(static_cast<std::size_t>(matrix.panels * matrix.units * kernels.panel_width) * 4);
  const int width = kernels.panel_width;
  for (std::int64_t row = 0; row < out; ++row) {
    const float* source = weights.data() + row * in;
    const std::int64_t start = row / width * matrix.units * width + row % width;
    if (dtype == DType::bf16) {
      auto* packed = static_cast<bf16*>(matrix.buffer.data());
      for (std::int64_t k = 0; k < in; ++k) packed[(start + k / 2 * width) * 2 + k % 2] = bf16(source[k]);
    } else {
      auto* packed = static_cast<float*>(matrix.buffer.data());
      for (std::int64_t k = 0; k < in; ++k) packed[start + k * width] = source[k];
    }
  }
  return matrix;
}

void multiply(const Kernels& kernels, ThreadPool& threads, const RowSource& source, std::int64_t rows,
              const PackedMatrix& weights, const ProductTarget& target) {
  if (rows == 0) return;
  const int width = kernels.panel_width;
  const int per_unit = elements_per_unit(weights.dtype);
  const std::int64_t row_blocks = ceil_div(rows, kBlockRows);
  const auto block_rows = static_cast<int>(ceil_div(ceil_div(rows, row_blocks), kRowGranule) * kRowGranule);
  // Few rows leave the columns to be shared out: narrower blocks, so that every thread has some.
  const std::int64_t wanted = ceil_div(4 * threads.size(), row_blocks);
  const std::int64_t block_panels =
      std::clamp<std::int64_t>(ceil_div(weights.panels, wanted), 1, kBlockColumns / width);
  const std::int64_t column_blocks = ceil_div(weights.panels, block_panels);

  const auto run_block = [&](std::int64_t task, int) {
    const std::int64_t row = task / column_blocks * block_rows;
    const std::int64_t panel = task % column_blocks * block_panels;
    if (row >= rows) return;
    const int count = static_cast<int>(std::min<std::int64_t>(block_rows, rows - row));
    const int panels = static_cast<int>(std::min(block_panels, weights.panels - panel));
    Workspace& workspace = Workspace::mine();
    auto* sums = static_cast<float*>(workspace.sums.data());
    const auto* b = static_cast<const std::uint32_t*>(weights.buffer.data()) + panel * weights.units * width;
    for (std::int64_t unit = 0; unit < weights.units; unit += kBlockUnits) {
      const int units = static_cast<int>(std::min<std::int64_t>(kBlockUnits, weights.units - unit));
      if (weights.dtype == DType::bf16) {
        source.pack(row, count, unit * per_unit, units * per_unit, static_cast<bf16*>(workspace.a.data()),
                    kBlockUnits * 2);
      } else {
        source.pack(row, count, unit, units, static_cast<float*>(workspace.a.data()), kBlockUnits);
      }
      const ProductBlock block{.a = workspace.a.data(),
                               .a_stride = kBlockUnits,
                               .b = b + unit * width,
                               .b_stride = weights.units * width,
                               .c = sums,
                               .c_stride = kBlockColumns,
                               .rows = count,
                               .panels = panels,
                               .k = units,
                               .accumulate = unit > 0};
      (weights.dtype == DType::bf16 ? kernels.product_bf16 : kernels.product_f32)(block);
    }
    const std::int64_t column = panel * width;
    const EpilogueBlock finish{
        .sums = sums,
        .sums_stride = kBlockColumns,
        .bias = target.bias != nullptr ? target.bias + column : nullptr,
        .y = static_cast<std::byte*>(target.data) +
             static_cast<std::size_t>(row * target.stride + column) * size_of(target.dtype),
        .y_stride = target.stride,
        .rows = count,
        .columns = static_cast<int>(std::min<std::int64_t>(std::int64_t{panels} * width, weights.out - column)),
        .epilogue = target.epilogue};
    (target.dtype == DType::bf16 ? kernels.epilogue_to_bf16 : kernels.epilogue_to_f32)(finish);
  };
  const std::int64_t tasks = row_blocks * column_blocks;
  if (rows * weights.units * weights.out < kSmallProduct) {
    for (std::int64_t task = 0; task < tasks; ++task) run_block(task, 0);
  } else {
    threads.parallel_for(tasks, run_block);
  }
}

MatrixRows::MatrixRows(const Kernels& kernels, const Tensor& x) : kernels_(kernels), x_(x) {
  check(x.rank() == 2 && (x.dtype() == DType::f32 || x.dtype() == DType::bf16), "product of ", name_of(x.dtype()),
        x.shape_text());
}

void MatrixRows::pack(std::int64_t row, int rows, std::int64_t first, int count, float* out,
                      std::ptrdiff_t stride) const {
  const auto present = static_cast<int>(std::clamp<std::int64_t>(x_.dim(1) - first, 0, count));
  for (int i = 0; i < rows; ++i, out += stride) {
    const std::int64_t start = (row + i) * x_.row_stride() + first;
    if (x_.dtype() == DType::f32) {
      std::memcpy(out, x_.data<float>() + start, static_cast<std::size_t>(present) * sizeof(float));
    } else {
      kernels_.to_f32(x_.data<bf16>() + start, present, out);
    }
    std::fill(out + present, out + count, 0.0F);
  }
}

void MatrixRows::pack(std::int64_t row, int rows, std::int64_t first, int count, bf16* out,
                      std::ptrdiff_t stride) const {
  const auto present = static_cast<int>(std::clamp<std::int64_t>(x_.dim(1) - first, 0, count));
  for (int i = 0; i < rows; ++i, out += stride) {
    const std::int64_t start = (row + i) * x_.row_stride() + first;
    if (x_.dtype() == DType::bf16) {
      std::copy_n(x_.data<bf16>() + start, present, out);
    } else {
      kernels_.to_bf16(x_.data<float>() + start, present, out);
    }
    std::fill(out + present, out + count, bf16());
  }
}

}  // namespace lingbot_map::cpu
