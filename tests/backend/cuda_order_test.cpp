#include <stdexcept>

#include "backend/gpu.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

/// Float32 images of one size that operations are seen to happen on, in whatever order.
class CudaOrder : public Gpu {
 protected:
  static constexpr std::int64_t kHeight = 120;
  static constexpr std::int64_t kWidth = 100;
  static constexpr std::int64_t kChannels = 8;
  static constexpr std::int64_t kElements = kHeight * kWidth * kChannels;

  [[nodiscard]] static TestTensor image(float value) {
    TestTensor image(DType::f32, {kHeight, kWidth, kChannels});
    image.fill(value);
    return image;
  }
  /// The value that all elements have; NaN when they differ.
  [[nodiscard]] static float value_of(const Tensor& image) {
    std::vector<float> values(static_cast<std::size_t>(image.elements()));
    gpu().download(image, std::as_writable_bytes(std::span(values)));
    return values == std::vector<float>(values.size(), values.front()) ? values.front() : NAN;
  }
};

// ---- Transfers -----------------------------------------------------------------------------------------------------

TEST_F(CudaOrder, TwoFramesAreOnTheirWayAtATime) {
  constexpr std::size_t kBytes = kElements * sizeof(float);
  constexpr int kFrames = 7;
  const OnGpu input(gpu(), image(-1));
  const OnGpu total(gpu(), image(0));
  const OnGpu last(gpu(), image(-1));
  const auto first_way = gpu().make_transfer(kBytes, 2 * kBytes);
  const auto second_way = gpu().make_transfer(kBytes, 2 * kBytes);
  const auto way = [&](int frame) -> Transfer& { return frame % 2 == 0 ? *first_way : *second_way; };
  const auto value = [](int frame) { return static_cast<float>(1 << frame); };
  const auto begin = [&](int frame) {
    const std::span<std::byte> bytes = way(frame).input();
    ASSERT_EQ(bytes.size(), kBytes);
    std::fill_n(reinterpret_cast<float*>(bytes.data()), kElements, value(frame));
    way(frame).send(input);
    gpu().add(input, total);
    gpu().copy(input, last);
    way(frame).receive(std::array{total.view(), last.view()});
  };
  const auto end = [&](int frame) {
    const std::span<const std::byte> bytes = way(frame).output();
    ASSERT_EQ(bytes.size(), 2 * kBytes);
    const auto* values = reinterpret_cast<const float*>(bytes.data());
    for (std::int64_t i = 0; i < kElements; ++i) ASSERT_EQ(values[i], 2 * value(frame) - 1) << "frame " << frame;
    for (std::int64_t i = 0; i < kElements; ++i) ASSERT_EQ(values[kElements + i], value(frame)) << "frame " << frame;
  };
  begin(0);
  for (int frame = 1; frame < kFrames; ++frame) {
    begin(frame);
    end(frame - 1);
  }
  end(kFrames - 1);
}

TEST_F(CudaOrder, ATransferMayTakeLessThanItHolds) {
  const auto way = gpu().make_transfer(64, 64);
  const OnGpu target(gpu(), TestTensor(DType::f32, {3}).fill(9.0F));
  const OnGpu other(gpu(), TestTensor(DType::f32, {2}).fill(5.0F));
  for (const float value : {1.0F, 2.0F}) {
    std::fill_n(reinterpret_cast<float*>(way->input().data()), 16, value);
    way->send(target);
    way->receive(std::array{other.view(), target.view()});
    const std::span<const std::byte> bytes = way->output();
    ASSERT_EQ(bytes.size(), 20U);
    const auto* values = reinterpret_cast<const float*>(bytes.data());
    EXPECT_EQ(std::vector<float>(values, values + 5), (std::vector<float>{5, 5, value, value, value}));
  }
  (void)way->input();
  way->send(target);
  way->receive({});
  EXPECT_TRUE(way->output().empty());
}

