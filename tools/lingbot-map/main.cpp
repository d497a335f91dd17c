#include <cstdio>
#include <exception>
#include <string>

#include "command.hpp"
#include "lingbot_map/error.hpp"
#include "lingbot_map/version.hpp"

namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 130;

int report(const std::string& text, int exit_code) {
  std::fprintf(stderr, "lingbot-map: error: %s\n", text.c_str());
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Camera poses, depth and a point cloud from a stream of frames.", "lingbot-map"};
  app.set_version_flag("--version", "lingbot-map " + lingbot_map::version() + " (" + lingbot_map::commit() + "; " +
                                        lingbot_map::build_features() + ")");
  lingbot_map::tool::add_run(app);
  lingbot_map::tool::add_demo(app);
  lingbot_map::tool::add_preprocess(app);
  lingbot_map::tool::add_export(app);
  lingbot_map::tool::add_info(app);
  lingbot_map::tool::add_convert(app);
  lingbot_map::tool::add_synth(app);
  lingbot_map::tool::add_scene(app);
  lingbot_map::tool::add_bench(app);
  lingbot_map::tool::add_profile(app);
  lingbot_map::tool::add_eval(app);
  lingbot_map::tool::add_picture(app);
  try {
    app.parse(argc, argv);  // an unknown word is told before a missing command
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A subcommand");
    return 0;
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const lingbot_map::tool::Interrupted&) {
    return kExitInterrupted;
  } catch (const CLI::ParseError& error) {
    return report(std::string(error.what()) + " (see lingbot-map --help)", kExitUsage);
  } catch (const lingbot_map::Error& error) {
    return report(error.what(), error.code() == lingbot_map::ErrorCode::usage ? kExitUsage : kExitFailure);
  } catch (const std::bad_alloc&) {
    return report("out of memory", kExitFailure);
  } catch (const std::exception& error) {
    return report(error.what(), kExitFailure);
  }
}
