#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.hpp"

namespace lingbot_map::test {

/// AddressSanitizer keeps freed memory for a while, which is growth to a program that measures itself. For all programs
/// that this process starts from now on.
inline void without_quarantine() {
  setenv("ASAN_OPTIONS", "quarantine_size_mb=0:thread_local_quarantine_size_kb=0", 0);
}

/// `lingbot-map bench` with these words at a size that takes no time.
inline Outcome bench(const std::string& what, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"bench", what, "--size", "84x56", "--threads", "1", "--device", "cpu"};
  if (what != "start") words.insert(words.end(), {"--config", "tiny"});
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

inline nlohmann::json results_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

inline void expect_failure(const Outcome& outcome, int exit_code, const testing::Matcher<std::string>& line) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_THAT(outcome.err, testing::AllOf(testing::StartsWith("lingbot-map: error: "), line));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

}  // namespace lingbot_map::test
