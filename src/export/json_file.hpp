#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace lingbot_map {

/// Writes a document as indented UTF-8 text; the file appears, or takes the place of an older one, when it is complete.
/// Numbers that are not finite become null, bytes that are no UTF-8 (in file names) the replacement character. Throws
/// Error(output).
void write_json(const std::filesystem::path& path, const nlohmann::ordered_json& document);

}  // namespace lingbot_map
