#include "base/output_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "file_size_limit.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::content_of;
using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

TEST(OutputFile, RecordsCanBeReadAtOnce) {
  const test::TemporaryFolder folder;
  OutputFile file(folder / "a.txt");
  EXPECT_EQ(content_of(folder / "a.txt"), "");
  file.append("one\n");
  EXPECT_EQ(content_of(folder / "a.txt"), "one\n");
  file.append("two\n");
  EXPECT_EQ(content_of(folder / "a.txt"), "one\ntwo\n");
  EXPECT_EQ(file.size(), 8);
}

TEST(OutputFile, GoesOnWithAnOlderFile) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "a.txt", "one\ntwo\nthr");
  {
    OutputFile file(folder / "a.txt", 8);
    EXPECT_EQ(content_of(folder / "a.txt"), "one\ntwo\n");
    file.append("3\n");
    file.overwrite(0, "1");
  }
  EXPECT_EQ(content_of(folder / "a.txt"), "1ne\ntwo\n3\n");
  expect_error(
      ErrorCode::output, [&] { OutputFile(folder / "a.txt", 11); },
      AllOf(HasSubstr("a.txt: has 10 bytes"), HasSubstr("11")));
  expect_error(
      ErrorCode::output, [&] { OutputFile(folder / "b.txt", 0); }, HasSubstr("b.txt: cannot be opened"));
  EXPECT_FALSE(std::filesystem::exists(folder / "b.txt"));
}

TEST(OutputFile, EmptiesAnOlderFile) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "a.txt", "something longer");
  OutputFile(folder / "a.txt").append("new");
  EXPECT_EQ(content_of(folder / "a.txt"), "new");
}

TEST(OutputFile, OverwritesInPlaceAndAppendsAtTheEndAfterwards) {
  const test::TemporaryFolder folder;
  OutputFile file(folder / "a.txt");
  file.append("count 0\n");
  file.append("x");
  file.overwrite(6, "7");
  file.append("y");
  EXPECT_EQ(content_of(folder / "a.txt"), "count 7\nxy");
  expect_error(
      ErrorCode::internal, [&] { file.overwrite(9, "12"); }, HasSubstr("a.txt"));
}

TEST(OutputFile, MovesItsFile) {
  const test::TemporaryFolder folder;
  OutputFile first(folder / "a.txt");
  first.append("1");
  OutputFile second(std::move(first));
  second.append("2");
  OutputFile third(folder / "b.txt");
  third = std::move(second);
  third.append("3");
  EXPECT_EQ(content_of(folder / "a.txt"), "123");
  EXPECT_EQ(third.name(), (folder / "a.txt").string());
}

TEST(OutputFile, NamesTheFileThatCannotBeCreated) {
  const test::TemporaryFolder folder;
  expect_error(
      ErrorCode::output, [&] { OutputFile(folder / "missing/a.txt"); },
      AllOf(HasSubstr("missing/a.txt"), HasSubstr("No such file or directory"), HasSubstr("make the folder first")));
  expect_error(
      ErrorCode::output, [&] { OutputFile(folder.path()); },
      AllOf(HasSubstr(folder.path().string()), HasSubstr("Is a directory")));
}

TEST(OutputFile, ReportsAFullDisk) {
  OutputFile file("/dev/full");
  expect_error(
      ErrorCode::output, [&] { file.append("record"); },
      AllOf(HasSubstr("/dev/full"), HasSubstr("No space left on device"), HasSubstr("free some space")));
  EXPECT_EQ(file.size(), 0);
}

TEST(OutputFile, ARecordThatDoesNotFitLeavesTheFileAsItWas) {
  const test::TemporaryFolder folder;
  OutputFile file(folder / "a.txt");
  {
    const test::FileSizeLimit limit(100);
    file.append(std::string(60, 'a'));
    expect_error(
        ErrorCode::output, [&] { file.append(std::string(60, 'b')); }, HasSubstr("a.txt: cannot be written"));
    EXPECT_EQ(content_of(folder / "a.txt"), std::string(60, 'a'));
    file.append(std::string(40, 'c'));
  }
  EXPECT_EQ(content_of(folder / "a.txt"), std::string(60, 'a') + std::string(40, 'c'));
}

TEST(OutputFile, ClosesOnce) {
  const test::TemporaryFolder folder;
  OutputFile file(folder / "a.txt");
  file.append("all");
  file.close();
  file.close();
  expect_error(
      ErrorCode::internal, [&] { file.append("more"); }, HasSubstr("closed"));
  EXPECT_EQ(content_of(folder / "a.txt"), "all");
}

}  // namespace
}  // namespace lingbot_map
