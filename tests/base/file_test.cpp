#include "base/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>

#include "expect_error.hpp"
#include "file_size_limit.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::content_of;
using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

TEST(File, ReadsWhereItIsTold) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "a", "0123456789");
  const File file = File::open(folder / "a");
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(file.read_text(7, 3), "789");
  EXPECT_EQ(file.read_text(10, 0), "");
  EXPECT_EQ(read_text_file(folder / "a"), "0123456789");
}

TEST(File, MovesItsDescriptor) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "a", "first");
  test::write_content(folder / "b", "second");
  File a = File::open(folder / "a");
  File b = File::open(folder / "b");
  a = std::move(b);
  const File c(std::move(a));
  EXPECT_EQ(c.read_text(0, 6), "second");
  EXPECT_EQ(c.name(), (folder / "b").string());
}

TEST(File, SaysWhatCannotBeRead) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "short", "1234");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto open = [&](const char* name) { return [&folder, name] { (void)File::open(folder / name); }; };
  expect_error(ErrorCode::input, open("missing"), AllOf(HasSubstr("missing"), HasSubstr("check the path")));
  expect_error(ErrorCode::input, open("."), HasSubstr("is a directory"));
  expect_error(ErrorCode::input, open("pipe"), HasSubstr("expected a regular file"));
  expect_error(
      ErrorCode::input, [] { (void)File::open(""); }, HasSubstr("empty file name"));
  const File file = File::open(folder / "short");
  expect_error(
      ErrorCode::input, [&] { (void)file.read_text(2, 3); }, AllOf(HasSubstr("ends at byte 4"), HasSubstr("short")));
  expect_error(
      ErrorCode::input, [&] { (void)file.read_text(~std::uint64_t{0}, 3); }, HasSubstr("ends at byte 4"));
  expect_error(
      ErrorCode::input, [&] { (void)read_text_file(folder / "short", 3); }, HasSubstr("at most 3"));
}

TEST(File, NoticesThatItBecameShorter) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "a", "0123456789");
  const File file = File::open(folder / "a");
  std::filesystem::resize_file(folder / "a", 5);
  expect_error(
      ErrorCode::input, [&] { (void)file.read_text(0, 10); }, HasSubstr("became shorter"));
}

TEST(FileWriter, GivesTheNameOnlyToACompleteFile) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "a", "old");
  {
    FileWriter file(folder / "a");
    file.write("new");
    EXPECT_EQ(file.position(), 3);
    EXPECT_EQ(content_of(folder / "a"), "old");
    file.write(" and more");
    file.commit();
    expect_error(
        ErrorCode::internal, [&] { file.write("late"); }, HasSubstr("after commit"));
  }
  EXPECT_EQ(content_of(folder / "a"), "new and more");
  EXPECT_FALSE(std::filesystem::exists(folder / "a.part"));
}

TEST(FileWriter, LeavesNothingWithoutCommit) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "a", "old");
  { FileWriter(folder / "a").write("new"); }
  EXPECT_EQ(content_of(folder / "a"), "old");
  { FileWriter(folder / "b").write("new"); }
  EXPECT_FALSE(std::filesystem::exists(folder / "b"));
  EXPECT_FALSE(std::filesystem::exists(folder / "b.part"));
}

TEST(FileWriter, AFullDiskIsOneErrorAndLeavesTheOldFile) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "a", "old");
  {
    const test::FileSizeLimit limit(1000);
    FileWriter file(folder / "a");
    expect_error(
        ErrorCode::output, [&] { file.write(std::string(2000, 'x')); },
        AllOf(HasSubstr("a: cannot be written past byte 1000")));
  }
  EXPECT_EQ(content_of(folder / "a"), "old");
  EXPECT_FALSE(std::filesystem::exists(folder / "a.part"));
}

TEST(FileWriter, FollowsALinkToTheFileItNames) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "real", "old");
  std::filesystem::create_symlink("real", folder / "link");
  FileWriter file(folder / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(content_of(folder / "real"), "new");
}

TEST(FileWriter, SaysWhatCannotBeWritten) {
  const test::TemporaryFolder folder;
  const auto create = [](std::filesystem::path path) { return [path] { FileWriter{path}; }; };
  expect_error(ErrorCode::output, create(folder / "none" / "a"), HasSubstr("make the folder first"));
  expect_error(ErrorCode::output, create(folder.path()), HasSubstr("is a directory"));
  expect_error(ErrorCode::output, create("/dev/null"), HasSubstr("pipe or device"));
  expect_error(ErrorCode::output, create(""), HasSubstr("not a file name"));
}

}  // namespace
}  // namespace lingbot_map
