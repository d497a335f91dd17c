#include "cache/two_stream_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cache/oracle_cache.hpp"
#include "lingbot_map/error.hpp"

namespace lingbot_map {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_equal(const CacheStats& found, const CacheStats& expected) {
  EXPECT_EQ(found.frame_count, expected.frame_count);
  EXPECT_EQ(found.scale_pages, expected.scale_pages);
  EXPECT_EQ(found.live_pages, expected.live_pages);
  EXPECT_EQ(found.free_pages, expected.free_pages);
  EXPECT_EQ(found.special_tokens, expected.special_tokens);
}

/// The page table must spell out exactly the visible range.
void expect_pages_of_range(const TwoStreamCache& cache) {
  const std::int64_t page_size = cache.layout().patches_per_frame;
  const VisibleRange range = cache.visible();
  const std::vector<std::int32_t> pages = cache.build_visible_page_table();
  ASSERT_FALSE(pages.empty());
  EXPECT_EQ(range.first_token, pages.front() * page_size);
  for (std::size_t i = 1; i < pages.size(); ++i) EXPECT_EQ(pages[i], pages[i - 1] + 1);
  const std::int64_t last = cache.compute_last_page_len();
  EXPECT_GE(last, 1);
  EXPECT_LE(last, page_size);
  EXPECT_EQ(range.tokens, (static_cast<std::int64_t>(pages.size()) - 1) * page_size + last);
}

void expect_agreement(const TwoStreamCache& cache, const OracleCache& oracle) {
  EXPECT_EQ(oracle.keys_in(cache.visible()), oracle.expected_keys());
  expect_pages_of_range(cache);
}

struct Case {
  int scale_frames;
  int window;
  int filled;  ///< scale frames that came
  KeepDecision decision;
  bool trajectory_memory = true;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << "S " << c.scale_frames << ", W " << c.window << ", filled " << c.filled
       << (c.decision == KeepDecision::before_attention ? ", before" : ", after")
       << (c.trajectory_memory ? "" : ", without memory");
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const int scale : {1, 2, 5}) {
    for (const int window : {1, 2, 3, 7}) {
      for (int filled = 1; filled <= scale; filled += 2) {
        for (const auto decision : {KeepDecision::before_attention, KeepDecision::after_attention})
          for (const bool memory : {true, false}) cases.push_back({scale, window, filled, decision, memory});
      }
    }
  }
  return cases;
}

class AgainstOracle : public ::testing::TestWithParam<Case> {};

/// One random frame through both; whatever is pending is compared, and so is what a roll back leaves.
void push_random_frame(TwoStreamCache& cache, OracleCache& oracle, std::mt19937& random) {
  const bool before = cache.decision() == KeepDecision::before_attention;
  const bool keep = random() % 3 != 0;
  const bool passing = before ? !keep : random() % 4 == 0;
  const FrameRole role = passing ? FrameRole::passing : before ? FrameRole::keyframe : FrameRole::candidate;
  const CacheStats stats = cache.statistics();
  const FrameSpan span = cache.begin_frame(role);
  oracle.begin(span, role);
  expect_agreement(cache, oracle);
  const bool undo = passing || (before ? !cache.overwrites() && random() % 5 == 0 : !keep);
  if (!undo) {
    cache.commit();
    oracle.commit();
  } else {
    cache.roll_back();
    oracle.roll_back();
    expect_equal(cache.statistics(), stats);
    EXPECT_EQ(cache.begin_frame(role), span);
    cache.roll_back();
  }
  expect_equal(cache.statistics(), oracle.statistics());
}

TEST_P(AgainstOracle, SeesExactlyTheRightKeys) {
  const Case& c = GetParam();
  std::mt19937 random(static_cast<unsigned>(c.scale_frames * 100 + c.window * 10 + c.filled));
  for (const int patches : {1, 3, 4}) {
    const TwoStreamCache::Layout layout{c.scale_frames, c.window, patches, 2, c.trajectory_memory};
    TwoStreamCache cache(layout, c.decision);
    OracleCache oracle(layout);
    for (int sequence = 0; sequence < 2; ++sequence) {
      oracle.append_scale_frames(cache.append_scale_frames(c.filled));
      expect_agreement(cache, oracle);
      expect_equal(cache.statistics(), oracle.statistics());
      for (int frame = 0; frame < 60 && !HasFailure(); ++frame) push_random_frame(cache, oracle, random);
      cache.clear();
      oracle.clear();
    }
  }
}

