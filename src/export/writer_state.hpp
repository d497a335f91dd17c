#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_fields.hpp"
#include "base/output_file.hpp"

namespace lingbot_map {

/// What a writer must know to go on with its files after its process was killed: a JSON object that its state() gives,
/// at the frame to go on from, and that its constructor takes. What the files hold beyond that frame goes.
using WriterState = nlohmann::ordered_json;

/// The file of a writer: a new one, or, with a state, the first `state.bytes` of the one that is there. Throws
/// Error(output) as OutputFile does; Error(input) for a state that is none.
[[nodiscard]] OutputFile open_output(const std::filesystem::path& path, const JsonFields* state);

/// Removes the files `PREFIXnnnnnn EXTENSION` of a folder with numbers (six digits or more) from `first` on, and parts
/// of such files that a killed run left. Throws Error(output) when that is not possible, or when not all of the files
/// before `first` are there.
void remove_numbered_files(const std::filesystem::path& folder, std::string_view prefix, std::string_view extension,
                           std::int64_t first);

/// "frame_", 12, ".npz": "frame_000012.npz"
[[nodiscard]] std::string numbered_name(std::string_view prefix, std::int64_t number, std::string_view extension);
/// The number in such a name; nothing for any other name.
[[nodiscard]] std::optional<std::int64_t> number_in_name(std::string_view name, std::string_view prefix,
                                                         std::string_view extension);

}  // namespace lingbot_map
