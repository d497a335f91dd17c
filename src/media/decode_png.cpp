#include <png.h>

#include <algorithm>
#include <array>
#include <bit>
#include <csetjmp>
#include <vector>

#include "base/message.hpp"
#include "media/decode.hpp"

namespace lingbot_map {

namespace {

/// libpng's reader with its errors kept here instead of on standard error. Errors leave C code by longjmp, so every
/// call into libpng runs inside attempt().
class PngDecoder {
 public:
  explicit PngDecoder(std::span<const std::uint8_t> file) : rest_(file) {
    png_ = png_create_read_struct(
        PNG_LIBPNG_VER_STRING, this,
        [](png_structp png, png_const_charp text) {
          auto& self = *static_cast<PngDecoder*>(png_get_error_ptr(png));
          std::copy_n(text, std::min(std::char_traits<char>::length(text), self.message_.size() - 1),
                      self.message_.begin());
          std::longjmp(self.jump_, 1);
        },
        [](png_structp, png_const_charp) {});
    if (png_ == nullptr || (info_ = png_create_info_struct(png_)) == nullptr) throw std::bad_alloc();
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  /// Reads the header. False if libpng gave up.
  bool start() {
    return attempt([this] {
      png_set_read_fn(png_, this, [](png_structp png, png_bytep out, std::size_t bytes) {
        auto& rest = static_cast<PngDecoder*>(png_get_io_ptr(png))->rest_;
        if (bytes > rest.size()) png_error(png, "unexpected end of file");
        std::copy_n(rest.begin(), bytes, out);
        rest = rest.subspan(bytes);
      });
      png_read_info(png_, info_);
    });
  }
  /// Asks for 8-bit RGB, or RGBA where the file is RGBA. False if libpng gave up.
  bool ask_for_rgb() {
    return attempt([this] {
      const int kind = png_get_color_type(png_, info_);
      if (kind == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
      if (kind == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
      if ((kind & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png_);
      if (kind != PNG_COLOR_TYPE_RGB_ALPHA) png_set_strip_alpha(png_);
      png_set_scale_16(png_);
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
  }
  /// Asks for 16-bit gray in the order of this machine's bytes. False if libpng gave up.
  bool ask_for_gray16() {
    return attempt([this] {
      if constexpr (std::endian::native == std::endian::little) png_set_swap(png_);
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
  }
  [[nodiscard]] bool is_gray16() const noexcept {
    return png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png_, info_) == 16;
  }
  bool read(png_bytepp rows) {
    return attempt([&] {
      png_read_image(png_, rows);
      png_read_end(png_, nullptr);
    });
  }

  [[nodiscard]] int width() const noexcept { return static_cast<int>(png_get_image_width(png_, info_)); }
  [[nodiscard]] int height() const noexcept { return static_cast<int>(png_get_image_height(png_, info_)); }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return png_get_rowbytes(png_, info_); }
  [[nodiscard]] const char* reason() const noexcept { return message_.data(); }

 private:
  template <typename Step>
  bool attempt(Step step) {
    if (setjmp(jump_) != 0) return false;
    step();
    return true;
  }

  std::span<const std::uint8_t> rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_{};
  std::array<char, 128> message_{};
};

[[noreturn]] void refuse(const PngDecoder& decoder, const std::string& name) {
  fail(ErrorCode::input, name, ": the PNG is damaged or cut off: ", decoder.reason());
}

}  // namespace

Gray16 decode_png_gray16(std::span<const std::uint8_t> file, const std::string& name) {
  PngDecoder decoder(file);
  if (!decoder.start()) refuse(decoder, name);
  if (!decoder.is_gray16()) fail(ErrorCode::input, name, ": found a PNG of another kind, expected 16-bit gray");
  if (!decoder.ask_for_gray16()) refuse(decoder, name);
  Gray16 image = {decoder.width(), decoder.height(), {}};
  const auto width = static_cast<std::size_t>(image.width);
  check(decoder.row_bytes() == 2 * width, name, ": ", decoder.row_bytes(), " bytes a row of PNG");
  image.pixels.resize(width * static_cast<std::size_t>(image.height));
  std::vector<png_bytep> rows(static_cast<std::size_t>(image.height));
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = reinterpret_cast<png_bytep>(image.pixels.data() + y * width);
  if (!decoder.read(rows.data())) refuse(decoder, name);
  return image;
}

Image decode_png(std::span<const std::uint8_t> file, const std::string& name) {
  PngDecoder decoder(file);
  if (!decoder.start() || !decoder.ask_for_rgb()) refuse(decoder, name);
  Image image(decoder.width(), decoder.height());
  const std::size_t row_bytes = decoder.row_bytes();
  const bool alpha = row_bytes == 4 * static_cast<std::size_t>(image.width);
  check(alpha || row_bytes == 3 * static_cast<std::size_t>(image.width), name, ": ", row_bytes, " bytes a row of PNG");

  std::vector<std::uint8_t> rgba(alpha ? row_bytes * static_cast<std::size_t>(image.height) : 0);
  std::vector<png_bytep> rows(static_cast<std::size_t>(image.height));
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = (alpha ? rgba : image.pixels).data() + y * row_bytes;
  if (!decoder.read(rows.data())) refuse(decoder, name);
  if (alpha) composite_over_white(rgba, image.pixels);
  return image;
}

}  // namespace lingbot_map
