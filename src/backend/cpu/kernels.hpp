#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bf16.hpp"

namespace lingbot_map::cpu {

/// What a matrix product does with its sums before they are stored.
enum class Epilogue : std::uint8_t {
  store,  ///< y = sum + bias
  gelu,   ///< y = gelu(sum + bias), the exact (erf) form
  relu,   ///< y = max(sum + bias, 0)
  add,    ///< y = y + sum + bias, y float32
};

/// A block of a matrix product: rows of A (compact, `k` units each) times panels of B, added to or put into C.
/// A unit is 32 bits: one float32, or two consecutive bfloat16 along k. A panel holds `panel_width` columns of B, unit
/// by unit: [k][panel_width].
struct ProductBlock {
  const void* a = nullptr;
  std::ptrdiff_t a_stride = 0;  ///< units from row to row
  const void* b = nullptr;
  std::ptrdiff_t b_stride = 0;  ///< units from panel to panel
  float* c = nullptr;           ///< [rows, panels * panel_width], 64-byte aligned rows
  std::ptrdiff_t c_stride = 0;  ///< floats from row to row
  int rows = 0;
  int panels = 0;
  int k = 0;
  bool accumulate = false;
};

/// Sums of a product on their way to the output: rows x columns of `sums`, through an epilogue, into `y` (f32 or bf16).
struct EpilogueBlock {
  const float* sums = nullptr;
  std::ptrdiff_t sums_stride = 0;
  const float* bias = nullptr;  ///< null: none
  void* y = nullptr;
  std::ptrdiff_t y_stride = 0;
  int rows = 0;
  int columns = 0;
  Epilogue epilogue = Epilogue::store;
};

/// Queries of one head against the keys and values of that head, softmax(q k^T scale) v, streamed over blocks of keys.
/// All element pointers have the type of the kernel (float or bf16); strides in elements from token to token.
struct AttentionBlock {
  const void* q = nullptr;
  std::ptrdiff_t q_stride = 0;
  const void* k = nullptr;
  std::ptrdiff_t k_stride = 0;
  const void* v = nullptr;
  std::ptrdiff_t v_stride = 0;
  void* out = nullptr;
  std::ptrdiff_t out_stride = 0;
  std::int64_t keys = 0;
  int queries = 0;
  int head_dim = 0;  ///< a multiple of the panel width
  float scale = 1;
  std::byte* scratch = nullptr;  ///< attention_scratch_bytes(queries, head_dim), 64-byte aligned
};

/// How one token's head is normalised and rotated.
struct HeadTransform {
  const float* norm_weight = nullptr;  ///< [head_dim], null: no normalisation
  const float* norm_bias = nullptr;
  float epsilon = 0;
  /// cos and sin of each pair, [pairs][2]; null: no rotation. Pairs are (2j, 2j+1) when interleaved, else (i, i + 16)
  /// within each 32.
  const float* cos_sin = nullptr;
  bool interleaved = false;
};

/// The inner loops of the CPU back end, compiled once for each instruction set.
struct Kernels {
  std::string_view name;
  int panel_width = 0;  ///< columns of B that one panel holds
  bool native_bf16 = false;

  void (*product_f32)(const ProductBlock&) = nullptr;
  void (*product_bf16)(const ProductBlock&) = nullptr;
  void (*epilogue_to_f32)(const EpilogueBlock&) = nullptr;
  void (*epilogue_to_bf16)(const EpilogueBlock&) = nullptr;
  void (*attention_f32)(const AttentionBlock&) = nullptr;
  /// One query against float32 keys, read once and in place: for the camera head, whose queries are one a frame. Needs
  /// no scratch; head_dim at most 256.
  void (*attention_row_f32)(const AttentionBlock&) = nullptr;
  void (*attention_bf16)(const AttentionBlock&) = nullptr;
  void (*to_bf16)(const float* x, std::ptrdiff_t count, bf16* y) = nullptr;
  void (*to_f32)(const bf16* x, std::ptrdiff_t count, float* y) = nullptr;
  /// y = (x - mean) / sqrt(var + epsilon) * weight + bias over `width` values; weight and bias may be null.
  void (*layer_norm_f32)(const float* x, int width, const float* weight, const float* bias, float epsilon,
                         float* y) = nullptr;
  void (*layer_norm_bf16)(const float* x, int width, const float* weight, const float* bias, float epsilon,
                          bf16* y) = nullptr;
  /// One head of one token: normalised, rotated and stored.
  void (*head_f32)(const float* x, int head_dim, const HeadTransform&, float* y) = nullptr;
  void (*head_bf16)(const float* x, int head_dim, const HeadTransform&, bf16* y) = nullptr;
  /// y = (1 - ty) ((1 - tx) a + tx b) + ty ((1 - tx) c + tx d): one bilinear sample of every channel.
  void (*bilinear)(const float* a, const float* b, const float* c, const float* d, float tx, float ty,
                   std::ptrdiff_t count, float* y) = nullptr;
  void (*exp)(const float* x, std::ptrdiff_t count, float* y) = nullptr;
};

/// Bytes of scratch that an AttentionBlock needs, whatever the instruction set.
[[nodiscard]] std::size_t attention_scratch_bytes(int queries, int head_dim);

/// Every kernel set that this processor can run, best first.
[[nodiscard]] std::span<const Kernels* const> available_kernels();

}  // namespace lingbot_map::cpu
