#include "bench/profile_summary.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>

#include "base/message.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::int64_t kWideReach = 30;
constexpr std::int64_t kTraceReach = 3;
constexpr std::int64_t kTraceStep = 100;

double mean_around(std::span<const double> values, std::int64_t place, std::int64_t reach) {
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t first = std::clamp<std::int64_t>(place - reach, 0, count - 1);
  const std::int64_t end = std::clamp<std::int64_t>(place + reach + 1, first + 1, count);
  const std::span<const double> part =
      values.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
  return std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size());
}

double per_second(double ms) { return ms > 0 ? 1000 / ms : 0; }

template <typename... Values>
std::string line(const char* format, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

ProfileSummary ProfileSummary::of(std::int64_t scale_frames, double phase1_ms, std::span<const double> frame_ms) {
  check(!frame_ms.empty(), "a profile without streamed frames");
  const auto count = static_cast<std::int64_t>(frame_ms.size());
  const auto point = [&](std::int64_t place, std::int64_t reach) {
    return TracePoint{scale_frames + place, mean_around(frame_ms, place, reach)};
  };
  ProfileSummary summary;
  summary.scale_frames = scale_frames;
  summary.total_frames = scale_frames + count;
  summary.phase1_ms = phase1_ms;
  summary.total_ms = phase1_ms + std::accumulate(frame_ms.begin(), frame_ms.end(), 0.0);
  summary.lo = point(std::min(std::max<std::int64_t>(10, count / 10), count - 1), kWideReach);
  summary.mid = point(count / 2, kWideReach);
  summary.hi = point(count - std::max<std::int64_t>(1, count / 10), kWideReach);
  for (std::int64_t frame = kTraceStep; frame < summary.total_frames; frame += kTraceStep)
    if (frame >= scale_frames) summary.trace.push_back(point(frame - scale_frames, kTraceReach));
  return summary;
}

nlohmann::ordered_json ProfileSummary::json() const {
  return {{"global_fps", per_second(ms_per_frame())},
          {"global_ms", ms_per_frame()},
          {"total_ms", total_ms},
          {"total_frames", total_frames},
          {"phase1_ms", phase1_ms},
          {"ms_lo", lo.ms},
          {"ms_mid", mid.ms},
          {"ms_hi", hi.ms},
          {"fps_lo", per_second(lo.ms)},
          {"fps_mid", per_second(mid.ms)},
          {"fps_hi", per_second(hi.ms)}};
}

std::string ProfileSummary::text(const std::string& name) const {
  std::string text = message(name, ": ", total_frames, " frames, ", scale_frames, " of them scale frames\n");
  text += line("  all        %9.2f ms a frame %9.2f frames/s   (scale frames %.1f ms, the others %.1f ms)\n",
               ms_per_frame(), per_second(ms_per_frame()), phase1_ms, total_ms - phase1_ms);
  const auto row = [&text](const char* name_of_row, const TracePoint& point) {
    text += line("  %-4s %5lld %9.2f ms a frame %9.2f frames/s\n", name_of_row, static_cast<long long>(point.frame),
                 point.ms, per_second(point.ms));
  };
  row("10 %", lo);
  row("50 %", mid);
  row("90 %", hi);
  for (const TracePoint& point : trace) row("at", point);
  return text;
}

}  // namespace lingbot_map::tool
