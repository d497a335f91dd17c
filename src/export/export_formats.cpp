#include "export/export_formats.hpp"

#include <algorithm>
#include <array>

#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"ply", "glb", "colmap", "nerfstudio", "tum", "kitti", "npz"};

}  // namespace

std::string_view name_of(ExportFormat format) noexcept { return kNames[static_cast<std::size_t>(format)]; }

ExportFormats ExportFormats::parse(std::string_view flag, std::string_view text) {
  ExportFormats formats;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view name = text.substr(start, end - start);
    const auto known = std::ranges::find(kNames, name);
    if (known == kNames.end()) {
      fail(ErrorCode::usage, flag, ": found \"", printable(name), "\" in \"", printable(text),
           "\", expected a list of ply, glb, colmap, nerfstudio, tum, kitti and npz with commas between them");
    }
    formats.add(static_cast<ExportFormat>(known - kNames.begin()));
    start = end + 1;
  }
  return formats;
}

std::vector<std::string> ExportFormats::names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (has(static_cast<ExportFormat>(i))) names.emplace_back(kNames[i]);
  return names;
}

}  // namespace lingbot_map
