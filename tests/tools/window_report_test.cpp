#include "window_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>
#include <sstream>

namespace lingbot_map::tool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const WindowRecord kFirst{.frames = 64};
const WindowRecord kSecond{.first_frame = 48,
                           .frames = 20,
                           .overlap = 16,
                           .first_given = 48,
                           .scale = 1.25,
                           .depth_residual = 0.0131,
                           .position_residual = 0.012,
                           .rotation_residual = 0.5 * std::numbers::pi / 180};

TEST(WindowText, TellsHowItWasPlaced) {
  EXPECT_EQ(
      window_text(1, kSecond),
      "window 1 from frame 48: 16 frames in common, scale 1.25, depth differs by 1.31 %, cameras by 0.012 and 0.5 "
      "degrees");
  WindowRecord blind = kSecond;
  blind.depth_residual.reset();
  blind.position_residual.reset();
  EXPECT_EQ(window_text(1, blind), "window 1 from frame 48: 16 frames in common, scale 1.25");
  blind.aligned = false;
  EXPECT_THAT(window_text(1, blind), HasSubstr("in coordinates of its own"));
  WindowRecord cut = blind;
  cut.aligned = true;
  cut.first_given = 64;
  EXPECT_EQ(window_text(1, cut),
            "window 1 from frame 48: 16 frames in common, its own results from frame 64 on, scale 1.25");
}

TEST(WindowWarnings, TellWhatStandsOut) {
  EXPECT_THAT(window_warnings(1, kFirst, kSecond), IsEmpty());
  WindowRecord window = kSecond;
  window.scale_jumped = true;
  window.residual_jumped = true;
  EXPECT_THAT(window_warnings(1, kFirst, window),
              ElementsAre(HasSubstr("its scale is 1.25 times that of the window before"),
                          HasSubstr("its depth differs by 1.31 % and its cameras by 0.5 degrees")));
  WindowRecord lost = kSecond;
  lost.aligned = false;
  EXPECT_THAT(window_warnings(1, kFirst, lost), ElementsAre(HasSubstr("none of the 16 common frames")));
  lost.overlap = 0;
  EXPECT_THAT(window_warnings(1, kFirst, lost), IsEmpty());
}

TEST(WindowReport, TellsEachWindowOnce) {
  std::ostringstream out;
  Console console(out, Verbosity::verbose, false);
  WindowReport report(console);
  std::vector<WindowRecord> windows = {kFirst};
  report.tell(windows);
  EXPECT_EQ(out.str(), "");
  windows.push_back(kSecond);
  windows.back().scale_jumped = true;
  report.tell(windows);
  report.tell(windows);
  EXPECT_THAT(out.str(), HasSubstr("window 1 from frame 48"));
  EXPECT_EQ(console.warnings().size(), 1U);
  report.tell({});  // streaming mode has none
}

TEST(WindowJson, HasEveryNumber) {
  const auto json = to_json(std::vector<WindowRecord>{kFirst, kSecond});
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["depth_residual"], nullptr);
  EXPECT_EQ(json[1]["first_frame"], 48);
  EXPECT_EQ(json[1]["overlap"], 16);
  EXPECT_EQ(json[1]["first_given"], 48);
  EXPECT_EQ(json[1]["scale"], 1.25);
  EXPECT_NEAR(json[1]["rotation_residual_degrees"].get<double>(), 0.5, 1e-12);
  EXPECT_EQ(json[1]["transform"][15], 1);
}

}  // namespace
}  // namespace lingbot_map::tool
