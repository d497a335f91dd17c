#include "base/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
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

TEST(NpyHeader, IsReadAsItWasWritten) {
  const std::string text = npy_header("<f4", {2, 3, 4});
  const NpyHeader header = parse_npy_header(text + "values", "a.npy");
  EXPECT_EQ(header.type, "<f4");
  EXPECT_FALSE(header.fortran_order);
  EXPECT_THAT(header.shape, ElementsAre(2, 3, 4));
  EXPECT_EQ(header.data_offset, text.size());
}

/// A header of the version with a length of four bytes.
std::string header_of(std::string dictionary) {
  std::string text("\x93NUMPY\x02\x00", 8);
  text += static_cast<char>(dictionary.size());
  return text + std::string(3, '\0') + dictionary;
}

TEST(NpyHeader, IsReadWhateverItsOrderAndVersion) {
  const NpyHeader header =
      parse_npy_header(header_of("{\"shape\": (7,), 'fortran_order': True,'descr':'<f8'}\n"), "a.npy");
  EXPECT_EQ(header.type, "<f8");
  EXPECT_TRUE(header.fortran_order);
  EXPECT_THAT(header.shape, ElementsAre(7));
  EXPECT_THAT(parse_npy_header(header_of("{'descr': '<f4', 'fortran_order': False, 'shape': ()}"), "a").shape,
              ElementsAre());
}

TEST(NpyHeader, OfOtherFilesIsRefused) {
  const auto refused = [](const std::string& text, const char* words) {
    expect_error(
        ErrorCode::input, [&] { (void)parse_npy_header(text, "a.npy"); },
        AllOf(StartsWith("a.npy: "), HasSubstr(words)));
  };
  refused("", "no NumPy array");
  refused("\x93NUMPY", "no NumPy array");
  refused(npy_header("<f4", {2}).substr(0, 60), "cut off");
  refused(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), "cut off or too long");
  for (const char* dictionary :
       {"", "{", "{'descr': '<f4'", "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,)}", "{'descr': 5}",
        "{'descr': '<f4", "{'descr': '<f4', 'shape': (2, -3)}", "{'descr': '<f4', 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'shape': (2 3)}", "{'descr': '<f4', 'shape': 2}", "{'descr': '<f4', 'other': 2}",
        "{'fortran_order': Maybe}", "{'shape': (2,)}"})
    refused(header_of(dictionary), "none of a NumPy array of numbers");
}

}  // namespace
}  // namespace lingbot_map
