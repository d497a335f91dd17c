#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tensor/buffer.hpp"
#include "tensor/growing_memory.hpp"
#include "tensor/tensor.hpp"

namespace lingbot_map {

/// What the operands of a product are rounded to before they are multiplied. Sums are float32 always.
enum class Precision : std::uint8_t {
  f32,   ///< not at all
  tf32,  ///< to 10 bits of mantissa where the device has that (float32 elsewhere); stored as float32
  bf16,
  f16,
};
/// The type in which weights of a precision are stored.
[[nodiscard]] DType storage_of(Precision precision) noexcept;
/// The precision of products in a type: f32, bf16 or f16. Throws Error(internal) on others.
[[nodiscard]] Precision precision_of(DType dtype);

/// Weights of a product [out, in] as one back end likes them: packed, on its device. Opaque to everyone else.
class Matrix {
 public:
  virtual ~Matrix() = default;
  [[nodiscard]] virtual std::int64_t in() const noexcept = 0;
  [[nodiscard]] virtual std::int64_t out() const noexcept = 0;
  [[nodiscard]] virtual DType dtype() const noexcept = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
};

/// y = scale (x W^T) + b.
struct Linear {
  std::shared_ptr<const Matrix> weight;
  Buffer bias{};   ///< [out] float32 on the device; empty: none
  Buffer scale{};  ///< [out] float32 on the device; empty: none. Only with Activation::add_to_target.
};

/// A square convolution with zero padding over channels-last images, as a product of [out, kernel * kernel * in].
struct Convolution {
  Linear product;  ///< columns ordered kernel row, kernel column, input channel
  int kernel = 1;
  int stride = 1;
  int padding = 0;
};

/// Learned scale and offset of a normalisation, [width] float32 each.
struct Norm {
  Buffer weight;
  Buffer bias;
  float epsilon = 0;
};

/// What a product does with its sums.
enum class Activation : std::uint8_t {
  none,
  gelu,  ///< exact (erf)
  relu,
  add_to_target,  ///< y += x W^T + b, y float32: the residual stream
};

/// Rotary positions of the tokens of some frames. Pair j of a head turns by the angle of temporal[frame][j] for j below
/// the temporal count, by spatial[token][j - count] above it. Each entry is (cos, sin).
struct Rotary {
  Tensor temporal{};         ///< float32 [frames, pairs, 2]; empty: none
  Tensor spatial{};          ///< float32 [tokens, pairs, 2]; one row serves every token; empty: none
  bool interleaved = false;  ///< pairs are elements (2j, 2j + 1); else (i, i + 16) within each 32 elements
};

/// Where the keys and values of some frames go: rows of two planes [rows, width].
struct KeyValueTarget {
  Tensor keys;
  Tensor values;
  /// i64 [frames, 2], read when the operation runs: for each frame the row of its first patch token and that of its
  /// first special token. Empty: frames lie one after the other from row 0 on.
  Tensor places{};
  std::int64_t specials = 0;  ///< the first tokens of every frame that go to its special rows; 0 without places
};

/// How q, k and v of a block are made from one product.
struct HeadSplit {
  int heads = 0;
  int head_dim = 0;
  const Norm* q_norm = nullptr;  ///< over head_dim, one for all heads; null: none
  const Norm* k_norm = nullptr;
  Rotary rotary;
};

/// One frame's way to the device and back, beside the work of other frames. Calls come in the order input, send,
/// receive, output; then again. The back end outlives it.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Host memory to fill before send(); free to write as soon as the call returns.
  [[nodiscard]] virtual std::span<std::byte> input() = 0;
  /// Copies the first target.bytes() of input() to a contiguous view before the operations that are called later.
  virtual void send(const Tensor& target) = 0;
  /// Takes contiguous views, one after the other, as the operations called so far leave them.
  virtual void receive(std::span<const Tensor> sources) = 0;
  /// What receive() took, once it is there. Valid until the next input().
  [[nodiscard]] virtual std::span<const std::byte> output() = 0;
};

/// Operations that were recorded, to be run again on the same memory.
class Recording {
 public:
  virtual ~Recording() = default;
};

/// Measures how long parts of the work take on the device.
class StageClock {
 public:
  virtual ~StageClock() = default;
  /// Begins a part; parts may not overlap.
  virtual void start() = 0;
  /// Ends it: its seconds are added to `total` now or at the next settle().
  virtual void stop(double& total) = 0;
  /// Waits for all parts and adds what is missing.
  virtual void settle() = 0;
};