TEST_F(CudaOrder, ATransferRefusesWhatTheCpuRefuses) {
  const TestTensor x(DType::f32, {4, 5});
  refuses(
      "sending [4, 5] from 79 bytes",
      [](Backend& backend, const Tensor& target) { backend.make_transfer(79, 80)->send(target); }, x);
  refuses(
      "sending [4, 3]",
      [](Backend& backend, const Tensor& target) { backend.make_transfer(80, 80)->send(target.columns(0, 3)); }, x);
  refuses(
      "receiving [4, 5] after 80 of 159 bytes",
      [](Backend& backend, const Tensor& source) {
        backend.make_transfer(80, 159)->receive(std::array{source, source});
      },
      x);
}

// ---- Beside each other ---------------------------------------------------------------------------------------------

TEST_F(CudaOrder, WorkBesideOtherWorkIsDoneBeforeWhatComesLater) {
  const OnGpu one(gpu(), image(1));
  const OnGpu a(gpu(), image(0));
  const OnGpu b(gpu(), image(0));
  const OnGpu sum(gpu(), image(0));
  for (int turn = 1; turn <= 5; ++turn) {
    gpu().add(one, a);  // before both
    gpu().beside(
        [&] {
          for (int i = 0; i < 100; ++i) gpu().add(one, a);
        },
        [&] {
          for (int i = 0; i < 3; ++i) gpu().add(one, b);
        });
    gpu().copy(a, sum);
    gpu().add(b, sum);
    EXPECT_EQ(value_of(sum), static_cast<float>(104 * turn));
  }
}

TEST_F(CudaOrder, WorkBesideOtherWorkHasNoWorkBesideItself) {
  const auto nothing = [] {};
  EXPECT_THAT(refusal_of([&] { gpu().beside([&] { gpu().beside(nothing, nothing); }, nothing); }),
              HasSubstr("work beside work that is beside other work"));
  // What needs memory of its own takes turns on the main way.
  const OnGpu x(gpu(), TestTensor(DType::f32, {4, 6}));
  const OnGpu y(gpu(), TestTensor(DType::f32, {4, 5}));
  const Linear linear = linear_on(gpu(), std::vector<float>(30), {}, 5, 6, Precision::f16);
  EXPECT_THAT(refusal_of([&] { gpu().beside([&] { gpu().linear(x, linear, Activation::gelu, y); }, nothing); }),
              HasSubstr("scratch memory beside other work"));
  gpu().beside(nothing, [&] { gpu().linear(x, linear, Activation::gelu, y); });
}

TEST_F(CudaOrder, AnExceptionBesideOtherWorkLeavesTheOrder) {
  const OnGpu one(gpu(), image(1));
  const OnGpu a(gpu(), image(0));
  const auto work = [&] {
    for (int i = 0; i < 50; ++i) gpu().add(one, a);
  };
  const auto failing = [&] {
    work();
    throw std::runtime_error("no");
  };
  const auto nothing = [] {};
  EXPECT_THROW(gpu().beside(failing, nothing), std::runtime_error);
  gpu().add(one, a);
  EXPECT_EQ(value_of(a), 51);
  EXPECT_THROW(gpu().beside(work, [] { throw std::runtime_error("no"); }), std::runtime_error);
  gpu().add(one, a);
  EXPECT_EQ(value_of(a), 102);
}

// ---- Recordings ----------------------------------------------------------------------------------------------------

/// A little network of most operations, with its memory.
struct Network {
  static constexpr std::int64_t kTokens = 20;
  static constexpr std::int64_t kWidth = 64;

  Network(Backend& on, DType dtype)
      : gpu(on),
        norm(norm_on(gpu, std::vector<float>(kWidth, 1.5F), std::vector<float>(kWidth, 0.25F), 1e-5F)),
        expand(random_linear(3 * kWidth, kWidth, precision_of(dtype))),
        contract(random_linear(kWidth, 3 * kWidth, precision_of(dtype))),
        convolution{.product = random_linear(8, 72, Precision::f32), .kernel = 3, .padding = 1},
        places(buffer_on(gpu, std::vector<std::int64_t>{0, kTokens})),
        input(gpu, input_of(0)),
        stream(gpu, TestTensor(DType::f32, {kTokens, kWidth})),
        normed(gpu, TestTensor(dtype, {kTokens, kWidth})),
        hidden(gpu, TestTensor(dtype, {kTokens, 3 * kWidth})),
        qkv(gpu, TestTensor(DType::f32, {kTokens, 3 * kWidth})),
        q(gpu, TestTensor(dtype, {kTokens, kWidth})),
        keys(gpu, TestTensor(dtype, {2 * kTokens, kWidth})),
        values(gpu, TestTensor(dtype, {2 * kTokens, kWidth})) {}

