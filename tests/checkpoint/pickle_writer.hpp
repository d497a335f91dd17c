#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/little_endian.hpp"
#include "base/zip.hpp"

namespace lingbot_map::test {

/// Writes opcodes of pickle protocol 2, so that tests can say what no well-meant program would.
class PickleWriter {
 public:
  PickleWriter() { raw(std::string_view("\x80\x02", 2)); }

  PickleWriter& raw(std::string_view opcodes) {
    bytes_ += opcodes;
    return *this;
  }
  PickleWriter& mark() { return raw("("); }
  PickleWriter& none() { return raw("N"); }
  PickleWriter& boolean(bool value) { return raw(value ? "\x88" : "\x89"); }
  PickleWriter& text(std::string_view value) {
    raw("X");
    append_le(bytes_, static_cast<std::uint32_t>(value.size()));
    return raw(value);
  }
  PickleWriter& integer(std::int64_t value) {
    raw("\x8a\x08");
    append_le(bytes_, static_cast<std::uint64_t>(value));
    return *this;
  }
  PickleWriter& number() { return raw(std::string_view("G\0\0\0\0\0\0\0\0", 9)); }
  PickleWriter& integers(const std::vector<std::int64_t>& values) {
    mark();
    for (const std::int64_t value : values) integer(value);
    return raw("t");
  }
  PickleWriter& global(std::string_view module, std::string_view name) {
    return raw("c").raw(module).raw("\n").raw(name).raw("\n");
  }
  /// A dict is begin_dict(), key and value for each item, end_dict().
  PickleWriter& begin_dict() { return raw("}("); }
  PickleWriter& end_dict() { return raw("u"); }
  PickleWriter& storage(std::string_view storage_class, std::string_view key, std::int64_t elements) {
    return mark().text("storage").global("torch", storage_class).text(key).text("cpu").integer(elements).raw("tQ");
  }
  /// A whole _rebuild_tensor_v2 as torch.save writes it.
  PickleWriter& tensor(std::string_view storage_class, std::string_view key, std::int64_t stored, std::int64_t offset,
                       const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
    global("torch._utils", "_rebuild_tensor_v2").mark();
    storage(storage_class, key, stored).integer(offset).integers(shape).integers(strides).boolean(false);
    return global("collections", "OrderedDict").raw(")Rt").raw("R");
  }
  [[nodiscard]] std::string stop() { return bytes_ + "."; }

 private:
  std::string bytes_;
};

/// The archive that torch.save makes of a pickle and the bytes of its storages.
inline void write_torch_archive(const std::filesystem::path& path, std::string_view pickle,
                                const std::map<std::string, std::string>& storages = {},
                                std::string_view byte_order = "little") {
  ZipWriter zip(path);
  zip.add("archive/data.pkl", pickle);
  zip.add("archive/byteorder", byte_order);
  for (const auto& [key, bytes] : storages) zip.add("archive/data/" + key, bytes);
  zip.add("archive/version", "3\n");
  zip.finish();
}

/// Numbers as the bytes of a storage.
template <typename T>
std::string storage_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(T)};
}

}  // namespace lingbot_map::test