TEST_P(AgainstOracle, StaysInsideItsSlots) {
  const Case& c = GetParam();
  const TwoStreamCache::Layout layout{c.scale_frames, c.window, 5, 6, c.trajectory_memory};
  TwoStreamCache cache(layout, c.decision);
  EXPECT_EQ(cache.slot_tokens(), (1 + c.window + c.scale_frames) * 5);
  (void)cache.append_scale_frames(c.filled);
  const bool before = c.decision == KeepDecision::before_attention;
  for (int frame = 0; frame < 50; ++frame) {
    const bool keep = frame % 3 != 1;
    const FrameSpan span = cache.begin_frame(!keep    ? FrameRole::passing
                                             : before ? FrameRole::keyframe
                                                      : FrameRole::candidate);
    EXPECT_GE(span.patch_token, 0);
    EXPECT_EQ(span.patch_token % 5, 0);
    EXPECT_LE(span.patch_token + 5, cache.slot_tokens() - 5 * c.filled);
    if (c.trajectory_memory) {
      EXPECT_EQ(span.special_token, cache.slot_tokens() + 6 * cache.frames_kept());
    } else {
      EXPECT_LE(cache.visible().end(), cache.slot_tokens() + 6 * (c.filled + c.window + 1));
    }
    keep ? cache.commit() : cache.roll_back();
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, AgainstOracle, ::testing::ValuesIn(all_cases()));

TEST(TwoStreamCache, LaysFramesOutAsThePictureSays) {
  TwoStreamCache cache({.scale_frames = 2, .window = 2, .patches_per_frame = 10, .special_tokens = 6});
  EXPECT_EQ(cache.slot_tokens(), 50);
  EXPECT_THAT(cache.append_scale_frames(2), ElementsAre(FrameSpan{40, 50}, FrameSpan{30, 56}));
  EXPECT_EQ(cache.visible(), (VisibleRange{30, 32}));
  EXPECT_THAT(cache.build_visible_page_table(), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(cache.compute_last_page_len(), 2);

  EXPECT_EQ(cache.begin_frame(FrameRole::passing), (FrameSpan{20, 62}));
  EXPECT_EQ(cache.visible(), (VisibleRange{20, 48}));
  cache.roll_back();
  EXPECT_EQ(cache.begin_frame(FrameRole::keyframe), (FrameSpan{20, 62}));
  cache.commit();
  EXPECT_EQ(cache.begin_frame(FrameRole::keyframe), (FrameSpan{10, 68}));
  cache.commit();

  EXPECT_EQ(cache.begin_frame(FrameRole::passing), (FrameSpan{0, 74})) << "the ring is full: the spare slot";
  EXPECT_EQ(cache.visible(), (VisibleRange{0, 80}));
  EXPECT_EQ(cache.compute_last_page_len(), 10);
  cache.roll_back();
  EXPECT_EQ(cache.begin_frame(FrameRole::keyframe), (FrameSpan{20, 74})) << "over the oldest frame";
  EXPECT_EQ(cache.visible(), (VisibleRange{10, 70}));
  cache.commit();
}

TEST(TwoStreamCache, MovesTheFreeSlotRoundTheRingWhenFramesAreJudgedLater) {
  TwoStreamCache cache({.scale_frames = 1, .window = 2, .patches_per_frame = 10, .special_tokens = 6},
                       KeepDecision::after_attention);
  (void)cache.append_scale_frames(1);
  for (const std::int64_t slot : {2, 1, 0, 2, 1, 0, 2}) {
    EXPECT_EQ(cache.begin_frame(FrameRole::candidate).patch_token, slot * 10);
    cache.roll_back();
    EXPECT_EQ(cache.begin_frame(FrameRole::candidate).patch_token, slot * 10);
    cache.commit();
  }
  EXPECT_EQ(cache.statistics().live_pages, 2);
  EXPECT_THROW((void)cache.visible(), Error) << "the free slot lies in the middle";
}

TEST(TwoStreamCache, EmptyCacheSeesNothing) {
  const TwoStreamCache cache({.scale_frames = 2, .window = 2, .patches_per_frame = 10});
  EXPECT_EQ(cache.visible().tokens, 0);
  EXPECT_TRUE(cache.build_visible_page_table().empty());
  EXPECT_EQ(cache.compute_last_page_len(), 0);
  expect_equal(cache.statistics(), {0, 0, 0, 5, 0});
}

TEST(TwoStreamCache, TakesAMillionFramesOfEitherScheme) {
  for (const auto decision : {KeepDecision::before_attention, KeepDecision::after_attention}) {
    const bool before = decision == KeepDecision::before_attention;
    TwoStreamCache cache({.scale_frames = 8, .window = 64, .patches_per_frame = 999}, decision);
    (void)cache.append_scale_frames(8);
    std::vector<std::int64_t> frame_in_slot(static_cast<std::size_t>(cache.slots()), -1);
    std::int64_t kept = 0;
    bool right = true;
    for (std::int64_t frame = 0; frame < 1'000'000; ++frame) {
      const bool keep = frame % 5 != 3;
      const FrameSpan span = cache.begin_frame(!keep    ? FrameRole::passing
                                               : before ? FrameRole::keyframe
                                                        : FrameRole::candidate);
      std::int64_t& holder = frame_in_slot[static_cast<std::size_t>(span.patch_token / 999)];
      const std::int64_t oldest = kept - 64;
      const bool evicts = before && keep && oldest >= 0;
      right = right && (evicts ? holder == oldest : holder < std::max<std::int64_t>(oldest, 0));
      right = right && cache.visible().end() == cache.slot_tokens() + 6 * (8 + kept + 1);
      if (keep) {
        cache.commit();
        holder = kept++;
      } else {
        cache.roll_back();
      }
    }
    EXPECT_TRUE(right);
    EXPECT_EQ(cache.frames_kept(), 800'008);
    expect_equal(cache.statistics(), {800'008, 8, 64, 1, 4'800'048});
  }
}

std::string message_of(const std::function<void()>& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(TwoStreamCache, NamesTheImpossibleSize) {
  const auto message_for = [](TwoStreamCache::Layout layout) {
    return message_of([&] { TwoStreamCache cache(layout); }, ErrorCode::usage);
  };
  EXPECT_EQ(message_for({0, 4, 10, 6}), "scale_frames: found 0, expected at least 1");
  EXPECT_EQ(message_for({8, -3, 10, 6}), "window: found -3, expected at least 1");
  EXPECT_EQ(message_for({8, 4, 0, 6}), "patches_per_frame: found 0, expected at least 1");
  EXPECT_EQ(message_for({8, 4, 10, 0}), "special_tokens: found 0, expected at least 1");
  EXPECT_THAT(message_for({8, 2147483647, 10, 6}), HasSubstr("found 2147483656 frames"));
}

TEST(TwoStreamCache, RefusesCallsOutOfOrder) {
  const auto refuses = [](const std::function<void()>& action, const char* text) {
    EXPECT_THAT(message_of(action, ErrorCode::internal), HasSubstr(text));
  };
  TwoStreamCache cache({.scale_frames = 2, .window = 1, .patches_per_frame = 10});
  refuses([&] { (void)cache.begin_frame(FrameRole::keyframe); }, "before the scale frames");
  refuses([&] { (void)cache.append_scale_frames(3); }, "3 scale frames in a cache for 2");
  (void)cache.append_scale_frames(2);
  refuses([&] { (void)cache.append_scale_frames(1); }, "come once");
  refuses([&] { cache.commit(); }, "commit without a frame");
  refuses([&] { cache.roll_back(); }, "without a pending frame");
  refuses([&] { (void)cache.begin_frame(FrameRole::candidate); }, "a role that the cache's scheme does not have");
  (void)cache.begin_frame(FrameRole::passing);
  refuses([&] { cache.commit(); }, "commit without a frame that can be kept");
  refuses([&] { (void)cache.begin_frame(FrameRole::keyframe); }, "while another one is pending");
  cache.roll_back();
  (void)cache.begin_frame(FrameRole::keyframe);
  cache.commit();
  (void)cache.begin_frame(FrameRole::keyframe);
  refuses([&] { cache.roll_back(); }, "overwritten the oldest one");
}

}  // namespace
}  // namespace lingbot_map
