#include "tensor/buffer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::HasSubstr;

std::size_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

TEST(Buffer, StartsEmpty) {
  const Buffer buffer;
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.data(), nullptr);
}

TEST(Buffer, IsAlignedAndZeroed) {
  for (const std::size_t bytes : {1U, 63U, 64U, 65U, 100'000U}) {
    const Buffer buffer = Buffer::allocate_cpu(bytes);
    ASSERT_EQ(buffer.bytes(), bytes);
    EXPECT_EQ(address(buffer.data()) % 64, 0U);
    const auto* data = static_cast<const unsigned char*>(buffer.data());
    EXPECT_TRUE(std::all_of(data, data + bytes, [](unsigned char b) { return b == 0; }));
  }
}

TEST(Buffer, RefusesTheImpossible) {
  for (const std::size_t bytes : {std::numeric_limits<std::size_t>::max(), std::size_t{1} << 60}) {
    expect_error(
        ErrorCode::resource, [&] { (void)Buffer::allocate_cpu(bytes); }, HasSubstr(std::to_string(bytes)));
  }
}

TEST(Buffer, FreesAdoptedMemoryWithTheLastOwner) {
  static std::size_t freed = 0;
  freed = 0;
  int value = 42;
  {
    const Buffer first(&value, sizeof(value), Device::cuda(2), [](void*, std::size_t bytes) { freed += bytes; });
    const Buffer second = first;
    EXPECT_EQ(second.data(), &value);
    EXPECT_EQ(second.device(), Device::cuda(2));
    EXPECT_EQ(second.view(DType::i32, {1}).device(), Device::cuda(2));
    EXPECT_EQ(freed, 0U);
  }
  EXPECT_EQ(freed, sizeof(value));
}

TEST(Buffer, ViewsStayInside) {
  const Buffer buffer = Buffer::allocate_cpu(64);
  const Tensor view = buffer.view(DType::f32, {3, 4}, 16);
  EXPECT_EQ(address(view.raw()), address(buffer.data()) + 16);
  expect_error(
      ErrorCode::internal,
      [&] {
        (void)buffer.view(DType::f32, {3, 4}, 20);
      },
      HasSubstr("[3, 4] past the end of a buffer of 64 bytes"));
}

TEST(Arena, GivesAlignedPartsInStackOrder) {
  Arena arena(Buffer::allocate_cpu(1024));
  const Tensor first = arena.allocate(DType::u8, {3});
  void* inner = nullptr;
  {
    const Arena::Scope scope(arena);
    const Tensor second = arena.allocate(DType::f32, {4, 5});
    inner = second.raw();
    EXPECT_EQ(address(inner), address(first.raw()) + 64);
    EXPECT_EQ(arena.used(), 64U + 128U);
  }
  EXPECT_EQ(arena.used(), 64U);
  EXPECT_EQ(arena.allocate(DType::f32, {1}).raw(), inner) << "what a scope took is free again";
  EXPECT_EQ(arena.peak(), 64U + 128U);
}

TEST(Arena, SaysWhenItIsFull) {
  Arena arena(Buffer::allocate_cpu(128));
  (void)arena.allocate(DType::f32, {32});
  expect_error(
      ErrorCode::internal,
      [&] {
        (void)arena.allocate(DType::f32, {1, 2});
      },
      HasSubstr("128 bytes is too small for [1, 2]"));
}

TEST(Arena, MeasuresWithoutMemory) {
  Arena arena;
  {
    const Arena::Scope scope(arena);
    EXPECT_FALSE(arena.allocate(DType::bf16, {1'000'000, 1'000'000}).empty());
  }
  EXPECT_EQ(arena.used(), 0U);
  EXPECT_EQ(arena.peak(), 2'000'000'000'000U);
}

}  // namespace
}  // namespace lingbot_map