/// The steps that the network takes, on views of one device's memory. Arguments named first are read, the last ones
/// written. "rows" of a tensor may be strided as Tensor allows. Activations are float32 or the model's type; sums,
/// normalisations and the residual stream are always float32. Calls on one back end from several sessions are safe and
/// take turns.
///
/// Every operation throws Error(internal) on shapes or types that do not fit: a defect of the caller.
class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual Device device() const noexcept = 0;
  /// The type of products that a model takes when nobody asks for one.
  [[nodiscard]] virtual DType preferred_dtype() const noexcept = 0;
  /// Whether products can be of this type.
  [[nodiscard]] virtual bool supports(DType dtype) const noexcept = 0;
  /// Threads of the host that share the work.
  [[nodiscard]] virtual int threads_used() const noexcept = 0;

  // ---- Memory ------------------------------------------------------------------------------------------------------
  /// Zeroed memory of the device. Throws Error(resource).
  [[nodiscard]] virtual Buffer allocate(std::size_t bytes) = 0;
  /// Copies host memory to the device; contiguous views of the same size.
  virtual void upload(std::span<const std::byte> source, const Tensor& target) = 0;
  /// Copies to host memory, after everything before it is done.
  virtual void download(const Tensor& source, std::span<std::byte> target) = 0;
  [[nodiscard]] virtual GrowingMemoryMaker growing_memory() = 0;
  /// Memory of the device beside what is asked for: what operations on frames of so many pixels work in, and what the
  /// driver and its libraries take in every process.
  struct Overhead {
    std::size_t workspace = 0;
    std::size_t context = 0;
  };
  [[nodiscard]] virtual Overhead overhead(std::int64_t pixels, DType dtype) const;
  /// A way for up to so many bytes each way.
  [[nodiscard]] virtual std::unique_ptr<Transfer> make_transfer(std::size_t in_bytes, std::size_t out_bytes) = 0;

  // ---- Order -------------------------------------------------------------------------------------------------------
  // Operations run in the order of their calls; a device may run them later than they are called.
  /// Calls both; what they do may overlap, so neither may read what the other writes. Later operations wait for both.
  virtual void beside(const std::function<void()>& first, const std::function<void()>& second) = 0;
  /// Calls `work` and records its operations instead of running them, host memory uploads included: `work` must neither
  /// upload nor download. Null when this back end cannot; then `work` was not called.
  [[nodiscard]] virtual std::unique_ptr<Recording> record(const std::function<void()>& work) = 0;
  /// Runs what was recorded: the same bits as running it directly.
  virtual void replay(const Recording& recording) = 0;
  [[nodiscard]] virtual std::unique_ptr<StageClock> make_clock() = 0;

  // ---- Weights -----------------------------------------------------------------------------------------------------
  /// weights [out, in] row-major float32, rounded to nearest even where `precision` is narrower.
  [[nodiscard]] virtual std::shared_ptr<const Matrix> pack(std::span<const float> weights, std::int64_t out,
                                                           std::int64_t in, Precision precision) = 0;

  // ---- Tokens ------------------------------------------------------------------------------------------------------
  /// x[frame][first + n] = projection(normalised patch n) + positions[n]: images u8 [frames, height, width, 3] in RGB
  /// are scaled to [0, 1], normalised with ImageNet's mean and deviation in float32 and cut into patch x patch squares
  /// in row-major order; the projection's columns are ordered row, column, channel of the patch. positions float32
  /// [patches, C], x float32 [frames, tokens, C].
  virtual void embed_patches(const Tensor& images, int patch, const Linear& projection, const Tensor& positions,
                             std::int64_t first, const Tensor& x) = 0;
  /// Copies rows [n, width] of the same type.
  virtual void copy(const Tensor& source, const Tensor& target) = 0;
  /// Sets every element of a contiguous view to zero.
  virtual void clear(const Tensor& target) = 0;

  // ---- Transformer blocks ------------------------------------------------------------------------------------------
  /// Normalises rows of x float32 [n, width] into y [n, width], f32 or the model's type.
  virtual void layer_norm(const Tensor& x, const Norm& norm, const Tensor& y) = 0;
  /// x [n, in] f32 or the weights' type; y [n, out] f32 or the weights' type.
  virtual void linear(const Tensor& x, const Linear& linear, Activation activation, const Tensor& y) = 0;
  /// qkv float32 [frames * tokens, 3 * heads * head_dim], ordered q, k, v, then head. Normalises q and k, rotates them,
  /// and writes q [frames * tokens, width] and the keys and values to their target.
  virtual void split_heads(const Tensor& qkv, std::int64_t frames, const HeadSplit& split, const Tensor& q,
                           const KeyValueTarget& target) = 0;
  /// linear() and split_heads() in one: the heads of x [frames * tokens, in] by weights [3 * width, in]. `scratch`
  /// float32 [frames * tokens, 3 * width] is for what lies between, where something does.
  virtual void linear_heads(const Tensor& x, const Linear& qkv, std::int64_t frames, const HeadSplit& split,
                            const Tensor& scratch, const Tensor& q, const KeyValueTarget& target) {
    linear(x, qkv, Activation::none, scratch);
    split_heads(scratch, frames, split, q, target);
  }

  // ---- Camera head -------------------------------------------------------------------------------------------------
  virtual void silu(const Tensor& x, const Tensor& y) = 0;
  /// y = x + gate * (normalise(x; 1e-6) * (1 + scale) + shift), modulation [n, 3 * width] = shift, scale, gate. All
  /// float32.
  virtual void modulate(const Tensor& x, const Tensor& modulation, const Tensor& y) = 0;

  // ---- Depth head: float32 images, channels last [height, width, channels] -----------------------------------------
  virtual void convolve(const Tensor& x, const Convolution& convolution, Activation activation, const Tensor& y) = 0;
  /// x = max(x, 0) in place.
  virtual void relu(const Tensor& x) = 0;
  /// y += x.
  virtual void add(const Tensor& x, const Tensor& y) = 0;
  /// x[r][c] += (columns[c], rows[r]): columns [width, channels / 2], rows [height, channels / 2].
  virtual void add_positions(const Tensor& columns, const Tensor& rows, const Tensor& x) = 0;
  /// Bilinear, corners aligned.
  virtual void resize(const Tensor& x, const Tensor& y) = 0;
  /// x [height * width, factor * factor * channels] to y [height * factor, width * factor, channels].
  virtual void depth_to_space(const Tensor& x, std::int64_t height, std::int64_t width, int factor,
                              const Tensor& y) = 0;
  /// x [height, width, 2]: depth = exp(x0), confidence = 1 + exp(x1), each [height, width].
  virtual void depth_outputs(const Tensor& x, const Tensor& depth, const Tensor& confidence) = 0;
  /// x [height, width, 4]: point = sign(v) (exp|v| - 1) of the first three, confidence = 1 + exp(x3).
  virtual void point_outputs(const Tensor& x, const Tensor& points, const Tensor& confidence) = 0;
};

}  // namespace lingbot_map
