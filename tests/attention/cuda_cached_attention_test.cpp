#include <memory>

#include "attention/gpu_attention.hpp"
#include "backend/cuda/memory.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

/// The sizes of a sequence.
struct Sequence {
  TwoStreamCache::Layout layout;
  int scale_frames = 0;  ///< that there are; the layout may have room for more
  int heads = 0;
  int distinct_frames = 0;  ///< whose numbers frames take in turns

  [[nodiscard]] std::int64_t patches() const { return layout.patches_per_frame; }
  [[nodiscard]] std::int64_t specials() const { return layout.special_tokens; }
  [[nodiscard]] std::int64_t tokens() const { return patches() + specials(); }
  [[nodiscard]] std::int64_t width() const { return std::int64_t{heads} * 64; }
};

/// A cache in GPU memory that frames of random numbers stream through, as they do in a session, and what each of them
/// should see, kept by hand. Where no frame lies there is no number, but past the visible range, where kernels may read
/// whole tiles: there lie zeros, or what was there before.
class Stream {
 public:
  Stream(Backend& gpu, const Sequence& sequence, DType dtype)
      : gpu_(gpu),
        sequence_(sequence),
        cache_(sequence.layout),
        store_({.layers = 2, .slot_tokens = cache_.slot_tokens(), .width = sequence.width(), .dtype = dtype},
               gpu.growing_memory()),
        q_(random_tensor(dtype, sequence.scale_frames * sequence.tokens(), 3, 1)),
        k_(random_tensor(dtype, sequence.distinct_frames * sequence.tokens(), 1, 2)),
        v_(random_tensor(dtype, sequence.distinct_frames * sequence.tokens(), 1, 3)),
        no_patches_(gpu, TestTensor(dtype, {sequence.patches(), sequence.width()}).fill(NAN)),
        gpu_q_(gpu, q_),
        gpu_k_(gpu, k_),
        gpu_v_(gpu, v_),
        reference_(q_, k_, v_, sequence.heads, kErrors) {
    for (std::int64_t slot = 0; slot < cache_.slots(); ++slot) forget_patches(slot * sequence_.patches());
  }

