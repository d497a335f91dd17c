#include "base/npy.hpp"

#include "base/message.hpp"

namespace lingbot_map {

std::string npy_header(std::string_view type, std::initializer_list<std::int64_t> shape) {
  std::string dictionary = message("{'descr': '", type, "', 'fortran_order': False, 'shape': (");
  for (const std::int64_t size : shape) dictionary += message(size, ", ");
  dictionary += "), }";

  // Magic, version and the dictionary's length take ten bytes; spaces and a newline end the dictionary.
  const std::size_t bytes = (10 + dictionary.size() + 1 + 63) / 64 * 64;
  dictionary.resize(bytes - 11, ' ');
  dictionary += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace lingbot_map
