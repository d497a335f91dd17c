#include "numbered_pictures.hpp"

#include <algorithm>
#include <cctype>
#include <system_error>
#include <vector>

#include "base/message.hpp"
#include "export/output_folder.hpp"

namespace lingbot_map::tool {
namespace {

namespace fs = std::filesystem;

bool is_numbered_picture(const fs::path& file, std::string_view prefix) {
  const std::string stem = file.stem().string();
  if (file.extension() != ".png" || !stem.starts_with(prefix)) return false;
  const std::string_view digits = std::string_view(stem).substr(prefix.size());
  return digits.size() >= 6 &&
         std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

std::string numbered_picture(std::string_view prefix, std::int64_t index) {
  std::string digits = std::to_string(index);
  digits.insert(0, digits.size() < 6 ? 6 - digits.size() : 0, '0');
  return message(prefix, digits, ".png");
}

void prepare_pictures(const fs::path& folder, std::string_view prefix) {
  make_output_folder(folder);
  std::vector<fs::path> old;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (is_numbered_picture(entry->path(), prefix)) old.push_back(entry->path());
  for (auto file = old.begin(); !error && file != old.end(); ++file) fs::remove(*file, error);
  if (error)
    fail(ErrorCode::output, folder.string(), ": pictures of an earlier run cannot be removed (", error.message(),
         "); empty the folder or choose another");
}

}  // namespace lingbot_map::tool
