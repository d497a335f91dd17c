#include <algorithm>
#include <cstdint>

#include "backend/cuda/memory.hpp"
#include "backend/gpu.hpp"
#include "backend/make_backend.hpp"
#include "lingbot_map/device_info.hpp"

namespace lingbot_map::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

TEST(MakeBackend, SaysThatThereIsNoSuchGpu) {
  expect_error(
      ErrorCode::unsupported, [] { (void)make_backend(Device::cuda(1000), 0); },
      AllOf(HasSubstr("device cuda:1000: "),
            AnyOf(HasSubstr("no usable NVIDIA GPU here"), HasSubstr("this machine has GPUs 0 to "))));
}

class CudaMemory : public Gpu {
 protected:
  static std::vector<std::uint8_t> download(const void* data, std::size_t bytes) {
    std::vector<std::uint8_t> values(bytes);
    gpu().download(view(data, bytes), std::as_writable_bytes(std::span(values)));
    return values;
  }
  static void upload(const std::vector<std::uint8_t>& values, void* data) {
    gpu().upload(std::as_bytes(std::span(values)), view(data, values.size()));
  }
  static bool all_zero(const void* data, std::size_t bytes) {
    const std::vector<std::uint8_t> values = download(data, bytes);
    return std::all_of(values.begin(), values.end(), [](std::uint8_t value) { return value == 0; });
  }
  static std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint32_t seed) {
    Random random(seed);
    std::vector<std::uint8_t> values(bytes);
    for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(random.integer(1, 255));
    return values;
  }
  static std::byte* at(const GrowingMemory& memory, std::size_t offset) {
    return static_cast<std::byte*>(memory.data()) + offset;
  }

 private:
  static Tensor view(const void* data, std::size_t bytes) {
    return {const_cast<void*>(data), DType::u8, {static_cast<std::int64_t>(bytes)}, gpu().device()};
  }
};

TEST_F(CudaMemory, TheBackEndKnowsItself) {
  EXPECT_EQ(gpu().device(), Device::cuda(0));
  EXPECT_EQ(make_backend(Device::cuda(0), 0)->device(), Device::cuda(0));
  EXPECT_TRUE(gpu().supports(DType::f32) && gpu().supports(DType::f16));
  EXPECT_FALSE(gpu().supports(DType::i64));
  EXPECT_TRUE(gpu().supports(gpu().preferred_dtype()));
  EXPECT_EQ(gpu().threads_used(), 1);
  EXPECT_GT(gpu().multiprocessors(), 0);
  EXPECT_THAT(gpu().convolution_library(), HasSubstr("cuDNN"));
  const DeviceInfo info = device_info(Device::cuda());
  EXPECT_EQ(info.compute_capability, gpu().compute_capability());
  EXPECT_FALSE(info.name.empty() || info.driver.empty());
  EXPECT_GT(info.total_bytes, info.free_bytes);
  EXPECT_GE(info.peak_bytes, info.allocated_bytes);
  EXPECT_GT(info.allocated_bytes, 0U);
}

TEST_F(CudaMemory, IsZeroedAndCounted) {
  constexpr std::size_t kBytes = 3'000'001;
  const std::size_t before = cuda::allocated_bytes();
  for (int turn = 0; turn < 3; ++turn) {  // freed memory comes back, but not what it held
    const Buffer buffer = gpu().allocate(kBytes);
    EXPECT_EQ(buffer.bytes(), kBytes);
    EXPECT_EQ(buffer.device(), Device::cuda(0));
    EXPECT_GE(cuda::allocated_bytes(), before + kBytes);
    EXPECT_GE(cuda::peak_bytes(), before + kBytes);
    ASSERT_TRUE(all_zero(buffer.data(), kBytes)) << turn;
    upload(pattern(kBytes, 1), buffer.data());
  }
  EXPECT_EQ(cuda::allocated_bytes(), before);
  EXPECT_TRUE(gpu().allocate(0).empty());
}

TEST_F(CudaMemory, SaysThatItIsOut) {
  constexpr std::size_t kBytes = std::size_t{1} << 50U;
  const std::size_t before = cuda::allocated_bytes();
  expect_error(
      ErrorCode::resource, [] { (void)gpu().allocate(kBytes); },
      AllOf(HasSubstr("out of GPU memory: 1125899906842624 bytes could not be allocated on cuda:0"),
            HasSubstr("take a smaller window")));
  EXPECT_EQ(cuda::allocated_bytes(), before);
  EXPECT_TRUE(all_zero(gpu().allocate(100).data(), 100));
}

