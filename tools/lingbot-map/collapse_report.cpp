#include "collapse_report.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <limits>

#include "base/message.hpp"
#include "choices.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 2;

constexpr std::array kSigns = {CollapseSign::pose, CollapseSign::translation, CollapseSign::scale,
                               CollapseSign::confidence};
constexpr std::array kOutcomes = {CollapseOutcome::taken, CollapseOutcome::cut, CollapseOutcome::kept,
                                  CollapseOutcome::ended};

template <typename Values>
auto named(const JsonFields& fields, const char* key, const Values& values) {
  const std::string name = fields.text(key);
  const auto found = std::ranges::find_if(values, [&name](auto value) { return name_of(value) == name; });
  if (found == values.end()) fail(ErrorCode::input, fields.source(), ": a jump has no known ", key);
  return *found;
}

CollapseEvent event_of(const JsonFields& fields) {
  return {.collapse = {.frame = fields.integer("frame", 0, kMost),
                       .sign = named(fields, "sign", kSigns),
                       .found = fields.number("found"),
                       .usual = fields.number("usual")},
          .outcome = named(fields, "outcome", kOutcomes)};
}

}  // namespace

OnCollapse on_collapse(const std::string& name) {
  return static_cast<OnCollapse>(choice("--on_collapse", name, {"warn", "reset", "stop"}));
}

std::string_view name_of(CollapseOutcome outcome) noexcept {
  switch (outcome) {
    case CollapseOutcome::taken: return "taken";
    case CollapseOutcome::cut: return "cut";
    case CollapseOutcome::kept: return "kept";
    case CollapseOutcome::ended: return "ended";
  }
  return "";
}

CollapseReport::CollapseReport(Console& console, OnCollapse on_collapse, std::int64_t overlap)
    : console_(console),
      on_collapse_(on_collapse),
      least_between_cuts_(std::max<std::int64_t>(overlap, CollapseLimits{}.frames_to_settle)) {}

CollapseReport::Verdict CollapseReport::judge(const FrameResult& result, bool can_cut) {
  const std::vector<Collapse> signs = watch_.look(result);
  if (signs.empty()) return Verdict::take;
  const CollapseOutcome outcome = outcome_at(result.index, can_cut);
  for (const Collapse& collapse : signs) note({collapse, outcome});
  switch (outcome) {
    case CollapseOutcome::cut:
      summary_.cuts.push_back(result.index);
      watch_.take_back();
      return Verdict::cut;
    case CollapseOutcome::ended:
      end_ = signs.front().text() + "; the run ends before it, as --on_collapse stop asks";
      return Verdict::end;
    default: return Verdict::take;
  }
}

CollapseOutcome CollapseReport::outcome_at(std::int64_t frame, bool can_cut) const {
  if (on_collapse_ == OnCollapse::stop) return CollapseOutcome::ended;
  if (on_collapse_ == OnCollapse::warn || !can_cut) return CollapseOutcome::taken;
  const bool too_near = !summary_.cuts.empty() && frame - summary_.cuts.back() <= least_between_cuts_;
  return frame == 0 || too_near ? CollapseOutcome::kept : CollapseOutcome::cut;
}

std::string CollapseReport::line_of(const CollapseEvent& event) const {
  const std::int64_t frame = event.collapse.frame;
  const std::string text = event.collapse.text();
  const auto later = std::ranges::upper_bound(summary_.cuts, frame);
  switch (event.outcome) {
    case CollapseOutcome::cut:
      return message(text, "; the run is cut before frame ", frame, ", and a new window begins");
    case CollapseOutcome::kept:
      if (later == summary_.cuts.begin()) return text + "; it is kept, since there is no frame before it";
      return message(text, "; it is kept, since the last cut, at frame ", *std::prev(later), ", is no more than ",
                     least_between_cuts_, " frames back");
    default: return text + "; the network may have lost its way";
  }
}

void CollapseReport::note(const CollapseEvent& event) {
  if (summary_.events.size() < CollapseSummary::kMostListed) summary_.events.push_back(event);
  ++summary_.jumps;
  if (event.outcome == CollapseOutcome::ended) return;  // the error says it
  if (summary_.jumps <= kMostTold) console_.warning(line_of(event));
  if (summary_.jumps == kMostTold) console_.warning(kTheRest);
}

nlohmann::ordered_json CollapseReport::state() const {
  return {{"jumps", summary_.jumps}, {"cuts", summary_.cuts}, {"events", to_json(summary_.events)}};
}

void CollapseReport::restore(const JsonFields& state, const std::filesystem::path& session_file) {
  CollapseSummary saved;
  saved.jumps = state.integer("jumps", 0, kMost);
  for (const JsonFields& event : state.objects("events")) saved.events.push_back(event_of(event));
  saved.cuts = state.integers("cuts", 1, kMost);
  const bool all_listed = std::ssize(saved.events) == std::min<std::int64_t>(saved.jumps, CollapseSummary::kMostListed);
  const bool ascending = std::ranges::adjacent_find(saved.cuts, std::greater_equal{}) == saved.cuts.end();
  if (!all_listed || !ascending)
    fail(ErrorCode::input, state.source(), ": its jumps contradict each other; begin the run anew");
  watch_.restore(session_file);
  summary_ = std::move(saved);

  const std::int64_t told = std::min(summary_.jumps, kMostTold);
  for (std::int64_t i = 0; i < told; ++i)
    console_.remember_warning(line_of(summary_.events[static_cast<std::size_t>(i)]));
  if (summary_.jumps >= kMostTold) console_.remember_warning(kTheRest);
}

nlohmann::ordered_json to_json(std::span<const CollapseEvent> events) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [collapse, outcome] : events)
    list.push_back({{"frame", collapse.frame},
                    {"sign", std::string(name_of(collapse.sign))},
                    {"found", collapse.found},
                    {"usual", collapse.usual},
                    {"outcome", std::string(name_of(outcome))}});
  return list;
}

}  // namespace lingbot_map::tool
