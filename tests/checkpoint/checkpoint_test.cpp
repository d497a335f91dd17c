#include "checkpoint/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using namespace std::string_view_literals;
using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

void expect_refused(std::string_view content, const char* found, const char* advice) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "model.pt", content);
  expect_error(
      ErrorCode::input, [&] { (void)Checkpoint::open(folder / "model.pt"); },
      AllOf(HasSubstr((folder / "model.pt").string()), HasSubstr(found), HasSubstr(advice)));
}

TEST(Checkpoint, SaysWhatAFileIsInstead) {
  expect_refused("", "is empty", "get the file again");
  expect_refused("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4631774160\n", "is a Git LFS pointer",
                 "git lfs pull");
  expect_refused("<!DOCTYPE html>\n<html>", "is a web page", "download the file itself");
  expect_refused("\xef\xbb\xbf \n<html lang=\"en\">", "is a web page", "download the file itself");
  expect_refused("<?xml version=\"1.0\"?>", "is a web page", "download the file itself");
  expect_refused("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."sv, "PyTorch before 1.6",
                 "re-save it with");
  expect_refused(std::string(257, '\0') + "ustar" + std::string(300, '\0'), "PyTorch before 1.6", "re-save it with");
  expect_refused("\x80\x04}."sv, "is a bare Python pickle", "torch.save");
  expect_refused("\x1f\x8b\x08\x00"sv, "is gzip-compressed", "unpack it first");
  expect_refused("PK\x03\x04"sv, "without an end record", "get it again");
  expect_refused(std::string(5000, '\0'), "is of no known kind", ".safetensors");
  expect_refused("weights", "is of no known kind", ".pt");
}

TEST(Checkpoint, SaysWhyAFileCannotBeOpened) {
  const test::TemporaryFolder folder;
  expect_error(
      ErrorCode::input, [&] { (void)Checkpoint::open(folder / "none.pt"); },
      AllOf(HasSubstr("none.pt"), HasSubstr("check the path")));
  expect_error(
      ErrorCode::input, [&] { (void)Checkpoint::open(folder.path()); }, HasSubstr("is a directory"));
}

TEST(TensorInfo, CountsItsElementsAndBytes) {
  const TensorInfo info{.name = "w", .dtype = DType::bf16, .shape = {3, 5}};
  EXPECT_EQ(info.elements(), 15);
  EXPECT_EQ(info.bytes(), 30);
  EXPECT_EQ(info.shape_text(), "[3, 5]");
  EXPECT_EQ(TensorInfo{}.elements(), 1);
  EXPECT_EQ(TensorInfo{}.shape_text(), "[]");
}

}  // namespace
}  // namespace lingbot_map
