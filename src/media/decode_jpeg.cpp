// jpeglib.h uses what <cstdio> declares
// clang-format off
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <array>
#include <csetjmp>
#include <vector>

#include "base/message.hpp"
#include "media/decode.hpp"

namespace lingbot_map {

namespace {

/// A progressive file may hold any number of scans over the whole image: more than this is an attack on patience.
constexpr int kMaxScans = 1000;

/// libjpeg's decoder with its errors kept here instead of on standard error. Errors leave C code by longjmp, so every
/// call into libjpeg runs inside attempt().
class JpegDecoder {
 public:
  JpegDecoder() {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr jpeg) {
      self(jpeg).keep_message(jpeg);
      std::longjmp(self(jpeg).jump_, 1);
    };
    errors_.emit_message = [](j_common_ptr jpeg, int level) {
      if (level < 0 && means_loss(jpeg->err->msg_code)) self(jpeg).keep_message(jpeg);
    };
    jpeg_.client_data = this;
    progress_.progress_monitor = [](j_common_ptr jpeg) {
      if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMaxScans) {
        std::longjmp(self(jpeg).jump_, 1);
      }
    };
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&jpeg_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  /// Reads the header and settles on gray, RGB or CMYK. False if libjpeg gave up.
  bool start(std::span<const std::uint8_t> file) {
    return attempt([&] {
      jpeg_create_decompress(&jpeg_);
      jpeg_.progress = &progress_;
      jpeg_mem_src(&jpeg_, file.data(), file.size());
      jpeg_read_header(&jpeg_, TRUE);
      const bool inks = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
      if (inks) jpeg_.out_color_space = JCS_CMYK;
      if (!inks && jpeg_.jpeg_color_space != JCS_GRAYSCALE) jpeg_.out_color_space = JCS_RGB;
      jpeg_start_decompress(&jpeg_);
    });
  }
  bool read_row(std::uint8_t* row) {
    return attempt([&] { jpeg_read_scanlines(&jpeg_, &row, 1); });
  }
  bool finish() {
    return attempt([&] { jpeg_finish_decompress(&jpeg_); });
  }

  [[nodiscard]] int width() const noexcept { return static_cast<int>(jpeg_.output_width); }
  [[nodiscard]] int height() const noexcept { return static_cast<int>(jpeg_.output_height); }
  [[nodiscard]] int components() const noexcept { return jpeg_.output_components; }
  /// Did libjpeg go on with invented pixels?
  [[nodiscard]] bool lost_data() const noexcept { return message_[0] != '\0'; }
  [[nodiscard]] const char* reason() const noexcept { return lost_data() ? message_.data() : "too many scans"; }

 private:
  static JpegDecoder& self(j_common_ptr jpeg) { return *static_cast<JpegDecoder*>(jpeg->client_data); }
  static bool means_loss(int code) {
    return code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_JPEG_EOF || code == JWRN_MUST_RESYNC;
  }
  void keep_message(j_common_ptr jpeg) { jpeg->err->format_message(jpeg, message_.data()); }

  template <typename Step>
  bool attempt(Step step) {
    if (setjmp(jump_) != 0) return false;
    step();
    return true;
  }

  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_{};
  std::array<char, JMSG_LENGTH_MAX> message_{};
};

/// What Pillow makes of CMYK as JPEG stores it, inverted: each ink takes its share of what black leaves.
void cmyk_to_rgb(const std::uint8_t* inverted, std::uint8_t* rgb) noexcept {
  const int light = inverted[3];
  for (int c = 0; c < 3; ++c) {
    const int product = (255 - inverted[c]) * light + 128;
    const int share = ((product >> 8) + product) >> 8;
    rgb[c] = static_cast<std::uint8_t>(light > share ? light - share : 0);
  }
}

}  // namespace

Image decode_jpeg(std::span<const std::uint8_t> file, const std::string& name) {
  JpegDecoder decoder;
  auto refuse = [&]() { fail(ErrorCode::input, name, ": the JPEG is damaged or cut off: ", decoder.reason()); };
  if (!decoder.start(file)) refuse();
  const auto components = static_cast<std::size_t>(decoder.components());
  if (components != 1 && components != 3 && components != 4) {
    fail(ErrorCode::input, name, ": JPEG of ", components, " components, expected gray, colour or CMYK");
  }
  Image image(decoder.width(), decoder.height());
  const auto width = static_cast<std::size_t>(image.width);
  std::vector<std::uint8_t> samples(components == 3 ? 0 : width * components);
  for (int y = 0; y < image.height; ++y) {
    std::uint8_t* row = &image.pixels[static_cast<std::size_t>(y) * width * 3];
    if (!decoder.read_row(components == 3 ? row : samples.data())) refuse();
    if (components == 1) {
      for (std::size_t x = 0; x < width; ++x) row[3 * x] = row[3 * x + 1] = row[3 * x + 2] = samples[x];
    } else if (components == 4) {
      for (std::size_t x = 0; x < width; ++x) cmyk_to_rgb(&samples[4 * x], row + 3 * x);
    }
  }
  if (!decoder.finish() || decoder.lost_data()) refuse();
  return image;
}

}  // namespace lingbot_map
