#include "console.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "progress.hpp"

namespace lingbot_map::tool {
namespace {

std::string printed(Verbosity verbosity, bool terminal) {
  std::ostringstream out;
  {
    Console console(out, verbosity, terminal);
    console.progress("1 frame");
    console.info("info");
    console.detail("detail");
    console.warning("careful");
    EXPECT_EQ(console.warnings(), std::vector<std::string>{"careful"});
  }
  return out.str();
}

TEST(Console, PrintsWholeLinesIntoAPipe) {
  EXPECT_EQ(printed(Verbosity::normal, false), "lingbot-map: info\nlingbot-map: warning: careful\n");
  EXPECT_EQ(printed(Verbosity::verbose, false),
            "lingbot-map: info\nlingbot-map: detail\nlingbot-map: warning: careful\n");
}

TEST(Console, IsSilentWhenQuiet) {
  EXPECT_EQ(printed(Verbosity::quiet, false), "");
  EXPECT_EQ(printed(Verbosity::quiet, true), "");
}

TEST(Console, KeepsTheProgressLineBelow) {
  EXPECT_EQ(printed(Verbosity::normal, true),
            "\r\033[K1 frame"
            "\r\033[Klingbot-map: info\n1 frame"
            "\r\033[Klingbot-map: warning: careful\n1 frame"
            "\r\033[K");
}

TEST(Progress, TellsFramesRateKeptAndMemory) {
  EXPECT_EQ(progress_line(120, 500, rate_text(120, 60), 64, 1'210'000'000),
            "120/500 frames, 2.00 frames/s, 64 kept, 1.21 GB of memory");
  EXPECT_EQ(progress_line(1, std::nullopt, rate_text(1, 0), 1, 0), "1 frames, 0.00 frames/s, 1 kept, 0 B of memory");
  EXPECT_EQ(rate_text(1234, 10), "123 frames/s");
  EXPECT_EQ(rate_text(123, 10), "12.3 frames/s");
}

TEST(Progress, IsDrawnOnATerminalOnlyAndNotForEveryFrame) {
  std::ostringstream out;
  Console console(out, Verbosity::normal, true);
  Progress progress(console, std::nullopt);
  for (int frame = 1; frame <= 50; ++frame) progress.update(frame, frame);
  EXPECT_NE(out.str().find("1 frames"), std::string::npos);
  EXPECT_EQ(out.str().find("50 frames"), std::string::npos);

  std::ostringstream pipe;
  Console piped(pipe, Verbosity::normal, false);
  Progress(piped, 10).update(1, 1);
  EXPECT_EQ(pipe.str(), "");
}

}  // namespace
}  // namespace lingbot_map::tool
