#include "state/state_writer.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "base/npy.hpp"
#include "state/state_entry.hpp"

namespace lingbot_map {
namespace {

std::string_view numpy_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return "<f4";
    case DType::f16: return "<f2";
    case DType::bf16: return "<u2";
    case DType::u8: return "|u1";
    default: break;
  }
  fail(ErrorCode::internal, "internal error: a state array of ", name_of(dtype));
}

}  // namespace

std::string state_entry_header(const Tensor& rows) {
  check(rows.rank() == 2 && rows.contiguous(), "state array ", rows.shape_text(), ", expected a contiguous matrix");
  return npy_header(numpy_type(rows.dtype()), {rows.dim(0), rows.dim(1)});
}

std::int64_t rows_of_a_piece(const Tensor& rows) {
  const auto row_bytes = static_cast<std::size_t>(rows.row_elements()) * size_of(rows.dtype());
  return static_cast<std::int64_t>(std::max<std::size_t>(kStatePieceBytes / std::max<std::size_t>(row_bytes, 1), 1));
}

StateWriter::StateWriter(const std::filesystem::path& path, Download download)
    : archive_(path), download_(std::move(download)) {}

void StateWriter::add(std::string_view name, const Tensor& rows) {
  const std::string header = state_entry_header(rows);
  archive_.begin(state_entry_name(name), header.size() + rows.bytes());
  archive_.append(std::as_bytes(std::span(header)));
  const std::int64_t step = rows_of_a_piece(rows);
  for (std::int64_t row = 0; row < rows.dim(0); row += step) {
    const Tensor part = rows.rows(row, std::min(step, rows.dim(0) - row));
    if (part.device() == Device::cpu()) {
      archive_.append({static_cast<const std::byte*>(part.raw()), part.bytes()});
    } else {
      piece_.resize(part.bytes());
      download_(part, piece_);
      archive_.append(piece_);
    }
  }
}

void StateWriter::finish() {
  archive_.add(kStateFields, fields_.dump(2) + '\n');
  archive_.finish(true);
}

void StateWriter::add_field(std::string_view key, nlohmann::ordered_json value) {
  check(!fields_.contains(std::string(key)), "state field ", key, " is there twice");
  fields_[std::string(key)] = std::move(value);
}

}  // namespace lingbot_map
