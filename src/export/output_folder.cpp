#include "export/output_folder.hpp"

#include <system_error>

#include "base/message.hpp"

namespace lingbot_map {

void make_output_folder(const std::filesystem::path& folder) {
  if (folder.empty()) fail(ErrorCode::output, "found an empty name of an output folder; name a folder");
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  if (std::filesystem::exists(folder, error)) {
    fail(ErrorCode::output, folder.string(), ": is not a folder; choose another name or remove it");
  }
  std::filesystem::create_directories(folder, error);
  if (error) {
    fail(ErrorCode::output, folder.string(), ": cannot be made: ", error.message(),
         "; check the path and its permissions");
  }
}

}  // namespace lingbot_map
