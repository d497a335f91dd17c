#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lingbot_map {

/// Text of unknown origin (a name from a file) made fit for one line of a terminal: control bytes become \xNN, and what
/// is longer than `limit` bytes ends in "...".
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 120);

/// 1157943540 -> "1,157,943,540"
[[nodiscard]] std::string grouped(std::uint64_t number);

/// The shortest text that reads back as the same number, whatever the locale: "0.1", "1305031102.1753", "1e+300".
[[nodiscard]] std::string shortest_text(double number);

/// Bytes with a decimal unit and three digits: "4.63 GB", "12.0 kB", "17 B".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

}  // namespace lingbot_map