TEST_F(CudaMemory, GoesUpAndComesDown) {
  Random random(1);
  const std::vector<float> values = random_values(random, 24);
  const TestTensor device(DType::f32, {4, 6});
  run_on_gpu(
      gpu(), [&](const Tensor& to) { gpu().upload(std::as_bytes(std::span(values)), to); }, device);
  EXPECT_EQ(device.values(), values);
  EXPECT_TRUE(device.intact());
  std::vector<float> back(24);
  gpu().download(OnGpu(gpu(), device), std::as_writable_bytes(std::span(back)));
  EXPECT_EQ(back, values);
  refuses(
      "upload of 96 bytes to [3, 6]",
      [&](Backend& backend, const Tensor& x) { backend.upload(std::as_bytes(std::span(values)), x.rows(0, 3)); },
      device);
  refuses(
      "download of [4, 3]",
      [&](Backend& backend, const Tensor& x) {
        backend.download(x.columns(0, 3), std::as_writable_bytes(std::span(back)).first(48));
      },
      device);
}

TEST_F(CudaMemory, CopiesBetweenStridedRows) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [rows, width, from_gap, to_gap] :
         {std::array{1, 1, 0, 0}, std::array{1, 9, 5, 0}, std::array{5, 7, 3, 4}, std::array{5, 7, 0, 0},
          std::array{1005, 64, 64, 0}, std::array{301, 130, 0, 7}}) {
      Random random(2);
      TestTensor x(dtype, {rows, width}, from_gap);
      x.fill(random);
      const OnGpu from(gpu(), x);
      const TestTensor y(dtype, {rows, width}, to_gap);
      run_on_gpu(
          gpu(), [&](const Tensor& to) { gpu().copy(from, to); }, y);
      EXPECT_TRUE(same_bits(x, y)) << name_of(dtype) << " " << rows << "x" << width;
      EXPECT_TRUE(y.intact());
    }
  }
  const auto copy = [](Backend& backend, const Tensor& x, const Tensor& y) { backend.copy(x, y); };
  const TestTensor x(DType::f32, {5, 7});
  refuses("copy of [5, 7] to [5, 6]", copy, x, TestTensor(DType::f32, {5, 6}));
  refuses("copy of", copy, x, TestTensor(DType::bf16, {5, 7}));
}

TEST_F(CudaMemory, CopiesOneTokenOfEveryFrame) {
  TestTensor x(DType::f32, {3, 5, 4});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, static_cast<float>(i));
  const OnGpu from(gpu(), x);
  const TestTensor y(DType::f32, {3, 4}, 6);
  run_on_gpu(
      gpu(), [&](const Tensor& to) { gpu().copy(from.view().row_of_each(2), to); }, y);
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(y[i], static_cast<float>(i / 4 * 20 + 8 + i % 4));
  EXPECT_TRUE(y.intact());
}

TEST_F(CudaMemory, IsCleared) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    TestTensor x(dtype, {5, 7});
    x.fill(3.0F);
    run_on_gpu(
        gpu(), [&](const Tensor& to) { gpu().clear(to.rows(1, 3)); }, x);
    for (std::int64_t i = 0; i < 35; ++i) ASSERT_EQ(x[i], i >= 7 && i < 28 ? 0 : 3) << i;
    EXPECT_TRUE(x.intact());
  }
  refuses(
      "clear of a strided view", [](Backend& backend, const Tensor& x) { backend.clear(x.columns(0, 3)); },
      TestTensor(DType::f32, {5, 7}));
}

// ---- Memory that grows ---------------------------------------------------------------------------------------------

