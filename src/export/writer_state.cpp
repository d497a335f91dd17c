#include "export/writer_state.hpp"

#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "base/message.hpp"
#include "base/numbered_name.hpp"

namespace lingbot_map {

OutputFile open_output(const std::filesystem::path& path, const JsonFields* state) {
  if (state == nullptr) return OutputFile(path);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return {path, static_cast<std::uint64_t>(state->integer("bytes", 0, most))};
}

void remove_numbered_files(const std::filesystem::path& folder, std::string_view prefix, std::string_view extension,
                           std::int64_t first) {
  const std::string part = std::string(extension) + ".part";
  std::vector<std::filesystem::path> old;
  std::int64_t kept = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const auto number = number_in_name(name, prefix, extension);
    if (number ? *number >= first : number_in_name(name, prefix, part).has_value()) old.push_back(entry->path());
    if (number && *number < first) ++kept;
  }
  for (auto file = old.begin(); !error && file != old.end(); ++file) std::filesystem::remove(*file, error);
  if (error) {
    fail(ErrorCode::output, folder.string(), ": files of an earlier run cannot be removed (", error.message(),
         "); empty the folder or choose another");
  }
  if (kept != first) {
    fail(ErrorCode::output, folder.string(), ": has ", kept, " of the ", first,
         " frames that were there when the run was saved; begin the run anew");
  }
}

}  // namespace lingbot_map
