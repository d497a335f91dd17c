#include "media/mask_png.hpp"

#include <algorithm>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string_view>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/zip.hpp"
#include "media/image.hpp"

namespace lingbot_map {
namespace {

using namespace std::string_view_literals;

// A PNG begins with a signature of 8 bytes and the chunk IHDR of 25. Ours has its text right behind these: length and
// type, keyword and a zero byte, text, check sum.
constexpr std::size_t kHeaderBytes = 33;
constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n"sv;
constexpr std::string_view kTypeAndKeyword = "tEXtlingbot-map\0"sv;
constexpr std::size_t kTypeBytes = 4;
constexpr std::size_t kLongestOrigin = 1024;

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xffU);
  return bytes;
}

std::uint32_t from_big_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes.substr(0, 4)) number = number << 8 | static_cast<std::uint8_t>(byte);
  return number;
}

std::string text_chunk(const std::string& text) {
  const std::string content = std::string(kTypeAndKeyword) + text;
  return big_endian(static_cast<std::uint32_t>(content.size() - kTypeBytes)) + content +
         big_endian(crc32(std::as_bytes(std::span(content))));
}

}  // namespace

void write_mask_png(const std::filesystem::path& path, const MaskPng& mask) {
  check(mask.width > 0 && mask.height > 0 &&
            mask.pixels.size() == static_cast<std::size_t>(mask.width) * static_cast<std::size_t>(mask.height) &&
            mask.origin.size() <= kLongestOrigin,
        path.string(), ": ", mask.pixels.size(), " pixels for a mask of ", mask.width, " x ", mask.height);
  const cv::Mat gray(mask.height, mask.width, CV_8UC1, const_cast<std::uint8_t*>(mask.pixels.data()));
  std::vector<std::uint8_t> png;
  check(cv::imencode(".png", gray, png) && png.size() > kHeaderBytes, "no PNG of ", mask.width, " x ", mask.height);
  const auto bytes = std::as_bytes(std::span(png));
  FileWriter file(path);
  file.write(bytes.first(kHeaderBytes));
  file.write(text_chunk(mask.origin));
  file.write(bytes.subspan(kHeaderBytes));
  file.commit();
}

std::optional<std::string> read_mask_origin(const std::filesystem::path& path) {
  const File file = File::open(path);
  constexpr std::size_t kBeforeText = kHeaderBytes + 4 + kTypeAndKeyword.size();
  const std::string start =
      file.read_text(0, static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), kBeforeText + kLongestOrigin)));
  const std::string_view view = start;
  if (view.size() < kBeforeText || !view.starts_with(kSignature) ||
      view.substr(kHeaderBytes + 4, kTypeAndKeyword.size()) != kTypeAndKeyword)
    return std::nullopt;
  const std::size_t text_bytes = from_big_endian(view.substr(kHeaderBytes)) - (kTypeAndKeyword.size() - kTypeBytes);
  return std::string(view.substr(kBeforeText, text_bytes));
}

std::vector<std::uint8_t> read_mask_pixels(const std::filesystem::path& path, int width, int height) {
  const ImageSize size = read_image_size(path);
  if (size.width != width || size.height != height)
    fail(ErrorCode::input, path.string(), ": a mask of ", size.width, " x ", size.height, " pixels, expected ", width,
         " x ", height);
  const Image image = decode_image(path);
  std::vector<std::uint8_t> pixels(image.pixels.size() / 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = image.pixels[3 * i];
  return pixels;
}

}  // namespace lingbot_map
