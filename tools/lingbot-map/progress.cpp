#include "progress.hpp"

#include <iomanip>
#include <sstream>

#include "base/message.hpp"
#include "base/text.hpp"
#include "process_memory.hpp"

namespace lingbot_map::tool {

std::string rate_text(std::int64_t frames, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(frames) / seconds : 0;
  std::ostringstream text;
  text << std::fixed << std::setprecision(rate < 10 ? 2 : rate < 100 ? 1 : 0) << rate << " frames/s";
  return text.str();
}

std::string progress_line(std::int64_t frames, std::optional<std::int64_t> expected, const std::string& rate,
                          std::int64_t kept, std::size_t memory) {
  return message(frames, expected ? message("/", *expected) : "", " frames, ", rate, ", ", kept, " kept, ",
                 bytes_text(memory), " of memory");
}

void Progress::update(std::int64_t frames, std::int64_t kept) {
  using namespace std::chrono_literals;
  if (!console_.shows_progress()) return;
  const auto now = Clock::now();
  if (drawn_ && now - *drawn_ < 100ms) return;
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  console_.progress(progress_line(frames, expected_, rate_text(frames - first_, seconds), kept, resident_bytes()));
}

}  // namespace lingbot_map::tool
