#include "export/export_formats.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ExportFormats, AreReadFromAList) {
  const ExportFormats formats = ExportFormats::parse("--export", "tum,glb,ply,glb");
  EXPECT_TRUE(formats.has(ExportFormat::ply));
  EXPECT_FALSE(formats.has(ExportFormat::npz));
  EXPECT_THAT(formats.names(), testing::ElementsAre("ply", "glb", "tum"));
  EXPECT_EQ(ExportFormats::parse("--export", "ply,glb,colmap,nerfstudio,tum,kitti,npz").names().size(), 7);
}

TEST(ExportFormats, RefuseWhatIsNone) {
  for (const char* text : {"", "obj", "ply,", ",ply", "ply, glb", "PLY", "ply,,glb", "ply;glb"})
    test::expect_error(
        ErrorCode::usage, [&] { (void)ExportFormats::parse("--export", text); },
        AllOf(HasSubstr("--export: found \""), HasSubstr("expected a list of ply, glb")));
}

TEST(ExportFormats, ByDefaultAreWhatARunAlwaysWrote) {
  EXPECT_THAT(kDefaultFormats.names(), testing::ElementsAre("ply", "tum", "kitti"));
}

}  // namespace
}  // namespace lingbot_map
