#include "attention/sdpa_cpu.hpp"

#include <algorithm>
#include <cmath>

namespace lingbot_map {
namespace {

// Queries of one task: their sums and state stay in the second-level cache while all keys pass by.
constexpr std::int64_t kMostQueries = 1020;
constexpr std::int64_t kQueryGranule = 12;

const std::byte* element(const Tensor& x, std::int64_t row, std::int64_t column) {
  return static_cast<const std::byte*>(x.raw()) +
         static_cast<std::size_t>(row * x.row_stride() + column) * size_of(x.dtype());
}

/// Whether queries and keys of these shapes fit each other and the kernels; gives the size of a head.
int checked_head_dim(const cpu::Kernels& kernels, const Tensor& q, const Tensor& k, const Tensor& v, int heads,
                     const Tensor& out) {
  const auto fits = [&q](const Tensor& x, std::int64_t rows) {
    return x.rank() == 2 && x.dim(0) == rows && x.dim(1) == q.dim(1) && x.dtype() == q.dtype();
  };
  check(q.rank() == 2 && k.rank() == 2 && k.dim(0) > 0 && fits(k, k.dim(0)) && fits(v, k.dim(0)) &&
            fits(out, q.dim(0)) && (q.dtype() == DType::f32 || q.dtype() == DType::bf16),
        "attention of ", q.shape_text(), " over ", k.shape_text(), " and ", v.shape_text(), " into ", out.shape_text(),
        ", all ", name_of(q.dtype()));
  const std::int64_t granule = std::int64_t{heads} * kernels.panel_width;
  check(heads > 0 && q.dim(1) % granule == 0, heads, " heads of ", q.dim(1), " elements: expected a multiple of ",
        granule);
  return static_cast<int>(q.dim(1) / heads);
}

}  // namespace

void SdpaCpu::attend(std::span<const Group> groups, int heads) {
  const Tensor& first = groups.front().q;
  const int head_dim =
      checked_head_dim(backend_.kernels(), first, groups.front().k, groups.front().v, heads, groups.front().out);
  const std::int64_t queries = first.dim(0);
  const int threads = backend_.threads().size();
  const auto tasks_without_split = static_cast<std::int64_t>(groups.size()) * heads;
  const std::int64_t wanted =
      std::max((queries + kMostQueries - 1) / kMostQueries, (threads + tasks_without_split - 1) / tasks_without_split);
  const std::int64_t share = ((queries + wanted - 1) / wanted + kQueryGranule - 1) / kQueryGranule * kQueryGranule;
  const std::int64_t parts = (queries + share - 1) / share;

  const std::size_t bytes = cpu::attention_scratch_bytes(static_cast<int>(share), head_dim);
  scratch_.resize(static_cast<std::size_t>(threads));
  for (Buffer& buffer : scratch_) {
    if (buffer.bytes() < bytes) buffer = Buffer::allocate_cpu(bytes);
  }
  const auto& kernels = backend_.kernels();
  backend_.threads().parallel_for(tasks_without_split * parts, [&](std::int64_t task, int thread) {
    const std::int64_t part = task % parts;
    const std::int64_t head = task / parts % heads * head_dim;
    const Group& group = groups[static_cast<std::size_t>(task / parts / heads)];
    const std::int64_t row = part * share;
    const cpu::AttentionBlock block{
        .q = element(group.q, row, head),
        .q_stride = group.q.row_stride(),
        .k = element(group.k, 0, head),
        .k_stride = group.k.row_stride(),
        .v = element(group.v, 0, head),
        .v_stride = group.v.row_stride(),
        .out = const_cast<std::byte*>(element(group.out, row, head)),
        .out_stride = group.out.row_stride(),
        .keys = group.k.dim(0),
        .queries = static_cast<int>(std::min(share, queries - row)),
        .head_dim = head_dim,
        .scale = 1.0F / std::sqrt(static_cast<float>(head_dim)),
        .scratch = static_cast<std::byte*>(scratch_[static_cast<std::size_t>(thread)].data())};
    (group.q.dtype() == DType::bf16 ? kernels.attention_bf16 : kernels.attention_f32)(block);
  });
}

void SdpaCpu::within_frames(const Tensor& q, const Tensor& k, const Tensor& v, int frames, int heads,
                            const Tensor& out) {
  check(frames > 0 && q.dim(0) % frames == 0 && k.dim(0) == q.dim(0) && v.dim(0) == q.dim(0) && out.dim(0) == q.dim(0),
        "attention of ", frames, " frames in ", q.shape_text(), " and ", k.shape_text());
  const std::int64_t tokens = q.dim(0) / frames;
  groups_.clear();
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    const std::int64_t row = frame * tokens;
    groups_.push_back({q.rows(row, tokens), k.rows(row, tokens), v.rows(row, tokens), out.rows(row, tokens)});
  }
  attend(groups_, heads);
}

void SdpaCpu::run(const KvStore& store, int layer, const Tensor& q, int heads, const Tensor& out) {
  const Group group{q, store.keys(layer).rows(range_.first_token, range_.tokens),
                    store.values(layer).rows(range_.first_token, range_.tokens), out};
  attend({&group, 1}, heads);
}

void SdpaCpu::over_rows(const Tensor& q, const Tensor& k_plane, const Tensor& v_plane, const Tensor& count, int heads,
                        const Tensor& out) {
  check(count.elements() == 1 && count.dtype() == DType::i64, "over_rows with a count of ", count.shape_text());
  const Tensor k = k_plane.rows(0, *count.data<std::int64_t>());
  const Tensor v = v_plane.rows(0, *count.data<std::int64_t>());
  constexpr int kMostHeadDims = 256;
  const int head_dim = checked_head_dim(backend_.kernels(), q, k, v, heads, out);
  check(q.dtype() == DType::f32 && head_dim <= kMostHeadDims, "over_rows of ", name_of(q.dtype()), " heads of ",
        head_dim);
  backend_.threads().parallel_for(q.dim(0) * heads, [&](std::int64_t task, int) {
    const std::int64_t row = task / heads;
    const std::int64_t head = task % heads * head_dim;
    backend_.kernels().attention_row_f32({.q = element(q, row, head),
                                          .k = element(k, 0, head),
                                          .k_stride = k.row_stride(),
                                          .v = element(v, 0, head),
                                          .v_stride = v.row_stride(),
                                          .out = const_cast<std::byte*>(element(out, row, head)),
                                          .keys = k.dim(0),
                                          .queries = 1,
                                          .head_dim = head_dim,
                                          .scale = 1.0F / std::sqrt(static_cast<float>(head_dim))});
  });
}

}  // namespace lingbot_map