  [[nodiscard]] const TwoStreamCache& cache() const { return cache_; }
  [[nodiscard]] KvStore& store() { return store_; }
  [[nodiscard]] const AttentionReference& reference() const { return reference_; }
  [[nodiscard]] DType dtype() const { return q_.view().dtype(); }
  /// Queries of the frame that was begun last.
  [[nodiscard]] std::int64_t queries() const { return queries_; }
  [[nodiscard]] Tensor q() const { return gpu_q_.view().rows(0, queries_); }
  /// The rows of the reference that it sees.
  [[nodiscard]] std::vector<std::int64_t> visible_rows() const {
    std::vector<std::int64_t> rows = scale_rows_;
    // The patches of the last `window` frames, a keyframe being one of them itself; specials of all.
    const std::int64_t others = sequence_.layout.window - (cache_.pending() == FrameRole::keyframe ? 1 : 0);
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      add(rows, first_row(kept_[i]), sequence_.specials());
      if (static_cast<std::int64_t>(kept_.size() - i) > others) continue;
      add(rows, first_row(kept_[i]) + sequence_.specials(), sequence_.patches());
    }
    if (cache_.pending()) add(rows, first_row(frame_), sequence_.tokens());
    return rows;
  }

  /// Prepares the cache for `attention`, writes the frame's keys and values, and plans.
  void begin_scale(Attention& attention) {
    const std::vector<FrameSpan> spans = cache_.append_scale_frames(sequence_.scale_frames);
    queries_ = sequence_.scale_frames * sequence_.tokens();
    prepare(attention);
    for (const FrameSpan& span : spans) {
      write(span, frame_);
      add(scale_rows_, first_row(frame_), sequence_.tokens());
      ++frame_;
    }
  }
  void begin(FrameRole role, Attention& attention) {
    span_ = cache_.begin_frame(role);
    queries_ = sequence_.tokens();
    prepare(attention);
    write(span_, frame_);
  }
  void end() {
    if (cache_.pending() == FrameRole::keyframe) {
      cache_.commit();
      kept_.push_back(frame_);
    } else {
      cache_.roll_back();
      forget_patches(span_.patch_token);
    }
    ++frame_;
  }
  /// Frames that nobody looks at.
  void skip_keyframes(int count, Attention& attention) {
    for (int i = 0; i < count; ++i) {
      begin(FrameRole::keyframe, attention);
      end();
    }
  }

 private:
  [[nodiscard]] TestTensor random_tensor(DType dtype, std::int64_t rows, float most, std::uint32_t seed) const {
    Random random(seed);
    TestTensor x(dtype, {rows, sequence_.width()});
    x.fill(random, -most, most);
    return x;
  }
  [[nodiscard]] std::int64_t first_row(std::int64_t frame) const {
    return frame % sequence_.distinct_frames * sequence_.tokens();
  }
  static void add(std::vector<std::int64_t>& rows, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) rows.push_back(first + i);
  }

  void prepare(Attention& attention) {
    store_.prepare(cache_.visible(), attention.touched(cache_.visible()).end());
    attention.plan(cache_, queries_);
  }
  void write(const FrameSpan& span, std::int64_t frame) {
    const auto put = [&](const OnGpu& from, const Tensor& plane) {
      const Tensor rows = from.view().rows(first_row(frame), sequence_.tokens());
      gpu_.copy(rows.rows(0, sequence_.specials()), plane.rows(span.special_token, sequence_.specials()));
      gpu_.copy(rows.rows(sequence_.specials(), sequence_.patches()),
                plane.rows(span.patch_token, sequence_.patches()));
    };
    put(gpu_k_, store_.keys(1));
    put(gpu_v_, store_.values(1));
  }
  void forget_patches(std::int64_t first_token) {
    for (const int layer : {0, 1}) {
      for (const Tensor& plane : {store_.keys(layer), store_.values(layer)}) {
        gpu_.copy(no_patches_, plane.rows(first_token, sequence_.patches()));
      }
    }
  }

  Backend& gpu_;
  Sequence sequence_;
  TwoStreamCache cache_;
  KvStore store_;
  TestTensor q_;
  TestTensor k_;
  TestTensor v_;
  OnGpu no_patches_;
  OnGpu gpu_q_;
  OnGpu gpu_k_;
  OnGpu gpu_v_;
  AttentionReference reference_;
  FrameSpan span_{};
  std::int64_t queries_ = 0;
  std::int64_t frame_ = 0;
  std::vector<std::int64_t> scale_rows_;
  std::vector<std::int64_t> kept_;
};

class CudaCachedAttention : public GpuAttention {
 protected:
  /// The frame that was begun last against the reference.
  static void compare(Stream& stream, Attention& attention, int heads, const std::string& what) {
    SCOPED_TRACE(what);
    const std::int64_t queries = stream.queries();
    const TestTensor out(stream.dtype(), {queries, std::int64_t{heads} * 64});
    run_on_gpu(
        gpu(), [&](const Tensor& to) { attention.run(stream.store(), 1, stream.q(), heads, to); }, out);
    const std::vector<std::int64_t> rows = stream.visible_rows();
    ASSERT_EQ(static_cast<std::int64_t>(rows.size()), stream.cache().visible().tokens);
    for (const std::int64_t query : {std::int64_t{0}, queries / 2, queries - 1}) {
      expect_within(out, query, 1, stream.reference(), rows, stream.dtype(), what);
    }
    EXPECT_TRUE(out.intact());
  }

