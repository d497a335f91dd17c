#include "tensor/growing_buffer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "lingbot_map/error.hpp"
#include "resident_bytes.hpp"

namespace lingbot_map {
namespace {

unsigned char* bytes_of(const GrowingMemory& memory) { return static_cast<unsigned char*>(memory.data()); }

TEST(GrowingBuffer, StartsEmpty) {
  const GrowingBuffer buffer;
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.bytes(), 0U);
  EXPECT_EQ(buffer.device(), Device::cpu());
}

TEST(GrowingBuffer, KeepsWhatWasWrittenAndZeroesTheRest) {
  GrowingBuffer buffer;
  std::size_t written = 0;
  for (std::size_t bytes = 1000; bytes < 8U << 20; bytes = bytes * 2 + 1) {
    buffer.ensure(bytes);
    ASSERT_GE(buffer.bytes(), bytes);
    unsigned char* const data = bytes_of(buffer);
    EXPECT_TRUE(std::all_of(data, data + written, [](unsigned char b) { return b == 7; }));
    EXPECT_TRUE(std::all_of(data + written, data + buffer.bytes(), [](unsigned char b) { return b == 0; }));
    std::fill(data + written, data + bytes, static_cast<unsigned char>(7));
    written = bytes;
  }
}

TEST(GrowingBuffer, NeverShrinksAndIgnoresWhatItHas) {
  GrowingBuffer buffer;
  buffer.ensure(100'000);
  void* const data = buffer.data();
  const std::size_t bytes = buffer.bytes();
  buffer.ensure(10);
  buffer.ensure(bytes);
  EXPECT_EQ(buffer.data(), data);
  EXPECT_EQ(buffer.bytes(), bytes);
}

TEST(GrowingBuffer, GrowsInFewSteps) {
  GrowingBuffer buffer;
  int steps = 0;
  for (std::size_t bytes = 0; bytes < 64U << 20; bytes += 4096) {
    const std::size_t before = buffer.bytes();
    buffer.ensure(bytes);
    steps += buffer.bytes() != before ? 1 : 0;
  }
  EXPECT_LT(steps, 80);
}

TEST(GrowingBuffer, TakesMemoryOnlyWhereItIsWritten) {
  GrowingBuffer buffer;
  buffer.ensure(256U << 20);
  EXPECT_EQ(resident_bytes(buffer.data(), buffer.bytes()), 0U);
  std::fill_n(bytes_of(buffer) + (200U << 20), 1U << 20, static_cast<unsigned char>(1));
  buffer.ensure(512U << 20);
  const std::size_t resident = resident_bytes(buffer.data(), buffer.bytes());
  EXPECT_GE(resident, 1U << 20);
  EXPECT_LE(resident, 4U << 20) << "a huge page at either end at most";
}

TEST(GrowingBuffer, MovesItsMemoryOnMove) {
  GrowingBuffer first;
  first.ensure(10);
  bytes_of(first)[3] = 42;
  GrowingBuffer second(std::move(first));
  EXPECT_EQ(bytes_of(second)[3], 42);
  GrowingBuffer third;
  third = std::move(second);
  EXPECT_EQ(bytes_of(third)[3], 42);
}

TEST(GrowingBuffer, RefusesTheImpossibleAndStaysAsItWas) {
  GrowingBuffer buffer;
  buffer.ensure(10);
  bytes_of(buffer)[3] = 42;
  for (const std::size_t bytes : {std::numeric_limits<std::size_t>::max(), std::size_t{1} << 60}) {
    try {
      buffer.ensure(bytes);
      FAIL() << "no error for " << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::resource);
      EXPECT_THAT(error.what(), ::testing::HasSubstr(std::to_string(bytes)));
    }
    EXPECT_EQ(bytes_of(buffer)[3], 42);
  }
}

}  // namespace
}  // namespace lingbot_map
