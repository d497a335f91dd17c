#include "export/array_archive.hpp"

#include <algorithm>
#include <span>

#include "base/message.hpp"
#include "base/npy.hpp"
#include "base/text.hpp"

namespace lingbot_map {
namespace {

constexpr std::uint64_t kMostValues = std::uint64_t{1} << 30;
constexpr std::size_t kMostHeaderBytes = 4096;

/// The product of the sides, if it is not above kMostValues.
std::optional<std::uint64_t> count_of(const std::vector<std::int64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::int64_t side : shape) {
    if (side < 0 || (side > 0 && count > kMostValues / static_cast<std::uint64_t>(side))) return std::nullopt;
    count *= static_cast<std::uint64_t>(side);
  }
  return count;
}

template <typename T>
void read_as(const ZipReader& archive, const ZipEntry& entry, std::uint64_t offset, std::vector<float>& values) {
  std::vector<T> stored(values.size());
  archive.read(entry, offset, std::as_writable_bytes(std::span(stored)));
  std::ranges::transform(stored, values.begin(), [](T value) { return static_cast<float>(value); });
}

}  // namespace

ArrayArchive::ArrayArchive(const std::filesystem::path& path) : archive_(File::open(path)) {}

std::optional<FloatArray> ArrayArchive::find(std::string_view name) const {
  const ZipEntry* entry = archive_.find(message(name, ".npy"));
  if (entry == nullptr) return std::nullopt;
  const std::string where = message(this->name(), ": ", name);
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(entry->size, kMostHeaderBytes)), '\0');
  archive_.read(*entry, 0, std::as_writable_bytes(std::span(head)));
  const NpyHeader header = parse_npy_header(head, where);
  if (header.fortran_order)
    fail(ErrorCode::input, where, ": found values column by column, expected rows; save a contiguous array");

  FloatArray array{header.shape, {}, header.type == "|u1" || header.type == "|b1"};
  const std::uint64_t value_bytes = array.bytes ? 1 : header.type == "<f4" ? 4 : header.type == "<f8" ? 8 : 0;
  if (value_bytes == 0)
    fail(ErrorCode::input, where, ": found values of type ", printable(header.type, 20),
         ", expected <f4, <f8, |u1 or |b1");
  const auto count = count_of(header.shape);
  if (!count || entry->size != header.data_offset + *count * value_bytes)
    fail(ErrorCode::input, where, ": found ", entry->size, " bytes for the shape ", shape_text(header.shape),
         "; is the file damaged?");
  array.values.resize(static_cast<std::size_t>(*count));
  switch (value_bytes) {
    case 1: read_as<std::uint8_t>(archive_, *entry, header.data_offset, array.values); break;
    case 4: read_as<float>(archive_, *entry, header.data_offset, array.values); break;
    default: read_as<double>(archive_, *entry, header.data_offset, array.values); break;
  }
  return array;
}

FloatArray ArrayArchive::get(std::string_view name) const {
  auto array = find(name);
  if (!array) fail(ErrorCode::input, this->name(), ": found no array \"", name, "\", which prediction files have");
  return *std::move(array);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t side : shape) text += (text.empty() ? "" : ", ") + std::to_string(side);
  return "(" + text + ")";
}

}  // namespace lingbot_map
