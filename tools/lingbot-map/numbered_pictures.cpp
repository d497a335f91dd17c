#include "numbered_pictures.hpp"

#include "base/numbered_name.hpp"
#include "export/output_folder.hpp"
#include "export/writer_state.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::string_view kExtension = ".png";

}  // namespace

std::string numbered_picture(std::string_view prefix, std::int64_t index) {
  return numbered_name(prefix, index, kExtension);
}

void prepare_pictures(const std::filesystem::path& folder, std::string_view prefix, std::int64_t first) {
  make_output_folder(folder);
  remove_numbered_files(folder, prefix, kExtension, first);
}

}  // namespace lingbot_map::tool
