#include "base/sha256.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "base/sha256_blocks.hpp"
#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

std::string digest_of(std::string_view text) {
  Sha256 digest;
  digest.update(std::as_bytes(std::span(text)));
  return digest.finish();
}

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(digest_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest_of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreCut) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string_view part = std::string_view(text).substr(0, length);
    const std::string whole = digest_of(part);
    for (const std::size_t piece : {1, 3, 63, 64, 65}) {
      Sha256 digest;
      for (std::size_t at = 0; at < length; at += piece)
        digest.update(std::as_bytes(std::span(part.substr(at, piece))));
      ASSERT_EQ(digest.finish(), whole) << length << " bytes in pieces of " << piece;
    }
  }
}

TEST(Sha256, InstructionsAgreeWithThePlainRounds) {
  const detail::Sha256Compress by_instructions = detail::sha256_compress_by_instructions();
  if (by_instructions == nullptr) return;  // then the plain rounds are what the tests above ran
  std::array<std::byte, 64 * 5> data;
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * i + 3 * i);
  std::array<std::uint32_t, 8> plain = {1, 2, 3, 4, 0x80000000, 0xffffffff, 7, 8};
  auto fast = plain;
  detail::sha256_compress(plain, data.data(), 5);
  by_instructions(fast, data.data(), 5);
  EXPECT_EQ(fast, plain);
}

TEST(Sha256OfFile, ReadsTheWholeFile) {
  const test::TemporaryFolder folder;
  const std::string content((std::size_t{1} << 20) * 2 + 12345, 'x');
  test::write_content(folder / "a.bin", content);
  EXPECT_EQ(sha256_of_file(folder / "a.bin"), digest_of(content));
}

TEST(Sha256OfFile, StopsWhenAsked) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "a.bin", "content");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(sha256_of_file(folder / "a.bin", stop.get_token()), std::nullopt);
}

TEST(Sha256OfFile, NamesAMissingFile) {
  test::expect_error(
      ErrorCode::input, [] { (void)sha256_of_file("/nowhere/a.bin"); }, testing::HasSubstr("/nowhere/a.bin"));
}

}  // namespace
}  // namespace lingbot_map
