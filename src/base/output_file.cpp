#include "base/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/message.hpp"

namespace lingbot_map {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

std::string_view advice(int error) {
  return error == ENOSPC || error == EDQUOT ? "; free some space or choose another folder" : "";
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path) : name_(path.string()) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    const int error = errno;
    fail(ErrorCode::output, name_, ": cannot be created: ", reason(error),
         error == ENOENT ? "; make the folder first" : "; check what is there and its permissions");
  }
}

OutputFile::OutputFile(const std::filesystem::path& path, std::uint64_t size)
    : OutputFile(path.string(), ::open(path.c_str(), O_WRONLY | O_CLOEXEC), size) {
  if (descriptor_ < 0) {
    const int error = errno;
    fail(ErrorCode::output, name_, ": cannot be opened to go on with it: ", reason(error), "; begin the run anew");
  }
  const off_t found = ::lseek(descriptor_, 0, SEEK_END);
  if (found < 0 || static_cast<std::uint64_t>(found) < size) {
    fail(ErrorCode::output, name_, ": has ", found, " bytes, expected at least the ", size,
         " it had when the run was saved; begin the run anew");
  }
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    const int error = errno;
    fail(ErrorCode::output, name_, ": cannot be cut to ", size, " bytes: ", reason(error));
  }
}

OutputFile::OutputFile(std::string name, int descriptor, std::uint64_t size)
    : name_(std::move(name)), descriptor_(descriptor), size_(size) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : name_(std::move(other.name_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::append(std::span<const std::byte> record) {
  try {
    write_at(size_, record);
  } catch (const Error&) {
    // Best effort: devices cannot be shortened, and the error to report is the one at hand.
    [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, static_cast<off_t>(size_));
    throw;
  }
  size_ += record.size();
}

void OutputFile::overwrite(std::uint64_t offset, std::string_view bytes) {
  check(offset <= size_ && bytes.size() <= size_ - offset, name_, ": ", bytes.size(), " bytes overwritten at ", offset,
        " of ", size_);
  write_at(offset, std::as_bytes(std::span(bytes)));
}

void OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  check(descriptor_ >= 0, name_, ": written after it was closed");
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const int error = errno;
      fail(ErrorCode::output, name_, ": cannot be written past byte ", offset, ": ", reason(error), advice(error));
    }
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void OutputFile::close() {
  if (descriptor_ < 0) return;
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    const int error = errno;
    fail(ErrorCode::output, name_, ": cannot be completed: ", reason(error), advice(error));
  }
}

}  // namespace lingbot_map