  [[nodiscard]] static TestTensor input_of(std::uint32_t seed) {
    Random random(seed);
    TestTensor input(DType::f32, {kTokens, kWidth});
    input.fill(random);
    return input;
  }

  void run() const {
    gpu.copy(input, stream);
    gpu.layer_norm(stream, norm, normed);
    HeadSplit split;
    split.heads = 1;
    split.head_dim = 64;
    gpu.linear_heads(normed, expand, 1, split, qkv, q,
                     {.keys = keys, .values = values, .places = places.view(DType::i64, {1, 2}), .specials = 3});
    gpu.linear(normed, expand, Activation::gelu, hidden);
    gpu.linear(hidden, contract, Activation::add_to_target, stream);
    // To the convolution the tokens are an image of 10 x 16 pixels of 8 channels.
    const auto pixels = [](const OnGpu& x) { return x.view().reshape({10, kTokens * kWidth / 80, 8}); };
    gpu.beside([&] { gpu.copy(q, keys.view().rows(kTokens, kTokens)); },
               [&] { gpu.convolve(pixels(input), convolution, Activation::add_to_target, pixels(stream)); });
    gpu.relu(pixels(stream));
  }
  [[nodiscard]] std::vector<std::vector<std::byte>> results() const { return {stream.bytes(), keys.bytes()}; }

  [[nodiscard]] Linear random_linear(std::int64_t out, std::int64_t in, Precision precision) const {
    Random random(static_cast<std::uint32_t>(out));
    const float size = 1.0F / std::sqrt(static_cast<float>(in));
    return linear_on(gpu, random_values(random, out * in, -size, size), random_values(random, out), out, in, precision);
  }

  Backend& gpu;
  Norm norm;
  Linear expand;
  Linear contract;
  Convolution convolution;
  Buffer places;  ///< of the only frame
  OnGpu input;
  OnGpu stream;
  OnGpu normed;
  OnGpu hidden;
  OnGpu qkv;
  OnGpu q;
  OnGpu keys;
  OnGpu values;
};

TEST_F(CudaOrder, AReplayGivesTheBitsOfADirectRun) {
  for (const DType dtype : types()) {
    SCOPED_TRACE(name_of(dtype));
    const Network network(gpu(), dtype);
    network.run();
    const auto first = network.results();
    network.run();
    EXPECT_TRUE(network.results() == first) << "run twice";

    const TestTensor empty(DType::f32, {Network::kTokens, Network::kWidth});
    network.stream.set(empty);
    const auto recording = gpu().record([&] { network.run(); });
    ASSERT_NE(recording, nullptr);
    const TestTensor untouched(DType::f32, {Network::kTokens, Network::kWidth});
    network.stream.get(untouched);
    EXPECT_TRUE(same_bits(untouched, empty)) << "recorded work was run";
    gpu().replay(*recording);
    EXPECT_TRUE(network.results() == first) << "replayed";

    // Other inputs and places in the same memory.
    network.input.set(Network::input_of(5));
    const std::vector<std::int64_t> moved = {Network::kTokens - 5, 2};
    gpu().upload(std::as_bytes(std::span(moved)), network.places.view(DType::i64, {2}));
    gpu().replay(*recording);
    const auto replayed = network.results();
    EXPECT_FALSE(replayed == first);
    network.run();
    EXPECT_TRUE(network.results() == replayed) << "other inputs";
    gpu().replay(*recording);
    gpu().replay(*recording);
    EXPECT_TRUE(network.results() == replayed) << "replayed again";
  }
}

