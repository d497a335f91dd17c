#pragma once

#include <mutex>
#include <ostream>
#include <string>
#include <vector>

namespace lingbot_map::tool {

enum class Verbosity { quiet, normal, verbose };

/// Standard error as all threads of a run share it: whole lines, and on a terminal one line of progress below them that
/// is drawn over and over. Errors are not its business: main() prints the one that ends the program.
class Console {
 public:
  /// `out` must outlive it; `terminal`: whether it shows a progress line.
  Console(std::ostream& out, Verbosity verbosity, bool terminal)
      : out_(out), verbosity_(verbosity), terminal_(terminal) {}
  ~Console() { end_progress(); }
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void info(const std::string& line);     ///< printed unless quiet
  void detail(const std::string& line);   ///< printed if verbose
  void warning(const std::string& line);  ///< printed unless quiet, and kept for the report

  /// Keeps a warning for the report that an earlier process has printed.
  void remember_warning(const std::string& line);
  [[nodiscard]] std::vector<std::string> warnings() const;

  /// Whether a progress line would be seen.
  [[nodiscard]] bool shows_progress() const noexcept { return terminal_ && verbosity_ != Verbosity::quiet; }
  /// Replaces the progress line.
  void progress(const std::string& line);
  /// Removes it.
  void end_progress();

 private:
  void print(const std::string& line);

  std::ostream& out_;
  const Verbosity verbosity_;
  const bool terminal_;
  mutable std::mutex mutex_;
  std::string progress_;
  std::vector<std::string> warnings_;
};

}  // namespace lingbot_map::tool
