#include "checkpoint_folder.hpp"

#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/numbered_name.hpp"
#include "base/sha256.hpp"
#include "export/output_folder.hpp"

namespace lingbot_map::tool {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kPrefix = "session_";
constexpr std::string_view kExtension = ".npz";
constexpr std::size_t kMostRunBytes = std::size_t{1} << 30;  // a byte a frame, and a line for each one left out

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string digest_of(const std::string& text) {
  Sha256 sha;
  sha.update(std::as_bytes(std::span(text)));
  return sha.finish();
}

/// Sessions in the folder, those included that were not completed.
std::vector<fs::path> sessions_in(const fs::path& folder) {
  std::vector<fs::path> sessions;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored))
    if (entry->path().filename().string().starts_with(kPrefix)) sessions.push_back(entry->path());
  return sessions;
}

}  // namespace

void CheckpointFolder::create() const { make_output_folder(folder_); }

fs::path CheckpointFolder::session_file(std::int64_t frames) const {
  return folder_ / numbered_name(kPrefix, frames, kExtension);
}

void CheckpointFolder::write_run(const Json& run, std::int64_t frames) const {
  FileWriter file(run_file());
  file.write(text_of({{"sha256", digest_of(text_of(run))}, {"run", run}}) + '\n');
  file.commit(true);
  std::error_code ignored;
  for (const fs::path& session : sessions_in(folder_)) {
    const auto number = number_in_name(session.filename().string(), kPrefix, kExtension);
    if (number && *number < frames) fs::remove(session, ignored);  // one of more frames may be there already
  }
}

std::optional<JsonFields> CheckpointFolder::read_run() const {
  std::error_code ignored;
  if (!fs::exists(run_file(), ignored)) return std::nullopt;
  const JsonFields file = JsonFields::parse(read_text_file(run_file(), kMostRunBytes), run_file().string());
  JsonFields run = file.object("run");
  if (digest_of(text_of(run.json())) != file.text("sha256"))
    fail(ErrorCode::input, file.source(), ": its check sum is wrong, the file is damaged; begin the run anew");
  return run;
}

void CheckpointFolder::keep_only(std::int64_t frames) const {
  std::error_code ignored;
  for (const fs::path& session : sessions_in(folder_))
    if (session != session_file(frames)) fs::remove(session, ignored);
}

void CheckpointFolder::clear() const {
  std::error_code error;
  if (!fs::is_directory(folder_, error)) return;
  std::vector<fs::path> files = sessions_in(folder_);
  files.insert(files.begin(), {run_file(), run_file().concat(".part")});
  for (const fs::path& file : files) {
    fs::remove(file, error);
    if (error)
      fail(ErrorCode::output, file.string(), ": the saved state of an earlier run cannot be removed: ", error.message(),
           "; remove it or choose another folder");
  }
  if (!fs::is_symlink(folder_, error)) fs::remove(folder_, error);  // unless there is more in it
}

}  // namespace lingbot_map::tool
