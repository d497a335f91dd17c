#pragma once

#include <string>
#include <string_view>

#include "tensor/tensor.hpp"

namespace lingbot_map {

/// The entry of a state file that holds its numbers and texts, as one flat JSON object.
inline constexpr std::string_view kStateFields = "state.json";

/// Memory that rows pass through on their way between a device and a file.
inline constexpr std::size_t kStatePieceBytes = std::size_t{16} << 20;

/// The name of the entry that holds an array.
[[nodiscard]] inline std::string state_entry_name(std::string_view name) { return std::string(name) + ".npy"; }

/// What precedes the array's elements in its entry. NumPy has no bfloat16: it comes as the uint16 of its bits.
[[nodiscard]] std::string state_entry_header(const Tensor& rows);

/// Rows that fit into one piece; at least one.
[[nodiscard]] std::int64_t rows_of_a_piece(const Tensor& rows);

}  // namespace lingbot_map
