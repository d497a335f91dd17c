#include "base/zip.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/little_endian.hpp"
#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::content_of;
using test::expect_error;
using test::write_content;
using testing::AllOf;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string read(const ZipReader& zip, std::string_view name) {
  const ZipEntry* entry = zip.find(name);
  return entry != nullptr ? zip.read_text(*entry, 1 << 20) : "(none)";
}

/// An archive of "a" = "alpha" and "b/c" = "gamma!", whose parts tests spoil.
class ZipFile : public testing::Test {
 protected:
  ZipFile() {
    ZipWriter zip(path_);
    zip.add("b/c", {bytes_of("gam"), bytes_of(""), bytes_of("ma!")});
    zip.add("a", "alpha");
    zip.finish();
    content_ = content_of(path_);
    end_ = content_.size() - 22;
    directory_ = load_le<std::uint32_t>(content_, end_ + 16);
  }

  template <typename T>
  void set(std::size_t at, T value) {
    std::string bytes;
    append_le(bytes, value);
    std::ranges::copy(bytes, content_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  ZipReader open() {
    write_content(path_, content_);
    return ZipReader(File::open(path_));
  }
  template <typename Matcher>
  void expect_refused(const Matcher& message) {
    expect_error(
        ErrorCode::input, [this] { open(); }, AllOf(HasSubstr(path_.string()), message));
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "a.zip";
  std::string content_;
  std::size_t end_ = 0;
  std::size_t directory_ = 0;
};

TEST(Crc32, MatchesThePublishedCheckValue) {
  EXPECT_EQ(crc32(bytes_of("123456789")), 0xcbf43926U);
  EXPECT_EQ(crc32({}), 0U);
  const std::string text = "a text that is longer than eight bytes";
  EXPECT_EQ(crc32(bytes_of(text.substr(11)), crc32(bytes_of(text.substr(0, 11)))), crc32(bytes_of(text)));
}

TEST_F(ZipFile, AContentThatComesInPiecesGivesTheSameBytes) {
  {
    ZipWriter zip(folder_ / "b.zip");
    zip.begin("b/c", 6);
    for (const char* piece : {"g", "", "amma", "!"}) zip.append(bytes_of(piece));
    zip.begin("a", 5);
    zip.append(bytes_of("alpha"));
    expect_error(
        ErrorCode::internal, [&] { zip.append(bytes_of("more")); }, HasSubstr("0 were announced"));
    zip.finish(true);
  }
  EXPECT_TRUE(content_of(folder_ / "b.zip") == content_);
}

TEST_F(ZipFile, ReadsWhatWasWritten) {
  const ZipReader zip = open();
  ASSERT_EQ(zip.entries().size(), 2);
  EXPECT_EQ(zip.entries()[0].name, "a");
  EXPECT_EQ(zip.entries()[0].crc, crc32(bytes_of("alpha")));
  EXPECT_EQ(read(zip, "a"), "alpha");
  EXPECT_EQ(read(zip, "b/c"), "gamma!");
  EXPECT_EQ(zip.find("b"), nullptr);
  std::string middle(3, ' ');
  zip.read(*zip.find("b/c"), 2, std::as_writable_bytes(std::span(middle)));
  EXPECT_EQ(middle, "mma");
}

TEST_F(ZipFile, NothingLeavesAnEntry) {
  const ZipReader zip = open();
  const ZipEntry& entry = *zip.find("a");
  std::string out(3, ' ');
  for (const std::uint64_t offset : {std::uint64_t{3}, std::uint64_t{6}, ~std::uint64_t{0}}) {
    expect_error(
        ErrorCode::input, [&] { zip.read(entry, offset, std::as_writable_bytes(std::span(out))); },
        HasSubstr("a has 5 bytes"));
  }
  expect_error(
      ErrorCode::input, [&] { (void)zip.read_text(entry, 4); }, HasSubstr("expected at most 4"));
}

TEST_F(ZipFile, EqualContentGivesEqualBytes) {
  ZipWriter again(folder_ / "b.zip");
  again.add("b/c", "gamma!");
  again.add("a", "alpha");
  again.finish();
  EXPECT_EQ(content_of(folder_ / "b.zip"), content_);
}

TEST_F(ZipFile, IsNotThereBeforeFinish) {
  { ZipWriter(folder_ / "c.zip").add("a", "alpha"); }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "c.zip"));
}

TEST_F(ZipFile, FindsItsEndBehindAComment) {
  set<std::uint16_t>(end_ + 20, 6);
  content_ += "PK\x05\x06!!";
  EXPECT_EQ(read(open(), "a"), "alpha");
}

TEST_F(ZipFile, AllThatIsCutOffIsRefused) {
  const std::string whole = content_;
  for (std::size_t bytes = 4; bytes < whole.size(); ++bytes) {
    content_ = whole.substr(0, bytes);
    expect_refused(HasSubstr("without an end record"));
  }
}

TEST_F(ZipFile, CompressedAndEncryptedEntriesAreRefusedWhenRead) {
  set<std::uint16_t>(directory_ + 10, 8);
  const ZipReader zip = open();
  EXPECT_FALSE(zip.find("b/c")->stored());
  expect_error(
      ErrorCode::input, [&] { (void)read(zip, "b/c"); }, AllOf(HasSubstr("b/c is compressed"), HasSubstr("unpack")));
  EXPECT_EQ(read(zip, "a"), "alpha");
  set<std::uint16_t>(directory_ + 10, 0);
  set<std::uint16_t>(directory_ + 8, 1);
  const ZipReader encrypted = open();
  expect_error(
      ErrorCode::input, [&] { (void)read(encrypted, "b/c"); }, HasSubstr("b/c is encrypted"));
}

TEST_F(ZipFile, ADirectoryThatContradictsTheFileIsRefused) {
  const std::string whole = content_;
  const auto spoiled = [&](std::size_t at, auto value, const char* message) {
    content_ = whole;
    set(at, value);
    expect_refused(AllOf(HasSubstr("damaged zip archive"), HasSubstr(message)));
  };
  spoiled(end_ + 16, std::uint32_t{0xfffffff0}, "its directory is outside the file");
  spoiled(end_ + 12, std::uint32_t{0x00ffffff}, "its directory is outside the file");
  spoiled(end_ + 10, std::uint16_t{9}, "a directory of 9 entries");
  spoiled(end_ + 4, std::uint16_t{1}, "one part of several");
  spoiled(directory_, std::uint32_t{0}, "entry 0 of its directory");
  spoiled(directory_ + 28, std::uint16_t{0xfff0}, "entry 0 of its directory is cut off");
  spoiled(directory_ + 42, std::uint32_t{0x7fffffff}, "b/c lies outside the file");
  spoiled(directory_ + 42, std::uint32_t{1}, "b/c is not where the directory says");
  spoiled(directory_ + 20, std::uint32_t{0x7fffffff}, "b/c reaches past the end");
  spoiled(directory_ + 24, std::uint32_t{5}, "b/c has two different sizes");
  spoiled(directory_ + 24, std::uint32_t{0xffffffff}, "the zip64 fields of b/c are cut off");
  spoiled(26, std::uint16_t{0xffff}, "b/c reaches past the end");
}

TEST_F(ZipFile, TwoEntriesOfOneNameAreRefused) {
  ZipWriter zip(path_);
  zip.add("a", "1");
  zip.add("a", "2");
  zip.finish();
  content_ = content_of(path_);
  expect_refused(HasSubstr("holds a twice"));
}

TEST_F(ZipFile, ControlCharactersOfANameStayOutOfMessages) {
  content_[directory_ + 46] = '\n';
  set<std::uint32_t>(directory_ + 42, 1);
  expect_refused(HasSubstr("\\x0a/c is not where"));
}

/// One stored entry all of whose sizes and offsets are in zip64 records, as for a file past 4 GiB.
std::string zip64_archive(std::string_view name, std::string_view content) {
  std::string zip;
  append_le(zip, std::uint32_t{0x04034b50});
  zip.append(14, '\0');
  append_le(zip, std::uint32_t{0xffffffff});
  append_le(zip, std::uint32_t{0xffffffff});
  append_le(zip, static_cast<std::uint16_t>(name.size()));
  append_le(zip, std::uint16_t{20});
  zip += name;
  append_le(zip, std::uint16_t{1});
  append_le(zip, std::uint16_t{16});
  append_le(zip, std::uint64_t{content.size()});
  append_le(zip, std::uint64_t{content.size()});
  zip += content;
  const std::uint64_t directory = zip.size();
  append_le(zip, std::uint32_t{0x02014b50});
  zip.append(16, '\0');
  append_le(zip, std::uint32_t{0xffffffff});
  append_le(zip, std::uint32_t{0xffffffff});
  append_le(zip, static_cast<std::uint16_t>(name.size()));
  append_le(zip, std::uint16_t{4 + 2 + 28});
  zip.append(10, '\0');
  append_le(zip, std::uint32_t{0xffffffff});
  zip += name;
  append_le(zip, std::uint16_t{0x7777});  // a field of another kind comes first
  append_le(zip, std::uint16_t{2});
  zip += "xy";
  append_le(zip, std::uint16_t{1});
  append_le(zip, std::uint16_t{24});
  append_le(zip, std::uint64_t{content.size()});
  append_le(zip, std::uint64_t{content.size()});
  append_le(zip, std::uint64_t{0});
  const std::uint64_t end64 = zip.size();
  append_le(zip, std::uint32_t{0x06064b50});
  append_le(zip, std::uint64_t{44});
  zip.append(12, '\0');
  for (const std::uint64_t value : {std::uint64_t{1}, std::uint64_t{1}, end64 - directory, directory})
    append_le(zip, value);
  append_le(zip, std::uint32_t{0x07064b50});
  append_le(zip, std::uint32_t{0});
  append_le(zip, end64);
  append_le(zip, std::uint32_t{1});
  append_le(zip, std::uint32_t{0x06054b50});
  zip.append(4, '\0');
  append_le(zip, std::uint16_t{0xffff});
  append_le(zip, std::uint16_t{0xffff});
  append_le(zip, std::uint32_t{0xffffffff});
  append_le(zip, std::uint32_t{0xffffffff});
  append_le(zip, std::uint16_t{0});
  return zip;
}

TEST_F(ZipFile, ReadsZip64Records) {
  content_ = zip64_archive("big", "content");
  EXPECT_EQ(read(open(), "big"), "content");
}

TEST_F(ZipFile, Zip64RecordsThatContradictTheFileAreRefused) {
  const std::string whole = zip64_archive("big", "content");
  const std::size_t locator = whole.size() - 22 - 20;
  const std::size_t end64 = locator - 56;
  const std::size_t extra = end64 - 28;
  const auto spoiled = [&](std::size_t at, auto value, const char* message) {
    content_ = whole;
    set(at, value);
    expect_refused(HasSubstr(message));
  };
  spoiled(locator + 8, std::uint64_t{0xffffffffffffff00}, "zip64 record is outside the file");
  spoiled(locator + 8, std::uint64_t{3}, "zip64 record is not where it should be");
  spoiled(end64 + 40, std::uint64_t{0xffffffffffffff00}, "its directory is outside the file");
  spoiled(end64 + 48, std::uint64_t{0xffffffffffffff00}, "its directory is outside the file");
  spoiled(end64 + 32, std::uint64_t{0xffffffffffffff00}, "a directory of 18446744073709551360 entries");
  spoiled(extra + 2, std::uint16_t{8}, "zip64 fields of big are cut off");
  spoiled(extra + 2, std::uint16_t{1000}, "zip64 fields of big are cut off");
  spoiled(extra + 4, std::uint64_t{0xffffffffffffff00}, "big has two different sizes");
  spoiled(extra + 12, std::uint64_t{0xffffffffffffff00}, "big reaches past the end");
  spoiled(extra + 20, std::uint64_t{0xffffffffffffff00}, "big lies outside the file");
}

TEST(ZipWriter, WritesMoreEntriesThanAnEndRecordCounts) {
  const test::TemporaryFolder folder;
  constexpr int kEntries = 0x10001;
  ZipWriter writer(folder / "many.zip");
  for (int i = 0; i < kEntries; ++i) writer.add(std::to_string(i), std::to_string(-i));
  writer.finish();
  const ZipReader zip(File::open(folder / "many.zip"));
  EXPECT_EQ(zip.entries().size(), kEntries);
  EXPECT_EQ(read(zip, "65536"), "-65536");
}

}  // namespace
}  // namespace lingbot_map