  /// Scale frames, then two of three frames kept, all compared.
  static void run_through(const Sequence& sequence, int frames, const Way& way, DType dtype) {
    const std::string name =
        message(way.name(), " ", name_of(dtype), ", ", sequence.patches(), " patches, window ", sequence.layout.window);
    const auto attention = make(way, dtype, sequence.heads);
    Stream stream(gpu(), sequence, dtype);
    stream.begin_scale(*attention);
    compare(stream, *attention, sequence.heads, message(name, ", scale frames"));
    for (int frame = 0; frame < frames; ++frame) {
      const bool keyframe = frame % 3 != 1;
      stream.begin(keyframe ? FrameRole::keyframe : FrameRole::passing, *attention);
      compare(stream, *attention, sequence.heads, message(name, keyframe ? ", keyframe " : ", passing frame ", frame));
      stream.end();
    }
  }
};

TEST_F(CudaCachedAttention, SeesTheVisibleRangeAndNothingElse) {
  for_each_way([](const Way& way, DType dtype) {
    run_through({{2, 3, 24, 6}, 2, 2, 20}, 14, way, dtype);
    run_through({{1, 2, 1, 6}, 1, 2, 20}, 10, way, dtype);
    run_through({{3, 4, 37, 6}, 3, 1, 20}, 14, way, dtype);
    run_through({{4, 2, 150, 2}, 2, 3, 9}, 9, way, dtype);  // fewer scale frames than there is room for
  });
}

// Special tokens that take more room than all slots.
TEST_F(CudaCachedAttention, SeesLongSpecialTokens) {
  for_each_way([](const Way& way, DType dtype) { run_through({{2, 2, 5, 41}, 2, 2, 11}, 40, way, dtype); });
}

TEST_F(CudaCachedAttention, OfTheNetworkOverAFullWindow) {
  const Sequence sequence{{8, 64, 999, 6}, 8, 16, 2};
  for_each_way([&](const Way& way, DType dtype) {
    const std::string what = message(way.name(), " ", name_of(dtype));
    const auto attention = make(way, dtype, sequence.heads);
    Stream stream(gpu(), sequence, dtype);
    stream.begin_scale(*attention);
    stream.skip_keyframes(70, *attention);
    stream.begin(FrameRole::keyframe, *attention);
    compare(stream, *attention, sequence.heads, what);
    stream.end();
  });
}

TEST_F(CudaCachedAttention, ReadsTheLayerAskedFor) {
  for_each_way([](const Way& way, DType dtype) {
    const auto attention = make(way, dtype, 2);
    TwoStreamCache cache({1, 1, 5, 6});
    KvStore store({.layers = 2, .slot_tokens = cache.slot_tokens(), .width = 128, .dtype = dtype},
                  gpu().growing_memory());
    (void)cache.append_scale_frames(1);
    store.prepare(cache.visible(), attention->touched(cache.visible()).end());
    for (const int layer : {0, 1}) {
      const Tensor values = store.values(layer);
      const OnGpu numbers(gpu(), TestTensor(dtype, {values.dim(0), values.dim(1)}).fill(static_cast<float>(layer + 1)));
      gpu().copy(numbers, values);
    }
    attention->plan(cache, 3);
    const OnGpu q(gpu(), TestTensor(dtype, {3, 128}));
    for (const int layer : {0, 1}) {
      const TestTensor out(dtype, {3, 128});
      run_on_gpu(
          gpu(), [&](const Tensor& to) { attention->run(store, layer, q, 2, to); }, out);
      for (std::int64_t i = 0; i < out.elements(); ++i) ASSERT_NEAR(out[i], layer + 1, 1e-5);
    }
  });
}

