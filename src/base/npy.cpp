#include "base/npy.hpp"

#include <algorithm>
#include <charconv>

#include "base/little_endian.hpp"
#include "base/message.hpp"

namespace lingbot_map {
namespace {

/// A header's dictionary, which NumPy writes as a Python literal with these three keys in any order.
class NpyDictionary {
 public:
  NpyDictionary(std::string_view text, std::string_view name) : rest_(text), name_(name) {}

  NpyHeader parse() {
    NpyHeader header;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        header.type = quoted();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = tuple();
      } else {
        refuse();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (header.type.empty()) refuse();
    return header;
  }

 private:
  [[noreturn]] void refuse() const {
    fail(ErrorCode::input, name_, ": the header is none of a NumPy array of numbers; save it anew with numpy.save");
  }
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }
  bool accept(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse();
  }
  std::string quoted() {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') refuse();
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) refuse();
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    refuse();
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sides;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::int64_t side = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), side);
      if (error != std::errc{} || side < 0) refuse();
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      sides.push_back(side);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sides;
  }

  std::string_view rest_;
  std::string_view name_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view bytes, std::string_view name) {
  constexpr std::size_t kVersionAt = 6;
  constexpr std::size_t kLengthAt = 8;
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < kLengthAt + 4)
    fail(ErrorCode::input, name, ": is no NumPy array, or cut off; expected a file as numpy.save writes it");
  // Version 1 counts the dictionary's bytes with two bytes, the later ones with four.
  const bool short_length = bytes[kVersionAt] == 1;
  const std::size_t start = kLengthAt + (short_length ? 2 : 4);
  const std::size_t length =
      short_length ? load_le<std::uint16_t>(bytes, kLengthAt) : load_le<std::uint32_t>(bytes, kLengthAt);
  if (length > bytes.size() - start)
    fail(ErrorCode::input, name, ": the header of ", length, " bytes is cut off or too long for an array of numbers");
  NpyHeader header = NpyDictionary(bytes.substr(start, length), name).parse();
  header.data_offset = start + length;
  return header;
}

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
