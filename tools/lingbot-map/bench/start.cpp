#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/message.hpp"
#include "base/text.hpp"
#include "bench/bench.hpp"
#include "bench/statistics.hpp"
#include "bench/streams.hpp"
#include "choices.hpp"
#include "lingbot_map/device_info.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

struct StartFlags {
  StreamFlags stream;
  int repeats = 3;
  bool child = false;
};

/// Seconds on a clock that all processes share.
double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// What a started program does: loads the model, takes the scale frames, and prints when it had what.
void run_child(const StartFlags& flags) {
  const StreamSettings settings = StreamSettings::of(flags.stream);
  const double began = now();
  const Model model = settings.make_model(settings.dtypes.front());
  const double loaded = now();
  const FrameSize size = settings.sizes.front();
  const std::vector<Image> frames = make_frames(size, settings.session.scale_frames);
  SessionOptions options = settings.session;
  options.attention = settings.backends.front();
  Session session(model, options);
  std::size_t poses = 0;
  for (const Image& frame : frames) poses += session.push(frame).size();
  const double ended = now();
  check(poses == frames.size(), poses, " poses of ", frames.size(), " frames");
  const DeviceInfo device = device_info(model.device());
  Json json = machine_json(settings.device.to_string());
  json.update(conditions(settings, model, session.attention(), size));
  json.update(Json{{"heading", settings.heading()},
                   {"began", began},
                   {"loaded", loaded},
                   {"poses", ended},
                   {"weight_bytes", model.weight_bytes()},
                   {"device_peak_bytes", device.peak_bytes}});
  std::cout << json.dump() << '\n' << std::flush;
}

/// The words of this process.
std::vector<std::string> own_words() {
  std::FILE* const file = std::fopen("/proc/self/cmdline", "rb");
  if (file == nullptr) fail(ErrorCode::unsupported, "bench start: needs /proc/self/cmdline to start itself again");
  std::vector<std::string> words(1);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c == 0) {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(c);
    }
  }
  std::fclose(file);
  words.pop_back();
  return words;
}

/// Starts this program once more and gives what it printed, errors included, and its exit code.
std::pair<std::string, int> run_again(const std::vector<std::string>& words) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
    fail(ErrorCode::resource, "bench start: no pipe: ", std::strerror(errno));
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  std::string printed;
  std::array<char, 4096> buffer{};
  ssize_t count = 0;
  while (error == 0 && (count = read(pipe_ends[0], buffer.data(), buffer.size())) > 0)
    printed.append(buffer.data(), static_cast<std::size_t>(count));
  close(pipe_ends[0]);
  if (error != 0) fail(ErrorCode::resource, "bench start: cannot start /proc/self/exe: ", std::strerror(error));
  int status = 0;
  waitpid(child, &status, 0);
  return {printed, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

Json result_of(const std::string& printed, int exit_code) {
  if (exit_code == 0) return Json::parse(printed);
  constexpr std::string_view kMark = "error: ";
  const std::size_t mark = printed.find(kMark);
  const std::string text = mark == std::string::npos ? printed : printed.substr(mark + kMark.size());
  if (text.empty()) fail(ErrorCode::internal, "bench start: the started program ended without a word");
  fail(exit_code == 2 ? ErrorCode::usage : ErrorCode::input, text.substr(0, text.find('\n')));
}

const std::vector<Column> kColumns = {{"backend", "/backend"},
                                      {"dtype", "/dtype"},
                                      {"size", "/size"},
                                      {"file GB", "/file_bytes", 1e-9},
                                      {"program s", "/program_s/median", 1, 3},
                                      {"weights s", "/loaded_s/median", 1, 3},
                                      {"first poses s", "/first_poses_s/median", 1, 3},
                                      {"min", "/first_poses_s/min", 1, 3},
                                      {"max", "/first_poses_s/max", 1, 3}};

/// Leaves the device alone, so that a GPU is as cold for the started programs as it is for any.
void run_parent(const StartFlags& flags) {
  require_at_least_one("--repeats", flags.repeats);
  if (flags.stream.model_path.empty()) fail(ErrorCode::usage, "bench start: give --model_path FILE");
  for (const auto& [flag, value] :
       {std::pair{"--dtype", flags.stream.dtype}, {"--backend", flags.stream.backend}, {"--size", flags.stream.size}})
    if (list_of(flag, value).size() > 1) fail(ErrorCode::usage, flag, ": found ", value, ", expected one value");
  const OutputFormat format = output_format(flags.stream.output);
  std::vector<std::string> words = own_words();
  words.emplace_back("--child");

  Json result;
  std::vector<double> program;
  std::vector<double> loaded;
  std::vector<double> poses;
  for (int i = 0; i < flags.repeats; ++i) {
    const double start = now();
    const auto [printed, exit_code] = run_again(words);
    result = result_of(printed, exit_code);
    program.push_back(result["began"].get<double>() - start);
    loaded.push_back(result["loaded"].get<double>() - start);
    poses.push_back(result["poses"].get<double>() - start);
  }
  const std::string heading = result["heading"];
  for (const char* key : {"heading", "began", "loaded", "poses"}) result.erase(key);
  std::error_code unknown;
  result["kind"] = "start";
  result["repeats"] = flags.repeats;
  result["file_bytes"] = std::filesystem::file_size(flags.stream.model_path, unknown);
  result["program_s"] = Statistics::of(program).json(1);
  result["loaded_s"] = Statistics::of(loaded).json(1);
  result["first_poses_s"] = Statistics::of(poses).json(1);
  ResultTable table(std::cout, format, Json::object());
  table.note(heading);
  table.columns(kColumns);
  table.add(result);
}

}  // namespace

void add_bench_start(CLI::App& app) {
  const auto flags = std::make_shared<StartFlags>();
  CLI::App* command = app.add_subcommand("start", "From the start of a process to its first poses");
  command->footer(
      "Starts the program anew each time. Columns count from there: until it reads the model, until the weights are on "
      "the device, until the poses of the scale frames are known.");
  Flags adder(*command);
  adder.group("Measurement");
  adder.value("--repeats", flags->repeats, "Starts (3)", "N");
  add_stream_flags(adder, flags->stream);
  command->add_flag("--child", flags->child)->group("");
  command->callback([flags] { flags->child ? run_child(*flags) : run_parent(*flags); });
}

}  // namespace lingbot_map::tool