// What a session does: record a frame once the signature comes back, and replay it for the frames that follow.
TEST_F(CudaCachedAttention, ARecordedFrameServesTheFramesAfterIt) {
  const Sequence sequence{{2, 6, 130, 6}, 2, 2, 15};
  for_each_way([&](const Way& way, DType dtype) {
    SCOPED_TRACE(message(way.name(), " ", name_of(dtype)));
    const auto attention = make(way, dtype, sequence.heads);
    Stream stream(gpu(), sequence, dtype);
    stream.begin_scale(*attention);
    const std::uint64_t of_scale_frames = attention->signature();
    stream.skip_keyframes(7, *attention);
    const OnGpu direct(gpu(), TestTensor(dtype, {sequence.tokens(), sequence.width()}));
    const OnGpu replayed(gpu(), TestTensor(dtype, {sequence.tokens(), sequence.width()}));
    const auto run = [&](const OnGpu& out) { attention->run(stream.store(), 1, stream.q(), sequence.heads, out); };
    // FlashInfer has no float32: there a launch depends on the number of tokens, which grows.
    const bool steady = way.kind == AttentionKind::sdpa || dtype != DType::f32;
    struct Recorded {
      std::uint64_t signature = 0;
      std::unique_ptr<Recording> recording{};
    };
    Recorded of_keyframes;
    Recorded of_passing_frames;
    for (int frame = 0; frame < 12; ++frame) {
      SCOPED_TRACE(message("frame ", frame));
      const bool keyframe = frame % 3 != 2;
      Recorded& recorded = keyframe ? of_keyframes : of_passing_frames;
      stream.begin(keyframe ? FrameRole::keyframe : FrameRole::passing, *attention);
      run(direct);
      if (!recorded.recording || attention->signature() != recorded.signature) {
        EXPECT_TRUE(!recorded.recording || !steady) << "another signature";
        recorded = {attention->signature(), gpu().record([&] { run(replayed); })};
        EXPECT_NE(recorded.signature, of_scale_frames);
      }
      gpu().replay(*recorded.recording);
      EXPECT_TRUE(direct.bytes() == replayed.bytes());
      stream.end();
    }
  });
}

TEST_F(CudaCachedAttention, HoldsNoMemoryForFramesThatHavePassed) {
  const Sequence sequence{{2, 3, 100, 6}, 2, 2, 10};
  for_each_way([&](const Way& way, DType dtype) {
    const auto attention = make(way, dtype, sequence.heads);
    Stream stream(gpu(), sequence, dtype);
    // All the memory that the cache will need is there before.
    stream.store().prepare({0, stream.cache().slot_tokens() + 100 * sequence.specials() + 4096});
    const OnGpu out(gpu(), TestTensor(dtype, {2 * sequence.tokens(), sequence.width()}));
    const auto run = [&] {
      attention->run(stream.store(), 1, stream.q(), sequence.heads, out.view().rows(0, stream.queries()));
    };
    stream.begin_scale(*attention);
    run();
    std::size_t after_ten = 0;
    for (int frame = 0; frame < 80; ++frame) {
      stream.begin(FrameRole::keyframe, *attention);
      run();
      stream.end();
      if (frame == 9) after_ten = cuda::allocated_bytes();
    }
    // A copy of what is visible at the end, for keys and values, at most twice as large as needed.
    const std::size_t visible =
        static_cast<std::size_t>(stream.cache().visible().tokens * sequence.width()) * size_of(dtype);
    EXPECT_LE(cuda::allocated_bytes(), after_ten + 4 * visible) << way.name() << " " << name_of(dtype);
  });
}

TEST_F(CudaCachedAttention, RefusesWhatWasNotPrepared) {
  for_each_way([](const Way& way, DType dtype) {
    SCOPED_TRACE(message(way.name(), " ", name_of(dtype)));
    const auto attention = make(way, dtype, 2);
    TwoStreamCache cache({1, 1, 5, 6});
    KvStore store({.layers = 1, .slot_tokens = cache.slot_tokens(), .width = 128, .dtype = dtype},
                  gpu().growing_memory());
    (void)cache.append_scale_frames(1);
    attention->plan(cache, 3);
    const OnGpu q(gpu(), TestTensor(dtype, {3, 128}));
    const OnGpu out(gpu(), TestTensor(dtype, {3, 128}));
    EXPECT_THAT(refusal_of([&] { attention->run(store, 0, q, 2, out); }),
                HasSubstr("attention over tokens 10 to 21 of 15"));
    store.prepare(cache.visible(), attention->touched(cache.visible()).end());
    attention->run(store, 0, q, 2, out);
  });
}

}  // namespace
}  // namespace lingbot_map::test
