#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace lingbot_map {

/// What precedes the values of an array in a .npy file (NumPy format 1.0): `type` as NumPy writes it ("<f4", "|u1",
/// "|b1"), row-major values of this shape. A multiple of 64 bytes.
[[nodiscard]] std::string npy_header(std::string_view type, std::initializer_list<std::int64_t> shape);

/// What such a header says.
struct NpyHeader {
  std::string type;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;  ///< sides of 0 or more, not yet checked against any limit
  std::size_t data_offset = 0;      ///< where in the file the values begin
};

/// Reads a header of any version of the format. `bytes` is the file, or its beginning with the whole header. Throws
/// Error(input) that begins with `name` for what is none.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view bytes, std::string_view name);

}  // namespace lingbot_map
