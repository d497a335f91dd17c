#include "attention/cuda/cudnn_attention.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "backend/cuda/cudnn_graph.hpp"
#include "base/message.hpp"

namespace lingbot_map::cuda {
namespace {

using Shape4 = std::array<std::int64_t, 4>;

/// Identifiers of what execute() is given, in the order in which build_plan() makes them.
constexpr std::size_t kQ = 0;
constexpr std::size_t kK = 1;
constexpr std::size_t kV = 2;
constexpr std::size_t kOut = 3;
constexpr std::size_t kScale = 4;
constexpr std::size_t kLowest = 5;
constexpr std::size_t kQueryLengths = 6;
constexpr std::size_t kKeyLengths = 7;

struct Tensors {
  int q, k, v, out, scale, lowest, query_lengths, key_lengths;
};

/// Softmax over the keys step by step, as cuDNN's engines for attention expect it.
void add_composite(CudnnGraph& graph, const CudnnAttentionShape& shape, const Tensors& in) {
  const Shape4 scores_shape = {shape.batch, shape.heads, shape.queries, shape.keys};
  const Shape4 scores_strides = {shape.heads * shape.queries * shape.keys, shape.queries * shape.keys, shape.keys, 1};
  const Shape4 row_shape = {shape.batch, shape.heads, shape.queries, 1};
  const Shape4 row_strides = {shape.heads * shape.queries, shape.queries, 1, 1};
  const auto scores = [&](cudnnDataType_t type) { return graph.virtual_tensor(type, scores_shape, scores_strides); };
  const auto per_row = [&] { return graph.virtual_tensor(CUDNN_DATA_FLOAT, row_shape, row_strides); };

  const int products = scores(CUDNN_DATA_FLOAT);
  graph.matmul(in.q, in.k, products, in.query_lengths, in.key_lengths);
  int logits = scores(CUDNN_DATA_FLOAT);
  graph.pointwise(CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, logits, products, in.scale);
  if (shape.lengths_on_device) {
    const int row = scores(CUDNN_DATA_INT32);
    const int column = scores(CUDNN_DATA_INT32);
    graph.positions(logits, 2, row);
    graph.positions(logits, 3, column);
    const int row_inside = scores(CUDNN_DATA_BOOLEAN);
    const int column_inside = scores(CUDNN_DATA_BOOLEAN);
    const int inside = scores(CUDNN_DATA_BOOLEAN);
    graph.pointwise(CUDNN_POINTWISE_CMP_LT, CUDNN_DATA_BOOLEAN, row_inside, row, in.query_lengths);
    graph.pointwise(CUDNN_POINTWISE_CMP_LT, CUDNN_DATA_BOOLEAN, column_inside, column, in.key_lengths);
    graph.pointwise(CUDNN_POINTWISE_LOGICAL_AND, CUDNN_DATA_BOOLEAN, inside, row_inside, column_inside);
    const int masked = scores(CUDNN_DATA_FLOAT);
    graph.pointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, masked, logits, in.lowest, inside);
    logits = masked;
  }
  const int highest = per_row();
  const int shifted = scores(CUDNN_DATA_FLOAT);
  const int exponentials = scores(CUDNN_DATA_FLOAT);
  const int sums = per_row();
  const int weights = scores(cudnn_type(shape.dtype));
  graph.reduction(CUDNN_REDUCE_TENSOR_MAX, logits, highest);
  graph.pointwise(CUDNN_POINTWISE_SUB, CUDNN_DATA_FLOAT, shifted, logits, highest);
  graph.pointwise(CUDNN_POINTWISE_EXP, CUDNN_DATA_FLOAT, exponentials, shifted);
  graph.reduction(CUDNN_REDUCE_TENSOR_ADD, exponentials, sums);
  // cuDNN knows the pattern by the logarithm of the sums too, which nobody reads.
  const int logarithms = per_row();
  graph.pointwise(CUDNN_POINTWISE_LOG, CUDNN_DATA_FLOAT, logarithms, sums);
  graph.pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, per_row(), highest, logarithms);
  graph.pointwise(CUDNN_POINTWISE_DIV, CUDNN_DATA_FLOAT, weights, exponentials, sums);
  graph.matmul(weights, in.v, in.out, in.query_lengths, -1, in.key_lengths);
}

