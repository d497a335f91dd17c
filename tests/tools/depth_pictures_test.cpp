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

TEST(DepthPlot, ShowsScaledFramesBesideTheTruth) {
  const test::TemporaryFolder folder;
  std::vector<std::size_t> loaded;
  const auto load = [&loaded](std::size_t i) {
    loaded.push_back(i);
    const DepthMap truth{4, 3, std::vector<float>(12, 2)};
    const DepthMap estimate{4, 3, std::vector<float>(12, 0.5F)};
    return DepthPair{"", static_cast<std::int64_t>(i), estimate, truth};
  };
  DepthEvaluation evaluation;
  evaluation.frames.assign(21, DepthErrors{.scale = 4});
  write_depth_plot(folder / "plots", evaluation, load);
  EXPECT_EQ(loaded, (std::vector<std::size_t>{0, 5, 10, 15, 20}));
  const Image picture = decode_image(folder / "plots/depth.png");
  const std::size_t middle =
      static_cast<std::size_t>(picture.height - 80) * static_cast<std::size_t>(picture.width) + 200;
  EXPECT_LT(picture.pixels[3 * middle], 10) << "no difference once the estimate is scaled";
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
