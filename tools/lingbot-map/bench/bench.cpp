#include "bench/bench.hpp"

#include "command.hpp"

namespace lingbot_map::tool {

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measures speed, memory and accuracy; needs no input");
  command->require_subcommand(0, 1);
  add_bench_frames(*command);
  add_bench_memory(*command);
  add_bench_start(*command);
  add_bench_ops(*command);
  add_bench_accuracy(*command);
  // Called when all words are known to be right: an unknown one is told before a missing one.
  command->callback([command] {
    if (command->get_subcommands().empty())
      throw CLI::RequiredError("bench: one of frames, memory, start, ops and accuracy");
  });
}

}  // namespace lingbot_map::tool
