#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace lingbot_map {

/// What results can be written as; docs/formats.md tells the files of each.
enum class ExportFormat : std::uint8_t { ply, glb, colmap, nerfstudio, tum, kitti, npz };
/// "ply", "glb", ...
[[nodiscard]] std::string_view name_of(ExportFormat format) noexcept;

/// A set of formats.
class ExportFormats {
 public:
  constexpr ExportFormats() = default;
  constexpr ExportFormats(std::initializer_list<ExportFormat> formats) {
    for (const ExportFormat format : formats) add(format);
  }
  /// Reads "ply,glb,colmap". Throws Error(usage) that names `flag` and what is wrong: an unknown or empty name.
  [[nodiscard]] static ExportFormats parse(std::string_view flag, std::string_view text);

  constexpr void add(ExportFormat format) noexcept { bits_ |= bit(format); }
  [[nodiscard]] constexpr bool has(ExportFormat format) const noexcept { return (bits_ & bit(format)) != 0; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  /// Their names, in the order in which the enumeration has them.
  [[nodiscard]] std::vector<std::string> names() const;
  friend constexpr bool operator==(ExportFormats, ExportFormats) = default;

 private:
  static constexpr unsigned bit(ExportFormat format) noexcept { return 1U << static_cast<unsigned>(format); }

  unsigned bits_ = 0;
};

/// What a run writes if it is not told otherwise.
inline constexpr ExportFormats kDefaultFormats = {ExportFormat::ply, ExportFormat::tum, ExportFormat::kitti};

}  // namespace lingbot_map
