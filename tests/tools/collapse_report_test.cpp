#include "collapse_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

namespace lingbot_map::tool {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Without a pose in every second frame from frame 10 on.
FrameResult frame(int index) {
  FrameResult result;
  result.index = index;
  result.width = 16;
  result.height = 16;
  result.pose_enc = {0, 0, 0.01F * static_cast<float>(index), 0, 0, 0, 1, 1, 1};
  if (index >= 10 && index % 2 == 0) result.pose_enc[0] = std::numeric_limits<float>::quiet_NaN();
  result.depth.assign(256, 2);
  result.depth_conf.assign(256, 3);
  return result;
}

TEST(CollapseReport, WarnsAndGoesOn) {
  std::ostringstream out;
  Console console(out, Verbosity::normal, false);
  CollapseReport report(console, OnCollapse::warn);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(report.go_on_with(frame(i)));
  EXPECT_EQ(report.all().size(), 45U);
  EXPECT_EQ(report.end(), "");
  EXPECT_THAT(out.str(), AllOf(HasSubstr("frame 10: the camera has no pose; the network may have lost its way"),
                               HasSubstr("further jumps are only counted in run.json")));
}

TEST(CollapseReport, EndsTheRunWhereItIsAskedTo) {
  std::ostringstream out;
  Console console(out, Verbosity::normal, false);
  CollapseReport report(console, OnCollapse::stop);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(report.go_on_with(frame(i)));
  EXPECT_FALSE(report.go_on_with(frame(10)));
  EXPECT_EQ(report.end(), "frame 10: the camera has no pose; the run ends before it, as --on_collapse stop asks");
  EXPECT_EQ(out.str(), "");
}

TEST(CollapseJson, HasEveryNumber) {
  const auto json = to_json(std::vector<Collapse>{{7, CollapseSign::scale, 1.5, 1}, {.frame = 9}});
  EXPECT_EQ(
      json.dump(),
      R"([{"frame":7,"sign":"scale","found":1.5,"usual":1.0},{"frame":9,"sign":"pose","found":0.0,"usual":0.0}])");
}

}  // namespace
}  // namespace lingbot_map::tool
