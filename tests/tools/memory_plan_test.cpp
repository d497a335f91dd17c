#include "memory_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lingbot_map/error.hpp"
#include "process_memory.hpp"

namespace lingbot_map::tool {
namespace {

const SessionOptions kOptions{.scale_frames = 8, .window = 64, .keyframe_interval = 3};
const MemoryPlan kPlan{
    .weights = 4'000'000, .cache_slots = 3'000'000, .per_kept_frame = 1000, .activations = 2'000'000};

TEST(KeptFrames, AreScaleFramesAndEveryNthAfterThem) {
  EXPECT_EQ(kept_frames(0, kOptions), 0);
  EXPECT_EQ(kept_frames(5, kOptions), 5);
  EXPECT_EQ(kept_frames(8, kOptions), 8);
  EXPECT_EQ(kept_frames(9, kOptions), 9);
  EXPECT_EQ(kept_frames(11, kOptions), 9);
  EXPECT_EQ(kept_frames(12, kOptions), 10);
}

TEST(FilledPart, IsWhatAShortSequenceFills) {
  EXPECT_EQ(filled_part(kOptions, std::nullopt).window, 64);
  EXPECT_EQ(filled_part(kOptions, 100000).window, 64);
  EXPECT_EQ(filled_part(kOptions, 12).window, 2);
  EXPECT_EQ(filled_part(kOptions, 3).scale_frames, 3);
  EXPECT_EQ(filled_part(kOptions, 3).window, 1);
}

PlannedRun run_of(std::optional<std::int64_t> frames, std::size_t free_bytes) {
  return {.session = kOptions,
          .width = 518,
          .height = 294,
          .frames = frames,
          .dtype = DType::f32,
          .free_bytes = free_bytes};
}

TEST(PlanText, ListsEveryPartAndTheSum) {
  const std::string text = plan_text(kPlan, run_of(38, 0));
  EXPECT_THAT(text, testing::HasSubstr("518x294"));
  EXPECT_THAT(text, testing::HasSubstr("4.00 MB"));
  EXPECT_THAT(text, testing::HasSubstr("18 of 38 frames, 1.00 kB each"));
  EXPECT_THAT(text, testing::HasSubstr("9.02 MB"));
  EXPECT_THAT(text, testing::Not(testing::AnyOf(testing::HasSubstr("context"), testing::HasSubstr("workspace"),
                                                testing::HasSubstr("free"))));
  EXPECT_THAT(plan_text(kPlan, run_of(std::nullopt, 0)), testing::HasSubstr("not known"));
}

TEST(PlanText, HasLinesOfTheirOwnForWhatAGpuTakes) {
  MemoryPlan plan = kPlan;
  plan.workspace = 33'000'000;
  plan.context = 500'000'000;
  const std::string text = plan_text(plan, run_of(38, 0));
  EXPECT_THAT(text, testing::ContainsRegex("\n  workspace +33.0 MB"));
  EXPECT_THAT(text, testing::ContainsRegex("\n  context and libraries +500 MB"));
  EXPECT_THAT(text, testing::ContainsRegex("\n  together +542 MB"));
}

TEST(PlanText, CountsAWindowAndWhatWaits) {
  PlannedRun run = run_of(38, 0);
  run.most_kept = 12;
  run.held_bytes = 7'000'000;
  EXPECT_THAT(plan_text(kPlan, run), testing::ContainsRegex("kept frames +12.0 kB  12 at a time, 1.00 kB each\n"));
  EXPECT_THAT(plan_text(kPlan, run), testing::ContainsRegex("common frames +7.00 MB"));
  EXPECT_THAT(plan_text(kPlan, run), testing::ContainsRegex("together +16.0 MB"));
  run.frames.reset();
  EXPECT_THAT(plan_text(kPlan, run), testing::HasSubstr("12 at a time"));
  run.frames = 9;
  EXPECT_THAT(plan_text(kPlan, run), testing::HasSubstr("9 at a time"));
}

TEST(PlanText, TellsThatFlowDecides) {
  PlannedRun run = run_of(38, 0);
  run.session.keyframe_interval = 1;
  run.session.flow_threshold = 20;
  EXPECT_THAT(plan_text(kPlan, run), testing::HasSubstr("up to 38 of 38 frames"));
}

TEST(CommonFrames, AreResultsImagesAndRatios) {
  EXPECT_EQ(common_frames_bytes(1, 10, 7, false), 70U * (2 * 8 + 2 * 3 + 4));
  EXPECT_EQ(common_frames_bytes(16, 10, 7, true), 16U * 70U * (2 * 24 + 2 * 3 + 4));
  EXPECT_EQ(common_frames_bytes(1, 10, 7, false, true), 70U * (3 * 8 + 3 * 3 + 4));
  EXPECT_EQ(common_frames_bytes(0, 10, 7, true), 0U);
  EXPECT_GT(common_frames_bytes(std::int64_t{1} << 62, 16384, 16384, true), std::size_t{1} << 50);
}

TEST(PlanText, TellsForHowManyFramesThereIsRoom) {
  EXPECT_THAT(plan_text(kPlan, run_of(38, 6'234'567)), testing::HasSubstr("room for 1,234 kept frames"));
  EXPECT_THAT(plan_text(kPlan, run_of(38, 4'999'999)), testing::HasSubstr("too little"));
}

void expect_refusal(const MemoryPlan& plan, const PlannedRun& run, const testing::Matcher<std::string>& text) {
  try {
    require_memory(plan, run);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::resource);
    EXPECT_THAT(std::string(error.what()), text);
    EXPECT_THAT(std::string(error.what()), testing::Not(testing::HasSubstr("\n")));
  }
}

TEST(RequireMemory, RefusesWithTheNumbersAndWhatToChange) {
  EXPECT_NO_THROW(require_memory(kPlan, run_of(38, 5'018'000)));
  EXPECT_NO_THROW(require_memory(kPlan, run_of(38, 0)));
  expect_refusal(kPlan, run_of(38, 5'017'999),
                 testing::AllOf(testing::HasSubstr("5.02 MB"), testing::HasSubstr("--kv_cache_sliding_window (now 64)"),
                                testing::HasSubstr("--keyframe_interval (now 3)"),
                                testing::HasSubstr("--image_size (now 518)"), testing::HasSubstr("--dtype bf16")));
}

TEST(RequireMemory, CountsWhatWaitsWhereTheHostIsTheDevice) {
  PlannedRun run = run_of(38, 5'020'000);
  run.most_kept = 12;
  run.held_bytes = 8'000;
  EXPECT_NO_THROW(require_memory(kPlan, run));
  run.held_bytes = 8'001;
  expect_refusal(
      kPlan, run,
      testing::AllOf(testing::HasSubstr("--window_size"), testing::Not(testing::HasSubstr("--keyframe_interval"))));
  run.on_cpu = false;
  EXPECT_NO_THROW(require_memory(kPlan, run));
}

TEST(RequireMemory, CountsTheWorkspaceAndNotTheContextThatIsThere) {
  MemoryPlan plan = kPlan;
  plan.workspace = 1'000'000;
  plan.context = 500'000'000;
  EXPECT_NO_THROW(require_memory(plan, run_of(38, 6'018'000)));
  PlannedRun run = run_of(std::nullopt, 5'999'999);
  run.dtype = DType::bf16;
  expect_refusal(plan, run,
                 testing::AllOf(testing::HasSubstr("6.00 MB"), testing::Not(testing::HasSubstr("--keyframe_interval")),
                                testing::Not(testing::HasSubstr("--dtype"))));
}

TEST(ProcessMemory, IsMeasured) {
  EXPECT_GT(resident_bytes(), 100'000U);
  EXPECT_GE(peak_resident_bytes(), 100'000U);
}

}  // namespace
}  // namespace lingbot_map::tool
