#include "evaluation/depth_evaluation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

DepthPair pair_of(std::vector<float> estimate, std::vector<float> truth) {
  const int width = static_cast<int>(estimate.size());
  return {"frame 7", 7, {width, 1, std::move(estimate)}, {width, 1, std::move(truth)}};
}

DepthEvaluation evaluate(const std::vector<DepthPair>& pairs, const DepthOptions& options) {
  return evaluate_depth(
      pairs.size(), [&](std::size_t i) { return pairs[i]; }, options);
}

TEST(DepthEvaluation, MeasuresKnownErrors) {
  const DepthErrors found = evaluate({pair_of({1, 2.5, 3, 8}, {1, 2, 4, 4})}, {.scale = DepthScale::none}).all;
  EXPECT_EQ(found.pixels, 4);
  EXPECT_DOUBLE_EQ(found.abs_rel, (0 + 0.25 + 0.25 + 1) / 4);
  EXPECT_DOUBLE_EQ(found.rmse, std::sqrt((0.25 + 1 + 16) / 4));
  EXPECT_DOUBLE_EQ(found.delta_1, 1.0 / 4);  // 1.25 is not below 1.25
  EXPECT_DOUBLE_EQ(found.delta_2, 3.0 / 4);
  EXPECT_DOUBLE_EQ(found.delta_3, 3.0 / 4);
}

TEST(DepthEvaluation, LeavesOutSkyAndHoles) {
  const DepthErrors found =
      evaluate({pair_of({1, 1, 1, 1, kNan, 0, -1, kInfinity, 1}, {1, 0, kInfinity, kNan, 1, 1, 1, 1, -2})},
               {.scale = DepthScale::none})
          .all;
  EXPECT_EQ(found.pixels, 1);
  EXPECT_EQ(found.missing, 4);
  EXPECT_EQ(found.abs_rel, 0);
}

TEST(DepthEvaluation, LeavesOutWhatIsTooFar) {
  const std::vector<DepthPair> pairs = {pair_of({1, 2, 90}, {1, 2, 30})};
  EXPECT_EQ(evaluate(pairs, {.scale = DepthScale::none, .max_depth = 10}).all.abs_rel, 0);
  EXPECT_GT(evaluate(pairs, {.scale = DepthScale::none}).all.abs_rel, 0.5);
}

TEST(DepthEvaluation, ScalesByMediansPerFrameOrForAll) {
  const std::vector<DepthPair> pairs = {pair_of({1, 2, 3}, {2, 4, 6}), pair_of({1, 2, 3}, {4, 8, 12}),
                                        pair_of({1, 2, 3}, {2, 4, 6})};
  const DepthEvaluation by_frame = evaluate(pairs, {.scale = DepthScale::frame});
  EXPECT_EQ(by_frame.all.abs_rel, 0);
  EXPECT_EQ(by_frame.frames[1].scale, 4);
  EXPECT_EQ(by_frame.all.scale, 2);

  const DepthEvaluation by_sequence = evaluate(pairs, {.scale = DepthScale::sequence});
  EXPECT_EQ(by_sequence.all.scale, 2);
  EXPECT_EQ(by_sequence.frames[0].abs_rel, 0);
  EXPECT_DOUBLE_EQ(by_sequence.frames[1].abs_rel, 0.5);
  EXPECT_DOUBLE_EQ(by_sequence.all.abs_rel, 0.5 / 3);
  EXPECT_DOUBLE_EQ(by_sequence.all.delta_1, 2.0 / 3);
  EXPECT_EQ(by_sequence.frame_numbers, (std::vector<std::int64_t>{7, 7, 7}));
}

TEST(DepthEvaluation, CountsEveryPixelOfTheSequenceTheSame) {
  const DepthErrors found =
      evaluate({pair_of({2}, {1}), pair_of({1, 1, 1}, {1, 1, 1})}, {.scale = DepthScale::none}).all;
  EXPECT_DOUBLE_EQ(found.abs_rel, 0.25);
  EXPECT_DOUBLE_EQ(found.rmse, 0.5);
}

TEST(DepthEvaluation, GoesOnPastFramesWithoutDepth) {
  for (const DepthScale scale : {DepthScale::sequence, DepthScale::frame, DepthScale::none}) {
    const DepthEvaluation found = evaluate({pair_of({1}, {0}), pair_of({1}, {1})}, {.scale = scale});
    EXPECT_EQ(found.all.pixels, 1);
    EXPECT_EQ(found.frames[0].pixels, 0);
  }
}

TEST(DepthEvaluation, SamplesATruthOfAnotherSizeAtTheNextPixel) {
  DepthPair pair;
  pair.estimate = {2, 2, {1, 2, 3, 4}};
  pair.truth = {4, 4, {9, 9, 9, 9, 9, 1, 9, 2, 9, 9, 9, 9, 9, 3, 9, 4}};
  EXPECT_EQ(evaluate({pair}, {.scale = DepthScale::none}).all.abs_rel, 0);
  pair.estimate = {4, 2, {1, 1, 2, 2, 3, 3, 4, 4}};
  pair.truth = {2, 2, {1, 2, 3, 4}};
  EXPECT_EQ(evaluate({pair}, {.scale = DepthScale::none}).all.abs_rel, 0);
}

TEST(DepthEvaluation, RefusesAnotherPartOfThePicture) {
  DepthPair pair;
  pair.name = "frame 3";
  pair.estimate = {100, 100, std::vector<float>(10000, 1.0F)};
  pair.truth = {100, 109, std::vector<float>(10900, 1.0F)};
  expect_error(
      ErrorCode::input, [&] { (void)evaluate({pair}, {}); },
      HasSubstr("frame 3: found 100 x 100 pixels of depth and a truth of 100 x 109"));
  pair.truth = {100, 108, std::vector<float>(10800, 1.0F)};
  EXPECT_EQ(evaluate({pair}, {}).all.pixels, 10000);
}

TEST(DepthEvaluation, RefusesToCompareNothing) {
  expect_error(
      ErrorCode::input, [] { (void)evaluate({pair_of({1}, {0})}, {}); }, HasSubstr("found no pixel with a depth"));
  expect_error(
      ErrorCode::input, [] { (void)evaluate({}, {}); }, HasSubstr("found no pixel with a depth"));
  for (const double depth : {0.0, -1.0, std::nan("")})
    expect_error(
        ErrorCode::usage, [&] { (void)evaluate({pair_of({1}, {1})}, {.max_depth = depth}); }, HasSubstr("max_depth"));
}

}  // namespace
}  // namespace lingbot_map
