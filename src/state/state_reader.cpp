#include "state/state_reader.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "state/state_entry.hpp"

namespace lingbot_map {
namespace {

constexpr std::size_t kMostFieldBytes = std::size_t{1} << 20;

[[noreturn]] void fail_damaged(const std::string& file, const std::string& why) {
  fail(ErrorCode::input, file, ": damaged, or no saved session: ", why, "; save it anew");
}

JsonFields read_fields(const ZipReader& archive) {
  const std::string& file = archive.file().name();
  const ZipEntry* entry = archive.find(kStateFields);
  if (entry == nullptr) fail_damaged(file, message("it has no entry ", kStateFields));
  const std::string text = archive.read_text(*entry, kMostFieldBytes);
  if (crc32(std::as_bytes(std::span(text))) != entry->crc)
    fail_damaged(file, message("the check sum of ", kStateFields, " is wrong"));
  return JsonFields::parse(text, file);
}

}  // namespace

StateReader::StateReader(const std::filesystem::path& path, Upload upload)
    : archive_(File::open(path)), upload_(std::move(upload)), fields_(read_fields(archive_)) {}

void StateReader::refuse(const std::string& why) const { fail_damaged(name(), why); }

void StateReader::expect(std::string_view name, DType dtype, std::int64_t rows, std::int64_t width) const {
  static_cast<void>(entry_for(name, Tensor(nullptr, dtype, {rows, width})));
}

const ZipEntry& StateReader::entry_for(std::string_view name, const Tensor& rows) const {
  const ZipEntry* entry = archive_.find(state_entry_name(name));
  if (entry == nullptr) refuse(message("it has no array ", name));
  const std::size_t bytes = state_entry_header(rows).size() + rows.bytes();
  if (!entry->stored() || entry->size != bytes)
    refuse(message("array ", name, " has ", entry->size, " bytes, expected ", bytes, " for ", name_of(rows.dtype()),
                   " ", rows.shape_text()));
  return *entry;
}

void StateReader::read(std::string_view name, const Tensor& rows) {
  const ZipEntry& entry = entry_for(name, rows);
  const std::string header = state_entry_header(rows);
  std::string found(header.size(), '\0');
  archive_.read(entry, 0, std::as_writable_bytes(std::span(found)));
  std::uint32_t crc = crc32(std::as_bytes(std::span(found)));
  if (found != header) refuse(message("array ", name, " is not ", name_of(rows.dtype()), " ", rows.shape_text()));

  std::uint64_t offset = header.size();
  const std::int64_t step = rows_of_a_piece(rows);
  for (std::int64_t row = 0; row < rows.dim(0); row += step) {
    const Tensor part = rows.rows(row, std::min(step, rows.dim(0) - row));
    const bool in_place = part.device() == Device::cpu();
    if (!in_place) piece_.resize(part.bytes());
    const std::span<std::byte> bytes =
        in_place ? std::span(static_cast<std::byte*>(part.raw()), part.bytes()) : std::span(piece_);
    archive_.read(entry, offset, bytes);
    crc = crc32(bytes, crc);
    if (!in_place) upload_(bytes, part);
    offset += bytes.size();
  }
  if (crc != entry.crc) refuse(message("the check sum of array ", name, " is wrong"));
}

}  // namespace lingbot_map
