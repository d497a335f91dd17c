#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "temporary_folder.hpp"

namespace lingbot_map::test {

/// How a program ended, and what it printed.
struct Outcome {
  int exit_code = -1;  ///< -1: a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
};

/// The built program lingbot-map as a process of its own.
class Program {
 public:
  /// Starts it with these words behind its name. `file_size_limit`: no file it writes grows beyond these bytes, as on a
  /// full disk. `name`: a copy of it elsewhere.
  explicit Program(const std::vector<std::string>& words, rlim_t file_size_limit = RLIM_INFINITY,
                   std::string name = LINGBOT_MAP_PROGRAM) {
    std::vector<std::string> copies = words;
    std::vector<char*> arguments = {name.data()};
    for (std::string& word : copies) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string out = (folder_ / "out").string();
    const std::string err = (folder_ / "err").string();

    child_ = fork();
    if (child_ < 0) throw std::runtime_error("cannot fork");
    if (child_ > 0) return;
    constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), kWrite, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), kWrite, 0600), STDERR_FILENO);
    std::signal(SIGINT, SIG_DFL);
    if (file_size_limit != RLIM_INFINITY) {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{file_size_limit, file_size_limit};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  ~Program() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void send(int signal) const { kill(child_, signal); }

  /// Whether it has come to its end by itself.
  [[nodiscard]] bool ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }

  Outcome wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = 0;
    Outcome outcome;
    if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    outcome.out = content_of(folder_ / "out");
    outcome.err = content_of(folder_ / "err");
    return outcome;
  }

 private:
  TemporaryFolder folder_;
  pid_t child_ = 0;
};

/// Runs the program to its end.
inline Outcome run_program(const std::vector<std::string>& words, rlim_t file_size_limit = RLIM_INFINITY) {
  return Program(words, file_size_limit).wait();
}

}  // namespace lingbot_map::test
