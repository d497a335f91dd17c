#include "cache/kv_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "lingbot_map/error.hpp"
#include "resident_bytes.hpp"

namespace lingbot_map {
namespace {

constexpr int kLayers = 3;
constexpr std::int64_t kWidth = 128;

/// Fills the rows of a span's patches and specials with one number per plane and frame.
void write_frame(KvStore& store, const TwoStreamCache& cache, const FrameSpan& span, float frame) {
  for (int layer = 0; layer < kLayers; ++layer) {
    const auto fill = [&](const Tensor& plane, float value) {
      for (const auto& rows : {plane.rows(span.patch_token, cache.layout().patches_per_frame),
                               plane.rows(span.special_token, cache.layout().special_tokens)}) {
        std::fill_n(rows.data<float>(), rows.elements(), value);
      }
    };
    fill(store.keys(layer), frame * 10 + static_cast<float>(layer));
    fill(store.values(layer), -frame * 10 - static_cast<float>(layer));
  }
}

double sum_of_first_column(const Tensor& plane, const VisibleRange& range) {
  const Tensor rows = plane.rows(range.first_token, range.tokens);
  double sum = 0;
  for (std::int64_t row = 0; row < range.tokens; ++row) sum += rows.data<float>()[row * kWidth];
  return sum;
}

KvStore make_store(const TwoStreamCache& cache) {
  return KvStore({.layers = kLayers, .slot_tokens = cache.slot_tokens(), .width = kWidth, .dtype = DType::f32});
}

TEST(KvStore, HoldsEveryPlaneOfALongStream) {
  constexpr int kPatches = 12;
  constexpr int kWindow = 3;
  TwoStreamCache cache({.scale_frames = 2, .window = kWindow, .patches_per_frame = kPatches});
  KvStore store = make_store(cache);
  double specials = 0;
  double scale = 0;
  int frame = 1;
  for (const FrameSpan& span : cache.append_scale_frames(2)) {
    store.prepare(cache.visible());
    write_frame(store, cache, span, static_cast<float>(frame));
    scale += kPatches * frame;
    specials += 6 * frame;
    ++frame;
  }
  for (; frame < 500; ++frame) {
    const FrameSpan span = cache.begin_frame(FrameRole::keyframe);
    store.prepare(cache.visible());
    write_frame(store, cache, span, static_cast<float>(frame));
    specials += 6 * frame;
    double live = 0;
    for (int past = std::max(3, frame - kWindow + 1); past <= frame; ++past) live += kPatches * past;
    const VisibleRange range = cache.visible();
    const double tokens = static_cast<double>(range.tokens);
    ASSERT_EQ(sum_of_first_column(store.keys(0), range), 10 * (scale + live + specials));
    ASSERT_EQ(sum_of_first_column(store.keys(2), range), 10 * (scale + live + specials) + 2 * tokens);
    ASSERT_EQ(sum_of_first_column(store.values(1), range), -10 * (scale + live + specials) - tokens);
    cache.commit();
  }
}

TEST(KvStore, TakesMemoryAsTheWindowFills) {
  constexpr int kPatches = 1024;  // a slot of 512 KiB in each plane
  TwoStreamCache cache({.scale_frames = 2, .window = 40, .patches_per_frame = kPatches});
  KvStore store = make_store(cache);
  const auto resident = [&] {
    std::size_t bytes = 0;
    for (int layer = 0; layer < kLayers; ++layer) {
      for (const Tensor& plane : {store.keys(layer), store.values(layer)})
        bytes += resident_bytes(plane.raw(), plane.bytes());
    }
    return bytes;
  };
  EXPECT_EQ(store.bytes_in_use(), 0U);
  EXPECT_EQ(resident(), 0U);
  int frame = 0;
  const auto spans = cache.append_scale_frames(2);
  store.prepare(cache.visible());
  for (const FrameSpan& span : spans) write_frame(store, cache, span, static_cast<float>(++frame));
  while (frame < 12) {
    const FrameSpan span = cache.begin_frame(FrameRole::keyframe);
    store.prepare(cache.visible());
    write_frame(store, cache, span, static_cast<float>(++frame));
    cache.commit();
  }
  EXPECT_EQ(store.bytes_per_token(), 2U * kLayers * kWidth * sizeof(float));
  EXPECT_EQ(store.bytes_in_use(), 12U * (kPatches + 6) * store.bytes_per_token());
  constexpr std::size_t kHugePages = std::size_t{2} * kLayers * 2 * (2U << 20);
  EXPECT_GE(resident(), 12U * kPatches * store.bytes_per_token());
  EXPECT_LE(resident(), store.bytes_in_use() + kHugePages);
}

TEST(KvStore, MapsPastTheTrueLengthWhenAsked) {
  KvStore store({.layers = 1, .slot_tokens = 100, .width = 64, .dtype = DType::bf16});
  store.prepare({40, 900}, 1040);
  const Tensor keys = store.keys(0);
  EXPECT_EQ(keys.dim(0), 1040);
  EXPECT_EQ(keys.dim(1), 64);
  EXPECT_EQ(keys.dtype(), DType::bf16);
  const auto* const data = keys.data<std::uint16_t>();
  EXPECT_TRUE(std::all_of(data, data + keys.elements(), [](std::uint16_t bits) { return bits == 0; }));
  store.prepare({90, 20});
  EXPECT_EQ(store.keys(0).dim(0), 1040) << "never shrinks";
  EXPECT_EQ(store.bytes_in_use(), 900U * 64 * 2 * 2) << "what is only touched does not count";
}

TEST(KvStore, PlanesGrowAheadInTurn) {
  struct Counted final : GrowingMemory {
    explicit Counted(std::vector<std::size_t>& sizes) : sizes(sizes), index(sizes.size()) { sizes.push_back(0); }
    void ensure(std::size_t bytes) override { sizes[index] = std::max(sizes[index], bytes); }
    [[nodiscard]] void* data() const noexcept override { return nullptr; }
    [[nodiscard]] std::size_t bytes() const noexcept override { return sizes[index]; }
    [[nodiscard]] Device device() const noexcept override { return Device::cpu(); }
    std::vector<std::size_t>& sizes;
    std::size_t index;
  };
  std::vector<std::size_t> sizes;
  KvStore store({.layers = 3, .slot_tokens = 10, .width = 1, .dtype = DType::f32},
                [&] { return std::make_unique<Counted>(sizes); });
  // Each frame leaves six tokens; after one round every plane is ahead by more than another round needs.
  for (int frame = 0; frame < 6; ++frame) store.prepare({0, 10 + 6 * (frame + 1)});
  for (const std::size_t size : sizes) EXPECT_GE(size, (46U + 36U) * sizeof(float));
}

TEST(KvStore, TakesItsMemoryFromTheMaker) {
  int made = 0;
  const KvStore store({.layers = 4, .slot_tokens = 10, .width = 64, .dtype = DType::f32}, [&] {
    ++made;
    return GrowingBuffer::make();
  });
  EXPECT_EQ(made, 8);
}

TEST(KvStore, RefusesImpossibleSizes) {
  const auto code_for = [](const KvStore::Shape& shape) {
    try {
      const KvStore store(shape);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::output;
  };
  EXPECT_EQ(code_for({0, 10, 64, DType::f32}), ErrorCode::internal);
  EXPECT_EQ(code_for({1, 10, 0, DType::f32}), ErrorCode::internal);
  EXPECT_EQ(code_for({1, 0, 64, DType::f32}), ErrorCode::usage);
  EXPECT_EQ(code_for({1, std::int64_t{1} << 60, 64, DType::f32}), ErrorCode::usage);
  EXPECT_EQ(code_for({1, std::int64_t{1} << 40, 1 << 18, DType::f32}), ErrorCode::resource);
  KvStore store({1, 10, 64, DType::f32});
  EXPECT_THROW(store.prepare({-1, 5}), Error);
  EXPECT_THROW(store.prepare({0, std::int64_t{1} << 62}), Error);
  EXPECT_THROW((void)store.keys(1), Error);
  EXPECT_THROW((void)store.values(-1), Error);
}

}  // namespace
}  // namespace lingbot_map
