#pragma once

#include <CLI/CLI.hpp>

namespace lingbot_map::tool {

/// Each subcommand is one file that defines one of these: it adds its flags to `app` and sets a callback that does the
/// work. A callback reports failure by throwing lingbot_map::Error; main() prints the one line and picks the exit code.
void add_run(CLI::App& app);
void add_info(CLI::App& app);
void add_convert(CLI::App& app);
void add_synth(CLI::App& app);
void add_preprocess(CLI::App& app);

}  // namespace lingbot_map::tool