CudnnPlan build_plan(const CudnnDevice& device, const CudnnAttentionShape& shape) {
  const cudnnDataType_t type = cudnn_type(shape.dtype);
  const bool composite = shape.graph == CudnnAttentionGraph::composite;
  const auto rows_shape = [&](std::int64_t tokens) { return Shape4{shape.batch, shape.heads, tokens, shape.head_dim}; };
  const auto rows_strides = [&](std::int64_t tokens, std::int64_t stride) {
    return Shape4{tokens * stride, shape.head_dim, stride, 1};
  };
  Shape4 k_shape = rows_shape(shape.keys);
  Shape4 k_strides = rows_strides(shape.keys, shape.k_stride);
  if (composite) {  // a plain product takes the transposed keys
    std::swap(k_shape[2], k_shape[3]);
    std::swap(k_strides[2], k_strides[3]);
  }
  const Shape4 lengths_shape = {shape.batch, 1, 1, 1};
  const Shape4 lengths_strides = {1, 1, 1, 1};

  CudnnGraph graph(device);
  Tensors in{};
  in.q = graph.tensor(type, rows_shape(shape.queries), rows_strides(shape.queries, shape.q_stride));
  in.k = graph.tensor(type, k_shape, k_strides);
  in.v = graph.tensor(type, rows_shape(shape.keys), rows_strides(shape.keys, shape.v_stride));
  in.out = graph.tensor(type, rows_shape(shape.queries), rows_strides(shape.queries, shape.out_stride));
  in.scale = graph.scalar();
  in.lowest = graph.scalar();
  in.query_lengths = graph.tensor(CUDNN_DATA_INT32, lengths_shape, lengths_strides);
  in.key_lengths = graph.tensor(CUDNN_DATA_INT32, lengths_shape, lengths_strides);
  if (!shape.lengths_on_device) in.query_lengths = in.key_lengths = -1;

  if (composite) {
    add_composite(graph, shape, in);
  } else {
    graph.attention(in.q, in.k, in.v, in.out, in.scale, in.query_lengths, in.key_lengths);
  }
  return graph.build({.rank = shape.rank});
}

class Plan final : public CudnnAttentionPlan {
 public:
  Plan(CudnnPlan plan, const CudnnAttentionShape& shape)
      : plan_(std::move(plan)), shape_(shape), scale_(1.0F / std::sqrt(static_cast<float>(shape.head_dim))) {}
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return plan_.workspace_bytes(); }
  [[nodiscard]] const std::string& engine() const noexcept override { return plan_.engine(); }
  [[nodiscard]] const CudnnPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] const CudnnAttentionShape& shape() const noexcept { return shape_; }
  [[nodiscard]] float scale() const noexcept { return scale_; }

 private:
  CudnnPlan plan_;
  CudnnAttentionShape shape_;
  float scale_;
};

/// A plan, or why there is none.
struct Entry {
  std::unique_ptr<Plan> plan;
  std::string reason;
};

}  // namespace

struct CudnnAttention::Impl {
  template <typename... Arguments>
  explicit Impl(Arguments&&... arguments) : device(std::forward<Arguments>(arguments)...) {}

  CudnnDevice device;
  std::map<CudnnAttentionShape, Entry> entries;
};

CudnnAttention::CudnnAttention(std::shared_ptr<const CudnnLibrary> library)
    : impl_(std::make_unique<Impl>(std::move(library))) {}

CudnnAttention::CudnnAttention(std::shared_ptr<const CudnnLibrary> library, std::string_view description)
    : impl_(std::make_unique<Impl>(std::move(library), description)) {}

CudnnAttention::~CudnnAttention() = default;

const CudnnAttentionPlan* CudnnAttention::prepare(const CudnnAttentionShape& shape) {
  if (const auto known = impl_->entries.find(shape); known != impl_->entries.end()) return known->second.plan.get();
  for (const std::int64_t stride : {shape.q_stride, shape.k_stride, shape.v_stride, shape.out_stride}) {
    check(stride % 8 == 0 && stride >= shape.heads * shape.head_dim, "rows of attention ", stride, " elements apart");
  }
  Entry entry;
  try {
    entry.plan = std::make_unique<Plan>(build_plan(impl_->device, shape), shape);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    entry.reason = error.what();
  }
  return impl_->entries.emplace(shape, std::move(entry)).first->second.plan.get();
}

const std::string& CudnnAttention::why_not(const CudnnAttentionShape& shape) const {
  const auto known = impl_->entries.find(shape);
  check(known != impl_->entries.end(), "an attention was asked about before it was prepared");
  return known->second.reason;
}

void CudnnAttention::run(const CudnnAttentionPlan& plan, const void* q, const void* k, const void* v, void* out,
                         const std::int32_t* query_lengths, const std::int32_t* key_lengths, void* workspace,
                         cudaStream_t stream) {
  const Plan& own = static_cast<const Plan&>(plan);
  const bool with_lengths = own.shape().lengths_on_device;
  check(!with_lengths || (query_lengths != nullptr && key_lengths != nullptr), "attention without its lengths");
  float scale = own.scale();
  float lowest = -std::numeric_limits<float>::infinity();
  std::array<void*, 8> pointers{};
  pointers[kQ] = const_cast<void*>(q);
  pointers[kK] = const_cast<void*>(k);
  pointers[kV] = const_cast<void*>(v);
  pointers[kOut] = out;
  pointers[kScale] = &scale;
  if (with_lengths) {
    if (own.shape().graph == CudnnAttentionGraph::composite) pointers[kLowest] = &lowest;
    pointers[kQueryLengths] = const_cast<std::int32_t*>(query_lengths);
    pointers[kKeyLengths] = const_cast<std::int32_t*>(key_lengths);
  }
  own.plan().execute(impl_->device, pointers, workspace, stream);
}

}  // namespace lingbot_map::cuda
