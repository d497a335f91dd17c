#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace lingbot_map {

/// What precedes the values of an array in a .npy file (NumPy format 1.0): `type` as NumPy writes it ("<f4", "|u1",
/// "|b1"), row-major values of this shape. A multiple of 64 bytes.
[[nodiscard]] std::string npy_header(std::string_view type, std::initializer_list<std::int64_t> shape);

}  // namespace lingbot_map
