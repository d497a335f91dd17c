#pragma once

#include <CLI/CLI.hpp>

namespace lingbot_map::tool {

// The subcommands of `lingbot-map bench`, one file each.
void add_bench_frames(CLI::App& app);
void add_bench_memory(CLI::App& app);
void add_bench_start(CLI::App& app);
void add_bench_ops(CLI::App& app);
void add_bench_accuracy(CLI::App& app);

}  // namespace lingbot_map::tool
