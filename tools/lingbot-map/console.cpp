#include "console.hpp"

namespace lingbot_map::tool {
namespace {

constexpr const char* kClearLine = "\r\033[K";

}  // namespace

void Console::info(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (verbosity_ != Verbosity::quiet) print("lingbot-map: " + line);
}

void Console::detail(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (verbosity_ == Verbosity::verbose) print("lingbot-map: " + line);
}

void Console::warning(const std::string& line) {
  const std::lock_guard lock(mutex_);
  warnings_.push_back(line);
  if (verbosity_ != Verbosity::quiet) print("lingbot-map: warning: " + line);
}

void Console::remember_warning(const std::string& line) {
  const std::lock_guard lock(mutex_);
  warnings_.push_back(line);
}

std::vector<std::string> Console::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

void Console::progress(const std::string& line) {
  if (!shows_progress()) return;
  const std::lock_guard lock(mutex_);
  progress_ = line;
  out_ << kClearLine << progress_ << std::flush;
}

void Console::end_progress() {
  const std::lock_guard lock(mutex_);
  if (progress_.empty()) return;
  progress_.clear();
  out_ << kClearLine << std::flush;
}

void Console::print(const std::string& line) {
  if (progress_.empty()) {
    out_ << line << '\n' << std::flush;
  } else {
    out_ << kClearLine << line << '\n' << progress_ << std::flush;
  }
}

}  // namespace lingbot_map::tool
