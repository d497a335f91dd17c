#include "tensor/tensor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/bf16.hpp"
#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

TEST(Tensor, StartsEmpty) {
  const Tensor tensor;
  EXPECT_TRUE(tensor.empty());
  EXPECT_EQ(tensor.rank(), 0);
  EXPECT_EQ(tensor.elements(), 0);
}

TEST(Tensor, KnowsItsShape) {
  std::vector<float> values(24);
  const Tensor tensor(values.data(), DType::f32, {2, 3, 4}, Device::cuda(1));
  EXPECT_EQ(tensor.rank(), 3);
  EXPECT_EQ(tensor.dim(0), 2);
  EXPECT_EQ(tensor.dim(2), 4);
  EXPECT_EQ(tensor.elements(), 24);
  EXPECT_EQ(tensor.row_elements(), 12);
  EXPECT_EQ(tensor.row_stride(), 12);
  EXPECT_EQ(tensor.bytes(), 96U);
  EXPECT_EQ(tensor.device(), Device::cuda(1));
  EXPECT_EQ(tensor.shape_text(), "[2, 3, 4]");
  EXPECT_TRUE(tensor.contiguous());
}

TEST(Tensor, RowsAndColumnsAreViews) {
  std::vector<float> values = counted(20);
  const Tensor tensor(values.data(), DType::f32, {4, 5});
  const Tensor part = tensor.rows(1, 2).columns(2, 3);
  EXPECT_EQ(part.shape_text(), "[2, 3]");
  EXPECT_EQ(part.row_stride(), 5);
  EXPECT_FALSE(part.contiguous());
  EXPECT_EQ(part.data<float>()[0], 7);
  EXPECT_EQ(part.data<float>()[part.row_stride() + 2], 14);
  EXPECT_TRUE(tensor.rows(3, 1).columns(1, 2).contiguous()) << "one row has no next";
  EXPECT_EQ(tensor.rows(4, 0).elements(), 0);
}

TEST(Tensor, TakesOneTokenOfEveryFrame) {
  std::vector<float> values = counted(24);
  const Tensor frames(values.data(), DType::f32, {2, 3, 4});
  const Tensor tokens = frames.row_of_each(1);
  EXPECT_EQ(tokens.shape_text(), "[2, 4]");
  EXPECT_EQ(tokens.data<float>()[0], 4);
  EXPECT_EQ(tokens.data<float>()[tokens.row_stride()], 16);
}

TEST(Tensor, ViewsOfTwoByteElementsCountElements) {
  std::vector<bf16> values(12);
  const Tensor tensor(values.data(), DType::bf16, {3, 4});
  EXPECT_EQ(tensor.rows(2, 1).data<bf16>(), values.data() + 8);
  EXPECT_EQ(tensor.columns(3, 1).data<bf16>(), values.data() + 3);
}

TEST(Tensor, ReshapesWhatIsContiguous) {
  std::vector<float> values = counted(24);
  const Tensor tensor(values.data(), DType::f32, {4, 6});
  const Tensor other = tensor.rows(2, 2).reshape({3, 2, 2});
  EXPECT_EQ(other.data<float>()[0], 12);
  EXPECT_EQ(other.row_stride(), 4);
  expect_error(
      ErrorCode::internal, [&] { (void)tensor.columns(0, 2).reshape({8}); }, HasSubstr("strided view [4, 2]"));
  expect_error(
      ErrorCode::internal,
      [&] {
        (void)tensor.reshape({5, 5});
      },
      HasSubstr("[4, 6] to [5, 5]"));
}

TEST(Tensor, RefusesWhatLiesOutside) {
  std::vector<float> values(20);
  const Tensor tensor(values.data(), DType::f32, {4, 5});
  expect_error(
      ErrorCode::internal, [&] { (void)tensor.rows(3, 2); }, HasSubstr("rows 3+2 of [4, 5]"));
  expect_error(
      ErrorCode::internal, [&] { (void)tensor.rows(-1, 2); }, HasSubstr("rows -1+2"));
  expect_error(
      ErrorCode::internal, [&] { (void)tensor.rows(1, -1); }, HasSubstr("rows 1+-1"));
  expect_error(
      ErrorCode::internal, [&] { (void)tensor.columns(4, 2); }, HasSubstr("columns 4+2 of [4, 5]"));
  expect_error(
      ErrorCode::internal, [&] { (void)tensor.row_of_each(0); }, HasSubstr("row 0 of each block of [4, 5]"));
  expect_error(
      ErrorCode::internal, [&] { (void)tensor.data<bf16>(); }, HasSubstr("fp32 read as another element size"));
  expect_error(
      ErrorCode::internal,
      [&] {
        (void)Tensor(values.data(), DType::f32, {1, 1, 1, 1, 20});
      },
      HasSubstr("rank 5"));
}

}  // namespace
}  // namespace lingbot_map
