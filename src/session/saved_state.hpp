#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

#include "lingbot_map/session.hpp"
#include "model/frame_grid.hpp"
#include "model/model_impl.hpp"
#include "state/state_reader.hpp"
#include "state/state_writer.hpp"

namespace lingbot_map {

/// A file for the state of a session on this model's device.
[[nodiscard]] StateWriter state_writer(const Model::Impl& model, const std::filesystem::path& path);
/// Such a file. Throws Error(input) for one of another version, and as StateReader does.
[[nodiscard]] StateReader state_reader(const Model::Impl& model, const std::filesystem::path& path);

/// Writes what a session must be restored with: version, model, dtype and the options that its results depend on.
void save_identity(StateWriter& state, const Model::Impl& model, const SessionOptions& options);
/// Throws Error(input) that names the first thing but the version in which the saved session differs.
void check_identity(const StateReader& state, const Model::Impl& model, const SessionOptions& options);

/// Writes an image as the array NAME.NUMBER.
void save_image(StateWriter& state, std::string_view name, std::size_t number, const Image& image);
/// That image, which must be of the grid's size. Throws Error(input).
[[nodiscard]] Image restore_image(StateReader& state, std::string_view name, std::size_t number, const FrameGrid& grid);

/// The size of the saved session's frames; nothing if it had none. Throws Error(input) for one that the network does
/// not take, or that the file is too small for.
[[nodiscard]] std::optional<FrameGrid> saved_grid(const StateReader& state, const Config& config);

}  // namespace lingbot_map
