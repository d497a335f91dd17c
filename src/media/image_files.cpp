#include "media/image_files.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <system_error>

#include "base/message.hpp"

namespace lingbot_map {

namespace {

constexpr std::array<std::string_view, 14> kExtensions = {"jpg",  "jpeg", "jpe", "jfif", "png", "webp", "bmp",
                                                          "tiff", "tif",  "pnm", "ppm",  "pgm", "pbm",  "jp2"};

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// The run of digits that `text` begins with.
std::string_view leading_digits(std::string_view text) noexcept {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// Negative, zero or positive as the number a is less than, equal to or greater than b.
int compare_numbers(std::string_view a, std::string_view b) noexcept {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

std::string known_extensions() {
  std::string list;
  for (const std::string_view extension : kExtensions) list += message(list.empty() ? "" : " ", extension);
  return list;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) noexcept {
  int zeros = 0;  // decides between texts whose numbers are all equal: the first that differs in its leading zeros
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view number_a = leading_digits(a);
      const std::string_view number_b = leading_digits(b);
      if (const int order = compare_numbers(number_a, number_b); order != 0) return order < 0;
      if (zeros == 0 && number_a.size() != number_b.size()) zeros = number_a.size() < number_b.size() ? -1 : 1;
      a.remove_prefix(number_a.size());
      b.remove_prefix(number_b.size());
    } else {
      const auto byte_a = static_cast<unsigned char>(a.front());
      const auto byte_b = static_cast<unsigned char>(b.front());
      if (byte_a != byte_b) return byte_a < byte_b;
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return zeros < 0;
}

bool has_image_extension(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  if (extension.empty()) return false;
  extension.erase(0, 1);
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

std::vector<std::filesystem::path> list_images(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(folder, error);
  if (!std::filesystem::exists(status)) {
    fail(ErrorCode::input, folder.string(), ": no such folder; give a folder of images");
  }
  if (!std::filesystem::is_directory(status)) {
    fail(ErrorCode::input, folder.string(), ": is a file, expected a folder of images (a video goes to --video_path)");
  }
  std::vector<std::filesystem::path> images;
  std::size_t files = 0;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;  // what cannot be asked for its type is tried, and reported as a bad frame
    if (entry->is_directory(ignored)) continue;
    ++files;
    const std::string name = entry->path().filename().string();
    if (name.front() != '.' && has_image_extension(entry->path())) images.push_back(entry->path());
  }
  if (error) fail(ErrorCode::input, folder.string(), ": the folder cannot be read: ", error.message());
  if (images.empty()) {
    fail(ErrorCode::input, folder.string(), ": no image among ", files, " files; looked for ", known_extensions(),
         " in upper or lower case, not in sub-folders");
  }
  std::sort(images.begin(), images.end(),
            [](const auto& a, const auto& b) { return natural_less(a.filename().native(), b.filename().native()); });
  return images;
}

}  // namespace lingbot_map
