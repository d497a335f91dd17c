#pragma once

#include <string>

namespace lingbot_map {

/// Appends a number with the nine significant digits that give back the same float32, "inf" or "nan"; the same text
/// whatever the locale.
void append_number(std::string& text, double number);
/// Appends a finite number with nine decimals.
void append_seconds(std::string& text, double seconds);

}  // namespace lingbot_map