TEST_F(CudaOrder, ARecordingOutlivesLargerWork) {
  const Network network(gpu(), DType::f16);
  network.run();
  const auto first = network.results();
  const auto recording = gpu().record([&] { network.run(); });
  // Larger work takes larger memory for itself, and writes to all of it.
  const OnGpu large(gpu(), TestTensor(DType::f32, {2048, 1024}).fill(3.0F));
  const OnGpu y(gpu(), TestTensor(DType::f16, {2048, 8192}));
  const Linear linear = linear_on(gpu(), std::vector<float>(8192 * 1024, 0.01F), {}, 8192, 1024, Precision::f16);
  gpu().linear(large, linear, Activation::gelu, y);
  gpu().replay(*recording);
  EXPECT_TRUE(network.results() == first);
}

TEST_F(CudaOrder, ARecordingHoldsWorkBesideOtherWork) {
  const OnGpu one(gpu(), image(1));
  const OnGpu a(gpu(), image(0));
  const OnGpu b(gpu(), image(0));
  const auto recording = gpu().record([&] {
    gpu().beside(
        [&] {
          for (int i = 0; i < 20; ++i) gpu().add(one, a);
        },
        [&] { gpu().add(one, b); });
    gpu().add(a, b);
  });
  EXPECT_EQ(value_of(a), 0);
  EXPECT_EQ(value_of(b), 0);
  gpu().replay(*recording);
  gpu().replay(*recording);
  EXPECT_EQ(value_of(a), 40);
  EXPECT_EQ(value_of(b), 62);
}

TEST_F(CudaOrder, AnExceptionInsideARecordingLeavesTheBackEndUsable) {
  const OnGpu one(gpu(), image(1));
  const OnGpu a(gpu(), image(0));
  const auto add = [&] { gpu().add(one, a); };
  const auto failing = [&] {
    add();
    throw std::runtime_error("no");
  };
  const std::vector<float> values(kElements);
  const std::function<void()> works[] = {
      failing,
      [&] { gpu().beside(failing, add); },
      [&] { gpu().beside(add, failing); },
      [&] {
        add();
        gpu().upload(std::as_bytes(std::span(values)), one);  // which waits
      },
      [&] { EXPECT_TRUE(std::isnan(value_of(one))); },
      [&] { (void)gpu().allocate(std::size_t{1} << 50U); },
  };
  float expected = 0;
  for (const auto& work : works) {
    EXPECT_ANY_THROW((void)gpu().record(work));
    add();
    expected += 1;
    EXPECT_EQ(value_of(a), expected);
    const auto recording = gpu().record(add);
    gpu().replay(*recording);
    expected += 1;
    EXPECT_EQ(value_of(a), expected);
  }
  EXPECT_EQ(value_of(one), 1) << "an upload inside a recording was run";
}

TEST_F(CudaOrder, ReplaysOnlyItsOwnRecordings) {
  class Foreign final : public Recording {};
  EXPECT_THAT(refusal_of([&] { gpu().replay(Foreign()); }), HasSubstr("a recording of another back end"));
}

// ---- Time ----------------------------------------------------------------------------------------------------------

TEST_F(CudaOrder, TheClockAddsUpWhatThePartsTake) {
  const OnGpu one(gpu(), image(1));
  const OnGpu a(gpu(), image(0));
  const auto clock = gpu().make_clock();
  double short_parts = 0;
  double long_part = 0;
  for (int round = 1; round <= 2; ++round) {
    for (int part = 0; part < 3; ++part) {
      clock->start();
      gpu().add(one, a);
      clock->stop(short_parts);
    }
    clock->start();
    for (int i = 0; i < 300; ++i) gpu().add(one, a);
    clock->stop(long_part);
    clock->settle();
    EXPECT_GT(short_parts, 0);
    EXPECT_GT(long_part, short_parts);
    EXPECT_LT(long_part, 10);
    const double before = long_part;
    clock->settle();
    EXPECT_EQ(long_part, before);
  }
}

}  // namespace
}  // namespace lingbot_map::test
