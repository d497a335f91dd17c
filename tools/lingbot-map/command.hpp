#pragma once

#include <CLI/CLI.hpp>

namespace lingbot_map::tool {

/// Thrown by a command that Ctrl-C ended after it had written what it had. main() prints nothing and exits with 130, as
/// shells do for a program that SIGINT killed.
struct Interrupted {};

/// Each subcommand is one file that defines one of these: it adds its flags to `app` and sets a callback that does the
/// work. A callback reports failure by throwing lingbot_map::Error; main() prints the one line and picks the exit code.
void add_run(CLI::App& app);
void add_demo(CLI::App& app);
void add_info(CLI::App& app);
void add_convert(CLI::App& app);
void add_synth(CLI::App& app);
void add_preprocess(CLI::App& app);
void add_scene(CLI::App& app);
void add_bench(CLI::App& app);
void add_profile(CLI::App& app);
void add_picture(CLI::App& app);
void add_eval(CLI::App& app);
void add_export(CLI::App& app);

}  // namespace lingbot_map::tool
