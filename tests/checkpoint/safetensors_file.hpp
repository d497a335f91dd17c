#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/little_endian.hpp"

namespace lingbot_map::test {

/// A safetensors file of this header and data, whatever they say.
inline std::string safetensors_file(std::string_view header, std::string_view data) {
  std::string file;
  append_le(file, static_cast<std::uint64_t>(header.size()));
  return file.append(header).append(data);
}

}  // namespace lingbot_map::test
