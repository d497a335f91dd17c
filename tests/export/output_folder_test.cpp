#include "export/output_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

TEST(MakeOutputFolder, MakesTheFolderAndThoseAbove) {
  const test::TemporaryFolder folder;
  make_output_folder(folder / "a/b/c");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/c"));
  make_output_folder(folder / "a/b/c");
  make_output_folder(folder / "a/d/");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/d"));
}

TEST(MakeOutputFolder, NamesWhatIsInTheWay) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "file", "");
  expect_error(
      ErrorCode::output, [&] { make_output_folder(folder / "file"); },
      AllOf(HasSubstr((folder / "file").string()), HasSubstr("is not a folder")));
  expect_error(
      ErrorCode::output, [&] { make_output_folder(folder / "file/below"); },
      AllOf(HasSubstr("file/below"), HasSubstr("cannot be made: Not a directory")));
  expect_error(
      ErrorCode::output, [] { make_output_folder("/proc/lingbot"); }, HasSubstr("/proc/lingbot: cannot be made"));
  expect_error(
      ErrorCode::output, [] { make_output_folder(""); }, HasSubstr("empty name"));
}

}  // namespace
}  // namespace lingbot_map
