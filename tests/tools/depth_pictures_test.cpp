#include <gtest/gtest.h>

#include <vector>

#include "eval/pictures.hpp"
#include "expect_error.hpp"
#include "media/image.hpp"
#include "media/write_png.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::tool {
namespace {

TEST(DepthPictures, AreReadInTheirUnit) {
  const test::TemporaryFolder folder;
  write_png16(folder / "0.png", 3, 1, std::vector<std::uint16_t>{0, 1500, 65535});
  EXPECT_EQ(read_depth_picture(folder / "0.png", 1000).values, (std::vector<float>{0, 1.5F, 0}));
  EXPECT_EQ(read_depth_picture(folder / "0.png", 5000).values, (std::vector<float>{0, 0.3F, 0}));
}

TEST(DepthPictures, ThatAreDamagedAreNamed) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "0.png", "not a picture");
  test::expect_error(
      ErrorCode::input, [&] { (void)read_depth_picture(folder / "0.png", 1000); }, testing::HasSubstr("0.png: "));
}

TEST(Plots, AreWritten) {
  const test::TemporaryFolder folder;
  write_plots(folder / "new/plots", evaluate(std::vector<PosePair>(3), {.alignment = Alignment::none}));
  EXPECT_EQ(decode_image(folder / "new/plots/trajectory.png").width, 1000);
  EXPECT_EQ(decode_image(folder / "new/plots/errors.png").width, 1000);
  test::write_content(folder / "file", "");
  test::expect_error(
      ErrorCode::output,
      [&] { write_plots(folder / "file", evaluate(std::vector<PosePair>(3), {.alignment = Alignment::none})); },
      testing::HasSubstr("file: is not a folder"));
}

}  // namespace
}  // namespace lingbot_map::tool
