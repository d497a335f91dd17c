#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/make_backend.hpp"
#include "expect_error.hpp"
#include "test_tensor.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

TEST(MakeBackend, GivesTheProcessor) {
  const auto backend = make_backend(Device::cpu(), 3);
  EXPECT_EQ(backend->device(), Device::cpu());
  EXPECT_EQ(backend->threads_used(), 3);
  EXPECT_EQ(backend->preferred_dtype(), DType::f32);
  EXPECT_TRUE(backend->supports(DType::f32));
  EXPECT_TRUE(backend->supports(DType::bf16));
  EXPECT_FALSE(backend->supports(DType::f16));
}

#ifndef LINGBOT_MAP_HAS_CUDA
TEST(MakeBackend, SaysWhatIsNotThere) {
  expect_error(
      ErrorCode::unsupported, [] { (void)make_backend(Device::cuda(1), 0); },
      HasSubstr("device cuda:1: this build has no CUDA back end; take --device cpu"));
}
#endif

class Memory : public testing::Test {
 protected:
  CpuBackend backend{1};
};

TEST_F(Memory, IsZeroedAndOnTheDevice) {
  const Buffer buffer = backend.allocate(1000);
  EXPECT_EQ(buffer.bytes(), 1000U);
  EXPECT_EQ(buffer.device(), Device::cpu());
  const Tensor view = buffer.view(DType::u8, {1000});
  EXPECT_EQ(std::count(view.data<std::uint8_t>(), view.data<std::uint8_t>() + 1000, 0), 1000);
  const auto growing = backend.growing_memory()();
  growing->ensure(10);
  EXPECT_GE(growing->bytes(), 10U);
}

TEST_F(Memory, GoesUpAndComesDown) {
  Random random(1);
  const std::vector<float> values = random_values(random, 24);
  const TestTensor device(DType::f32, {4, 6});
  backend.upload(std::as_bytes(std::span(values)), device);
  std::vector<float> back(24);
  backend.download(device, std::as_writable_bytes(std::span(back)));
  EXPECT_EQ(back, values);
  EXPECT_TRUE(device.intact());
  expect_error(
      ErrorCode::internal, [&] { backend.upload(std::as_bytes(std::span(values)), device.view().rows(0, 3)); },
      HasSubstr("upload of 96 bytes to [3, 6]"));
  expect_error(
      ErrorCode::internal,
      [&] { backend.download(device.view().columns(0, 3), std::as_writable_bytes(std::span(back)).first(48)); },
      HasSubstr("download of [4, 3]"));
}

TEST_F(Memory, CopiesBetweenStridedRows) {
  Random random(2);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    TestTensor x(dtype, {5, 7}, 3);
    x.fill(random);
    const TestTensor y(dtype, {5, 7}, 4);
    backend.copy(x, y);
    EXPECT_TRUE(same_bits(x, y));
    EXPECT_TRUE(y.intact());
  }
  const TestTensor x(DType::f32, {5, 7});
  expect_error(
      ErrorCode::internal,
      [&] {
        backend.copy(x, TestTensor(DType::f32, {5, 6}));
      },
      HasSubstr("copy of [5, 7] to [5, 6]"));
  expect_error(
      ErrorCode::internal,
      [&] {
        backend.copy(x, TestTensor(DType::bf16, {5, 7}));
      },
      HasSubstr("copy of"));
}

TEST_F(Memory, IsCleared) {
  TestTensor x(DType::bf16, {5, 7});
  x.fill(3.0F);
  backend.clear(x.view().rows(1, 3));
  EXPECT_EQ(x[6], 3);
  for (std::int64_t i = 7; i < 28; ++i) ASSERT_EQ(x[i], 0);
  EXPECT_EQ(x[28], 3);
  expect_error(
      ErrorCode::internal, [&] { backend.clear(x.view().columns(0, 3)); }, HasSubstr("strided"));
}

}  // namespace
}  // namespace lingbot_map::test
