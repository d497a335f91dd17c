#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
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

/// Removes the files of a folder that have a numbered_name() from `first` on, and parts of such files that a killed run
/// left. Throws Error(output) when that is not possible, or when not all of the files
/// before `first` are there.
void remove_numbered_files(const std::filesystem::path& folder, std::string_view prefix, std::string_view extension,
                           std::int64_t first);

}  // namespace lingbot_map
