#include "checkpoint/checkpoint.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/file.hpp"
#include "base/message.hpp"
#include "checkpoint/elements.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/torch_checkpoint.hpp"

namespace lingbot_map {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kAdvice = "expected a PyTorch .pt archive or a .safetensors file";

// The 10-byte number with which torch.save began its files before they were zip archives.
constexpr std::string_view kLegacyMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;

bool is_tar(std::string_view head) { return head.size() >= 262 && head.substr(257, 5) == "ustar"; }

bool is_page(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  while (!head.empty() && std::isspace(static_cast<unsigned char>(head.front())) != 0) head.remove_prefix(1);
  if (head.size() < 2 || head[0] != '<') return false;
  return head[1] == '!' || head[1] == '?' || std::isalpha(static_cast<unsigned char>(head[1])) != 0;
}

bool is_pickle(std::string_view head) { return head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5; }

[[noreturn]] void fail_unrecognised(const std::string& name, std::string_view head) {
  if (head.empty()) fail(ErrorCode::input, name, ": is empty, ", kAdvice, "; get the file again");
  if (head.starts_with("version https://git-lfs")) {
    fail(ErrorCode::input, name, ": is a Git LFS pointer, ", kAdvice,
         "; run 'git lfs pull' in its repository, or download the file itself");
  }
  if (is_page(head)) {
    fail(ErrorCode::input, name, ": is a web page, ", kAdvice, "; download the file itself instead of its page");
  }
  if (is_tar(head) || (is_pickle(head) && head.substr(2).starts_with(kLegacyMagic))) {
    fail(ErrorCode::input, name, ": is a .pt file of PyTorch before 1.6, expected a zip archive; re-save it with ",
         "python -c \"import torch; torch.save(torch.load('OLD.pt', map_location='cpu', weights_only=True), ",
         "'NEW.pt')\"");
  }
  if (is_pickle(head)) {
    fail(ErrorCode::input, name, ": is a bare Python pickle, ", kAdvice, "; save the state dict with torch.save");
  }
  if (head.starts_with("\x1f\x8b"))
    fail(ErrorCode::input, name, ": is gzip-compressed, ", kAdvice, "; unpack it first");
  fail(ErrorCode::input, name, ": is of no known kind, ", kAdvice);
}

}  // namespace

std::int64_t TensorInfo::elements() const noexcept { return element_count(shape).value_or(0); }

std::size_t TensorInfo::bytes() const noexcept { return static_cast<std::size_t>(elements()) * size_of(dtype); }

std::string TensorInfo::shape_text() const {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

std::unique_ptr<Checkpoint> Checkpoint::open(const std::filesystem::path& path) {
  File file = File::open(path);
  const std::string head = file.read_text(0, static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), 512)));
  if (head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06")) return open_torch_checkpoint(std::move(file));
  if (head.size() > 8 && head[8] == '{') return open_safetensors(std::move(file));
  fail_unrecognised(file.name(), head);
}

}  // namespace lingbot_map
