#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lingbot_map/error.hpp"

namespace lingbot_map::test {

/// Calls `action` and expects an Error with this code and a message of one line that matches.
template <typename Action, typename Matcher>
void expect_error(ErrorCode code, Action&& action, const Matcher& message) {
  try {
    std::forward<Action>(action)();
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(std::string(error.what()), message);
    EXPECT_THAT(std::string(error.what()), testing::Not(testing::HasSubstr("\n")));
  }
}

}  // namespace lingbot_map::test
