#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lingbot_map/windowed_session.hpp"
#include "model/frame_grid.hpp"
#include "state/state_reader.hpp"
#include "state/state_writer.hpp"

namespace lingbot_map {

/// Writes the options of windows that results depend on.
void save_window_options(StateWriter& state, const WindowedOptions& options);
/// Throws Error(input) for a saved session without windows, and one that names the first option that differs.
void check_window_options(const StateReader& state, const WindowedOptions& options);
/// Throws Error(input) for a saved session with windows.
void refuse_windows(const StateReader& state);

void save_windows(StateWriter& state, const std::vector<WindowRecord>& windows);
/// The saved windows, of which there is at least one, without jumps. Throws Error(input).
[[nodiscard]] std::vector<WindowRecord> restore_windows(StateReader& state);

/// Writes one result of a list of that name.
void save_result(StateWriter& state, std::string_view name, std::size_t number, const FrameResult& result);
/// That result, but for its index and type. Throws Error(input).
[[nodiscard]] FrameResult restore_result(StateReader& state, std::string_view name, std::size_t number,
                                         const FrameGrid& grid, bool has_points);

/// Types of frames as text, a digit each.
[[nodiscard]] std::string text_of(const std::vector<FrameType>& types);
/// Those of a saved list. Throws Error(input).
[[nodiscard]] std::vector<FrameType> saved_types(const StateReader& state, const std::string& field);

}  // namespace lingbot_map
