#include "lingbot_map/types.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::HasSubstr;

TEST(DType, HasASizeAndAName) {
  struct Row {
    DType dtype;
    std::size_t size;
    std::string_view name;
  };
  for (const auto& [dtype, size, name] :
       {Row{DType::f32, 4, "fp32"}, Row{DType::f16, 2, "fp16"}, Row{DType::bf16, 2, "bf16"}, Row{DType::f64, 8, "fp64"},
        Row{DType::i64, 8, "i64"}, Row{DType::i32, 4, "i32"}, Row{DType::i16, 2, "i16"}, Row{DType::i8, 1, "i8"},
        Row{DType::u8, 1, "u8"}, Row{DType::boolean, 1, "bool"}}) {
    EXPECT_EQ(size_of(dtype), size) << name;
    EXPECT_EQ(name_of(dtype), name);
  }
}

TEST(Device, IsReadAndWritten) {
  EXPECT_EQ(Device::parse("cpu"), Device::cpu());
  EXPECT_EQ(Device::parse("cuda"), Device::cuda(0));
  EXPECT_EQ(Device::parse("cuda:3"), Device::cuda(3));
  EXPECT_EQ(Device::cpu().to_string(), "cpu");
  EXPECT_EQ(Device::cuda(3).to_string(), "cuda:3");
}

TEST(Device, RefusesWhatItIsNot) {
  for (const char* text : {"", "gpu", "CPU", "cpu:0", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999999999"}) {
    expect_error(
        ErrorCode::usage, [&] { (void)Device::parse(text); }, HasSubstr("expected cpu, cuda or cuda:N"));
  }
}

}  // namespace
}  // namespace lingbot_map
