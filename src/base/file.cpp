#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/message.hpp"
#include "base/parallel.hpp"

namespace lingbot_map {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// The kernel moves at most this many bytes a call anyway; SSIZE_MAX is never in question.
constexpr std::size_t kLargestCall = std::size_t{1} << 30;

template <typename Call>
void call_on_folder(const std::filesystem::path& folder, const Call& call) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int result = descriptor < 0 ? -1 : call(descriptor);
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (result != 0) fail(ErrorCode::output, folder.string(), ": cannot be brought to the disk: ", reason(error));
}

void sync_folder(const std::filesystem::path& folder) {
  // Some file systems know no such call for folders (EINVAL); their names need none.
  call_on_folder(folder, [](int descriptor) { return ::fsync(descriptor) != 0 && errno != EINVAL ? -1 : 0; });
}

}  // namespace

File::File(int descriptor, std::uint64_t size, std::string name)
    : descriptor_(descriptor), size_(size), name_(std::move(name)) {}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_), name_(std::move(other.name_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(name_, other.name_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File File::open(const std::filesystem::path& path) {
  std::string name = path.string();
  if (name.empty()) fail(ErrorCode::input, "found an empty file name; name a file");
  // Non-blocking so that a named pipe is refused below instead of waited for.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const int error = errno;
    fail(ErrorCode::input, name, ": cannot be opened: ", reason(error),
         error == ENOENT ? "; check the path" : "; check its permissions");
  }
  File file(descriptor, 0, std::move(name));
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail(ErrorCode::input, file.name_, ": cannot be read: ", reason(errno));
  if (S_ISDIR(status.st_mode)) fail(ErrorCode::input, file.name_, ": is a directory, expected a file");
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorCode::input, file.name_, ": is a pipe or device, expected a regular file; copy it to disk first");
  }
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

void File::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || out.size() > size_ - offset) {
    fail(ErrorCode::input, name_, ": ends at byte ", size_, ", expected ", out.size(), " bytes from ", offset,
         " on; the file is incomplete, get it again");
  }
  // From the page cache one thread copies slower than the memory could.
  constexpr std::size_t kWorthAThread = std::size_t{4} << 20;
  in_parts(out.size(), kWorthAThread,
           [&](std::size_t begin, std::size_t end) { read_part(offset + begin, out.subspan(begin, end - begin)); });
}

void File::read_part(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got =
        ::pread(descriptor_, out.data(), std::min(out.size(), kLargestCall), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorCode::input, name_, ": cannot be read: ", reason(errno));
    if (got == 0) fail(ErrorCode::input, name_, ": became shorter while it was read; do not write to it meanwhile");
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::string File::read_text(std::uint64_t offset, std::size_t bytes) const {
  std::string text(bytes, '\0');
  read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string read_text_file(const std::filesystem::path& path, std::size_t limit) {
  const File file = File::open(path);
  if (file.size() > limit) {
    fail(ErrorCode::input, file.name(), ": has ", file.size(), " bytes, expected a text file of at most ", limit);
  }
  return file.read_text(0, static_cast<std::size_t>(file.size()));
}

FileWriter::FileWriter(const std::filesystem::path& path) : name_(path.string()) {
  if (path.filename().empty()) fail(ErrorCode::output, "'", name_, "': is not a file name; name the file to write");
  std::error_code ignored;
  path_ = std::filesystem::is_symlink(path, ignored) ? std::filesystem::weakly_canonical(path, ignored) : path;
  const auto status = std::filesystem::status(path_, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    fail(ErrorCode::output, name_, ": is ", std::filesystem::is_directory(status) ? "a directory" : "a pipe or device",
         ", expected the name of a file to write");
  }
  part_ = path_;
  part_ += ".part";
  descriptor_ = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    const int error = errno;
    fail(ErrorCode::output, name_, ": cannot be created: ", reason(error),
         error == ENOENT ? "; make the folder first" : "; check the folder's permissions");
  }
}

FileWriter::~FileWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(part_.c_str());
}

void FileWriter::fail_with_reason(int error) const {
  fail(ErrorCode::output, name_, ": cannot be written past byte ", position_, ": ", reason(error),
       error == ENOSPC || error == EDQUOT ? "; free some space or choose another folder" : "");
}

void FileWriter::write(std::span<const std::byte> bytes) {
  check(descriptor_ >= 0, name_, " written after commit");
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kLargestCall));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_with_reason(errno);
    position_ += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void FileWriter::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void FileWriter::overwrite(std::uint64_t offset, std::string_view bytes) {
  check(offset <= position_ && bytes.size() <= position_ - offset, name_, ": ", bytes.size(), " bytes overwritten at ",
        offset, " of ", position_);
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_with_reason(errno);
    offset += static_cast<std::uint64_t>(put);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

void FileWriter::commit(bool durable) {
  check(descriptor_ >= 0, name_, " committed twice");
  if (durable && ::fsync(descriptor_) != 0) fail_with_reason(errno);
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0) {  // network file systems report a full disk here
    const int error = errno;
    ::unlink(part_.c_str());
    fail_with_reason(error);
  }
  if (::rename(part_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(part_.c_str());
    fail(ErrorCode::output, name_, ": cannot be given its name: ", reason(error));
  }
  if (durable) sync_folder(path_.has_parent_path() ? path_.parent_path() : ".");
}

void sync_file_system(const std::filesystem::path& folder) {
  call_on_folder(folder, [](int descriptor) { return ::syncfs(descriptor); });
}

}  // namespace lingbot_map
