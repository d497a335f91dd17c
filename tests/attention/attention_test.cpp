#include "attention/attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.hpp"
#include "expect_error.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

TEST(MakeAttention, TakesSdpaOnTheCpu) {
  CpuBackend backend(1);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    EXPECT_EQ(make_attention(backend, AttentionKind::automatic, dtype, 2)->kind(), AttentionKind::sdpa);
    EXPECT_EQ(make_attention(backend, AttentionKind::sdpa, dtype, 2)->kind(), AttentionKind::sdpa);
  }
}

TEST(MakeAttention, SaysThatFlashinferNeedsAGpu) {
  CpuBackend backend(1);
  expect_error(
      ErrorCode::unsupported, [&] { (void)make_attention(backend, AttentionKind::flashinfer, DType::bf16, 2); },
      HasSubstr("'flashinfer' needs an NVIDIA GPU; on the CPU take 'sdpa' or 'auto'"));
}

TEST(AttentionKind, HasTheNameOfTheOption) {
  EXPECT_EQ(name_of(AttentionKind::automatic), "auto");
  EXPECT_EQ(name_of(AttentionKind::sdpa), "sdpa");
  EXPECT_EQ(name_of(AttentionKind::flashinfer), "flashinfer");
}

}  // namespace
}  // namespace lingbot_map::test
