#include "base/message.hpp"
#include "command.hpp"

namespace lingbot_map::tool {
namespace {

/// A command that only says why it is not there. Not in the help text.
void add_missing(CLI::App& app, const std::string& name, const std::string& lacks = "reads no images and no videos") {
  app.add_subcommand(name)->group("")->allow_extras()->callback([name, lacks] {
    fail(ErrorCode::unsupported, name, ": this build ", lacks, "; build with -DLINGBOT_MAP_MEDIA=ON");
  });
}

}  // namespace

void add_run(CLI::App& app) { add_missing(app, "run"); }
void add_demo(CLI::App& app) { add_missing(app, "demo"); }
void add_preprocess(CLI::App& app) { add_missing(app, "preprocess"); }
void add_picture(CLI::App& app) { add_missing(app, "picture", "writes no images"); }
void add_scene(CLI::App& app) { add_missing(app, "scene", "writes no images"); }

}  // namespace lingbot_map::tool