TEST_F(CudaMemory, GrowsWithoutLosingWhatItHolds) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
  const std::size_t before = cuda::allocated_bytes();
  const auto memory = gpu().growing_memory()();
  EXPECT_EQ(memory->data(), nullptr);
  EXPECT_EQ(memory->bytes(), 0U);
  EXPECT_EQ(memory->device(), Device::cuda(0));
  std::vector<std::uint8_t> expected;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, 3 * kMebibyte, 5 * kMebibyte + 7, 40 * kMebibyte}) {
    memory->ensure(bytes);
    ASSERT_GE(memory->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % 4096, 0U);
    EXPECT_EQ(cuda::allocated_bytes(), before + memory->bytes());
    const std::vector<std::uint8_t> held = download(memory->data(), memory->bytes());
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), held.begin())) << bytes;
    ASSERT_TRUE(std::all_of(held.begin() + static_cast<std::ptrdiff_t>(expected.size()), held.end(),
                            [](std::uint8_t value) { return value == 0; }))
        << bytes;
    // The next round finds memory that was written to its end.
    expected = pattern(memory->bytes(), static_cast<std::uint32_t>(bytes));
    upload(expected, memory->data());
  }
  const std::size_t bytes = memory->bytes();
  void* const data = memory->data();
  memory->ensure(10);
  EXPECT_EQ(memory->bytes(), bytes);
  EXPECT_EQ(memory->data(), data);
}

TEST_F(CudaMemory, GrowsInOrderWithOperations) {
  const auto memory = gpu().growing_memory()();
  memory->ensure(1 << 20);
  const std::size_t first = memory->bytes();
  const auto floats = [&](std::size_t bytes) {
    return Tensor(memory->data(), DType::f32, {1, 1, static_cast<std::int64_t>(bytes / sizeof(float))}, gpu().device());
  };
  const TestTensor ones = TestTensor(DType::f32, {1, 1, static_cast<std::int64_t>(first / sizeof(float))}).fill(1.0F);
  const OnGpu one(gpu(), ones);
  for (int turn = 0; turn < 8; ++turn) {  // nothing waits here but the last download
    gpu().add(one, floats(first));
    memory->ensure(memory->bytes() + 1);
  }
  std::vector<float> values(memory->bytes() / sizeof(float));
  gpu().download(floats(memory->bytes()), std::as_writable_bytes(std::span(values)));
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i < first / sizeof(float) ? 8 : 0) << i;
}

// Address space is taken for 8 GiB first; beyond it, memory moves to another place without a copy.
TEST_F(CudaMemory, GrowsPastItsFirstAddressSpace) {
  constexpr std::size_t kGibibyte = std::size_t{1} << 30U;
  constexpr std::size_t kSample = std::size_t{1} << 20U;
  const std::size_t before = cuda::allocated_bytes();
  {
    const auto memory = gpu().growing_memory()();
    memory->ensure(3 * kSample);
    memory->ensure(9 * kSample);
    const std::vector<std::uint8_t> held = pattern(memory->bytes(), 3);
    upload(held, memory->data());
    const bool roomy = device_info(Device::cuda()).free_bytes > 20 * kGibibyte;
    const std::size_t large = roomy ? 9 * kGibibyte : kGibibyte / 4;
    memory->ensure(large);
    ASSERT_GE(memory->bytes(), large);
    EXPECT_EQ(cuda::allocated_bytes(), before + memory->bytes());
    EXPECT_TRUE(download(memory->data(), held.size()) == held);
    for (const std::size_t offset : {held.size(), large / 2, memory->bytes() - kSample}) {
      EXPECT_TRUE(all_zero(at(*memory, offset), kSample)) << offset;
    }
    const std::vector<std::uint8_t> end = pattern(kSample, 4);
    upload(end, at(*memory, memory->bytes() - kSample));
    const std::size_t end_offset = memory->bytes() - kSample;
    memory->ensure(memory->bytes() + 1);
    EXPECT_TRUE(download(memory->data(), held.size()) == held);
    EXPECT_TRUE(download(at(*memory, end_offset), kSample) == end);
    EXPECT_TRUE(all_zero(at(*memory, end_offset + kSample), memory->bytes() - end_offset - kSample));

    // More than there is: nothing has changed.
    const std::size_t bytes = memory->bytes();
    const std::size_t too_many = 2 * device_info(Device::cuda()).total_bytes;
    expect_error(
        ErrorCode::resource, [&] { memory->ensure(too_many); }, HasSubstr("take a smaller window"));
    EXPECT_EQ(memory->bytes(), bytes);
    EXPECT_TRUE(download(memory->data(), held.size()) == held);
    EXPECT_TRUE(download(at(*memory, end_offset), kSample) == end);
  }
  EXPECT_EQ(cuda::allocated_bytes(), before);
}

}  // namespace
}  // namespace lingbot_map::test
