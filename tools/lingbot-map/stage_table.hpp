#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "lingbot_map/session.hpp"

namespace lingbot_map::tool {

/// The stages of a frame by name, in the order in which they run.
[[nodiscard]] std::array<std::pair<std::string_view, double>, 5> named_stages(const StageTimes& times);

/// Seconds by stage, with the library's names as keys.
[[nodiscard]] nlohmann::ordered_json stages_json(const StageTimes& times);

/// Where the seconds of inference over some frames went, as a table for people. What no stage accounts for is copies,
/// waiting and the host's work.
[[nodiscard]] std::string stage_table(const StageTimes& times, double seconds, std::int64_t frames);

}  // namespace lingbot_map::tool
