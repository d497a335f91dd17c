#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"

namespace lingbot_map::test {
namespace {

using Words = std::vector<std::string>;

std::vector<std::string> help_lines(Words command) {
  command.emplace_back("--help");
  const Outcome outcome = run_program(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::istringstream text(outcome.out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// The program and its commands, each with those above it.
std::vector<Words> all_commands() {
  std::vector<Words> commands = {{}};
  for (std::size_t i = 0; i < commands.size(); ++i) {
    bool listed = false;
    for (const std::string& line : help_lines(commands[i])) {
      if (listed && line.starts_with("  ")) {
        commands.push_back(commands[i]);
        commands.back().push_back(line.substr(2, line.find(' ', 2) - 2));
      }
      listed = line == "Subcommands:" || (listed && line.starts_with("  "));
    }
  }
  return commands;
}

TEST(Help, EveryCommandHasOneAndRefusesWhatItDoesNotList) {
  const std::vector<Words> commands = all_commands();
  for (const Words& command : {Words{"info"}, Words{"eval"}, Words{"bench", "memory"}, Words{"bench", "accuracy"}})
    EXPECT_THAT(commands, testing::Contains(command));
  for (Words words : commands) {
    words.emplace_back("--no_such_flag");
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
  if (std::ranges::find(commands, Words{"demo"}) == commands.end()) return;  // a build without media
  std::vector<std::string> demo = help_lines({"demo"});
  std::vector<std::string> run = help_lines({"run"});
  for (std::vector<std::string>* lines : {&demo, &run}) lines->erase(lines->begin(), lines->begin() + 2);
  EXPECT_EQ(demo, run) << "the demo takes what a run takes";
}

}  // namespace
}  // namespace lingbot_map::test
