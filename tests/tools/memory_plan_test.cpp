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

TEST(PlanText, ListsEveryPartAndTheSum) {
  const std::string text = plan_text(kPlan, kOptions, 518, 294, 38);
  EXPECT_THAT(text, testing::HasSubstr("518x294"));
  EXPECT_THAT(text, testing::HasSubstr("4.00 MB"));
  EXPECT_THAT(text, testing::HasSubstr("18 of 38 frames, 1.00 kB each"));
  EXPECT_THAT(text, testing::HasSubstr("9.02 MB"));
  EXPECT_THAT(plan_text(kPlan, kOptions, 518, 294, std::nullopt), testing::HasSubstr("not known"));
}

TEST(RequireMemory, RefusesWithTheNumbersAndWhatToChange) {
  EXPECT_NO_THROW(require_memory(kPlan, kOptions, 38, 5'018'000));
  EXPECT_NO_THROW(require_memory(kPlan, kOptions, 38, std::nullopt));
  try {
    require_memory(kPlan, kOptions, 38, 5'017'999);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::resource);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("5.02 MB"), testing::HasSubstr("--kv_cache_sliding_window")));
  }
}

TEST(ProcessMemory, IsMeasured) {
  EXPECT_GT(resident_bytes(), 100'000U);
  EXPECT_GE(peak_resident_bytes(), 100'000U);
  EXPECT_GT(available_bytes().value_or(1), 0U);
}

}  // namespace
}  // namespace lingbot_map::tool
