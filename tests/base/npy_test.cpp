#include "base/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lingbot_map {
namespace {

using testing::StartsWith;

TEST(NpyHeader, IsTheFormatsFirstVersionAlignedTo64Bytes) {
  for (const std::int64_t size : {std::int64_t{1}, std::int64_t{1234}, std::int64_t{123456789012}}) {
    const std::string header = npy_header("<f4", {size, size, size});
    EXPECT_EQ(header.size() % 64, 0);
    EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    EXPECT_EQ(static_cast<unsigned char>(header[8]) + 256 * static_cast<unsigned char>(header[9]), header.size() - 10);
    EXPECT_EQ(header.back(), '\n');
  }
}

TEST(NpyHeader, DescribesTheArray) {
  EXPECT_THAT(npy_header("|u1", {3, 56, 84}).substr(10),
              StartsWith("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 56, 84, ), } "));
  EXPECT_THAT(npy_header("<f4", {9}).substr(10),
              StartsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (9, ), }"));
}

}  // namespace
}  // namespace lingbot_map
