#include "collapse_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "expect_error.hpp"
#include "lingbot_map/lingbot_map.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::tool {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using Verdict = CollapseReport::Verdict;

FrameResult frame(int index, bool with_pose = true) {
  FrameResult result;
  result.index = index;
  result.width = 16;
  result.height = 16;
  result.pose_enc = {0, 0, 0.01F * static_cast<float>(index), 0, 0, 0, 1, 1, 1};
  if (!with_pose) result.pose_enc[0] = std::numeric_limits<float>::quiet_NaN();
  result.depth.assign(256, 2);
  result.depth_conf.assign(256, 3);
  return result;
}
/// Without a pose in every second frame from frame 10 on.
FrameResult flickering(int index) { return frame(index, index < 10 || index % 2 == 1); }

class CollapseReportTest : public testing::Test {
 protected:
  std::ostringstream out_;
  Console console_{out_, Verbosity::normal, false};
};

TEST_F(CollapseReportTest, WarnsAndGoesOn) {
  CollapseReport report(console_, OnCollapse::warn, 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(report.judge(flickering(i)), Verdict::take);
  EXPECT_EQ(report.summary().jumps, 45);
  EXPECT_THAT(report.summary().events, SizeIs(45));
  EXPECT_THAT(report.summary().cuts, SizeIs(0));
  EXPECT_EQ(report.end(), "");
  EXPECT_THAT(out_.str(), HasSubstr("frame 10: the camera has no pose; the network may have lost its way"));
  EXPECT_THAT(console_.warnings(), SizeIs(21));
  EXPECT_EQ(console_.warnings().back(), "further jumps are only counted in run.json");
}

TEST_F(CollapseReportTest, EndsTheRunWhereItIsAskedTo) {
  CollapseReport report(console_, OnCollapse::stop, 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(report.judge(flickering(i)), Verdict::take);
  EXPECT_EQ(report.judge(flickering(10)), Verdict::end);
  EXPECT_EQ(report.end(), "frame 10: the camera has no pose; the run ends before it, as --on_collapse stop asks");
  EXPECT_EQ(report.summary().events.at(0).outcome, CollapseOutcome::ended);
  EXPECT_EQ(out_.str(), "") << "the error says it";
}

TEST_F(CollapseReportTest, AFrameThatIsWholeInTheNewWindowIsTaken) {
  CollapseReport report(console_, OnCollapse::reset, 6);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(report.judge(frame(i)), Verdict::take);
  EXPECT_EQ(report.judge(frame(10, false)), Verdict::cut);
  for (int i = 10; i < 40; ++i) EXPECT_EQ(report.judge(frame(i)), Verdict::take) << "as if it had not jumped";
  EXPECT_EQ(report.summary().jumps, 1);
  EXPECT_THAT(report.summary().cuts, ElementsAre(10));
  EXPECT_THAT(console_.warnings(),
              ElementsAre("frame 10: the camera has no pose; the run is cut before frame 10, and a new window begins"));
}

/// However a run jumps, it is not cut for ever.
TEST_F(CollapseReportTest, WhatJumpsInTheNewWindowTooIsKept) {
  CollapseReport report(console_, OnCollapse::reset, 6);
  int results = 0;
  for (int i = 0; i < 100; ++results)
    if (report.judge(flickering(i)) == Verdict::take) ++i;
  EXPECT_THAT(report.summary().cuts, ElementsAre(10, 18, 26, 34, 42, 50, 58, 66, 74, 82, 90, 98));
  EXPECT_EQ(results, 100 + 12) << "each frame is cut at once at most";
  EXPECT_EQ(
      console_.warnings().at(1),
      "frame 10: the camera has no pose; it is kept, since the last cut, at frame 10, is no more than 6 frames back");
  EXPECT_THAT(console_.warnings().at(2), StartsWith("frame 12: the camera has no pose; it is kept"));
}

TEST_F(CollapseReportTest, CutsAreAsFarFromEachOtherAsTheWatchTakesToSettle) {
  CollapseReport report(console_, OnCollapse::reset, 1);
  for (int i = 0; i < 30;)
    if (report.judge(flickering(i)) == Verdict::take) ++i;
  EXPECT_THAT(report.summary().cuts, ElementsAre(10, 16, 22, 28));
}

TEST_F(CollapseReportTest, WhereNothingIsBeforeAFrameItIsKept) {
  CollapseReport report(console_, OnCollapse::reset, 6);
  EXPECT_EQ(report.judge(frame(0, false)), Verdict::take);
  EXPECT_THAT(console_.warnings(),
              ElementsAre("frame 0: the camera has no pose; it is kept, since there is no frame before it"));
  EXPECT_EQ(report.judge(frame(1)), Verdict::take);
  EXPECT_EQ(report.judge(frame(2, false), false), Verdict::take) << "a stream that failed is not cut";
  EXPECT_EQ(report.summary().events.back().outcome, CollapseOutcome::taken);
}

TEST_F(CollapseReportTest, ListsNoMoreThanItMust) {
  CollapseReport report(console_, OnCollapse::warn, 0);
  for (int i = 0; i < 2100; ++i) (void)report.judge(frame(i, i % 2 == 1));
  EXPECT_EQ(report.summary().jumps, 1050);
  EXPECT_THAT(report.summary().events, SizeIs(CollapseSummary::kMostListed));
}

TEST_F(CollapseReportTest, GoesOnFromItsState) {
  const test::TemporaryFolder folder;
  const Model model = Model::synthetic(Config::tiny(), 1);
  const Session session(model);
  for (const int stopped_after : {0, 9, 10, 11, 17, 60}) {
    SCOPED_TRACE(stopped_after);
    std::ostringstream all;
    Console told(all, Verbosity::normal, false);
    CollapseReport undisturbed(told, OnCollapse::reset, 6);
    int i = 0;
    const auto go_on = [&i](CollapseReport& report, int end) {
      while (i < end)
        if (report.judge(flickering(i)) == Verdict::take) ++i;
    };
    go_on(undisturbed, stopped_after);
    session.save(folder / "s.npz", &undisturbed.watch());
    const JsonFields state(undisturbed.state(), "run.json");
    go_on(undisturbed, 80);

    Console console(all, Verbosity::quiet, false);
    CollapseReport report(console, OnCollapse::reset, 6);
    report.restore(state, folder / "s.npz");
    i = stopped_after;
    go_on(report, 80);
    EXPECT_EQ(report.state(), undisturbed.state());
    EXPECT_EQ(console.warnings(), told.warnings());
  }
}

TEST_F(CollapseReportTest, AStateThatCannotBeIsRefused) {
  const test::TemporaryFolder folder;
  const Model model = Model::synthetic(Config::tiny(), 1);
  CollapseReport report(console_, OnCollapse::reset, 6);
  Session(model).save(folder / "s.npz", &report.watch());
  for (int i = 0; i < 40;)
    if (report.judge(flickering(i)) == Verdict::take) ++i;
  const auto refused = [&](const auto& change, const char* line) {
    nlohmann::ordered_json state = report.state();
    change(state);
    CollapseReport other(console_, OnCollapse::reset, 6);
    expect_error(
        ErrorCode::input, [&] { other.restore(JsonFields(state, "run.json"), folder / "s.npz"); },
        AllOf(StartsWith("run.json"), HasSubstr(line)));
  };
  refused([](auto& state) { state["jumps"] = -1; }, "jumps is -1");
  refused([](auto& state) { state["jumps"] = 3; }, "contradict");
  refused([](auto& state) { state["cuts"] = {18, 10}; }, "contradict");
  refused([](auto& state) { state["cuts"] = {0}; }, "cuts is [0]");
  refused([](auto& state) { state["cuts"] = "10"; }, "a list of whole numbers");
  refused([](auto& state) { state.erase("events"); }, "no field events");
  refused([](auto& state) { state["events"][0] = 7; }, "a list of objects");
  refused([](auto& state) { state["events"][0]["sign"] = "mood"; }, "no known sign");
  refused([](auto& state) { state["events"][2]["outcome"] = "lost"; }, "no known outcome");
  refused([](auto& state) { state["events"][2]["found"] = nullptr; }, "events[2].found is null");
}

TEST(CollapseJson, HasEveryNumber) {
  const auto json =
      to_json(std::vector<CollapseEvent>{{{7, CollapseSign::scale, 1.5, 1}, CollapseOutcome::cut}, {{.frame = 9}}});
  EXPECT_EQ(json.dump(), R"([{"frame":7,"sign":"scale","found":1.5,"usual":1.0,"outcome":"cut"},)"
                         R"({"frame":9,"sign":"pose","found":0.0,"usual":0.0,"outcome":"taken"}])");
}

TEST(OnCollapseFlag, HasThreeWords) {
  EXPECT_EQ(on_collapse("warn"), OnCollapse::warn);
  EXPECT_EQ(on_collapse("reset"), OnCollapse::reset);
  EXPECT_EQ(on_collapse("stop"), OnCollapse::stop);
  expect_error(
      ErrorCode::usage, [] { (void)on_collapse("Reset"); },
      HasSubstr("--on_collapse: found \"Reset\", expected warn, reset or stop"));
}

}  // namespace
}  // namespace lingbot_map::tool
