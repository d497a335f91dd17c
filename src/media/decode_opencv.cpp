#include <algorithm>
#include <iostream>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "base/message.hpp"
#include "media/decode.hpp"
#include "media/opencv.hpp"

namespace lingbot_map {

namespace {

/// imdecode writes the exceptions that it swallows to std::cerr: not while this lives.
class SilentCerr {
 public:
  SilentCerr() { std::cerr.setstate(std::ios::failbit); }
  ~SilentCerr() { std::cerr.clear(before_); }
  SilentCerr(const SilentCerr&) = delete;
  SilentCerr& operator=(const SilentCerr&) = delete;

 private:
  std::ios::iostate before_ = std::cerr.rdstate();
};

cv::Mat decode(std::span<const std::uint8_t> file, const ImageHeader& header, const std::string& name) {
  const cv::Mat bytes(1, static_cast<int>(file.size()), CV_8UC1, const_cast<std::uint8_t*>(file.data()));
  cv::Mat mat;
  std::string reason;
  try {
    const SilentCerr silent;
    mat = cv::imdecode(bytes, cv::IMREAD_UNCHANGED);
  } catch (const cv::Exception& error) {
    reason = ": " + error.err;
    std::replace(reason.begin(), reason.end(), '\n', ' ');
  }
  if (mat.empty()) {
    fail(ErrorCode::input, name, ": the ", name_of(header.format), " is damaged, cut off or of a kind that is not read",
         reason, "; convert it to PNG or JPEG");
  }
  return mat;
}

/// Samples to 8 bits, rounded: value * 255 / white.
cv::Mat to_8_bits(const cv::Mat& mat, int white) {
  cv::Mat scaled(mat.size(), CV_MAKETYPE(CV_8U, mat.channels()));
  const int samples = mat.cols * mat.channels();
  for (int y = 0; y < mat.rows; ++y) {
    auto* out = scaled.ptr<std::uint8_t>(y);
    for (int i = 0; i < samples; ++i) {
      const std::int64_t value = mat.depth() == CV_16U ? mat.ptr<std::uint16_t>(y)[i] : mat.ptr<std::uint8_t>(y)[i];
      out[i] = static_cast<std::uint8_t>(std::min<std::int64_t>((value * 510 + white) / (2 * white), 255));
    }
  }
  return scaled;
}

/// Gray, BGR or BGRA to RGB.
void convert_row(const std::uint8_t* in, int channels, bool alpha, std::span<std::uint8_t> out) {
  for (std::size_t i = 0; i < out.size(); i += 3, in += channels) {
    const std::uint8_t blue = in[0];
    const std::uint8_t green = channels == 1 ? blue : in[1];
    const std::uint8_t red = channels == 1 ? blue : in[2];
    const std::uint8_t opacity = alpha ? in[3] : 255;
    out[i] = over_white(red, opacity);
    out[i + 1] = over_white(green, opacity);
    out[i + 2] = over_white(blue, opacity);
  }
}

/// The sample that means white. OpenCV has already scaled 8-bit PNM that is written as text.
int white_of(const cv::Mat& mat, const ImageHeader& header) {
  const bool scaled = header.plain_text && mat.depth() == CV_8U;
  if (header.format == ImageFormat::pnm && header.max_value > 1 && !scaled) return header.max_value;
  return mat.depth() == CV_16U ? 65'535 : 255;
}

}  // namespace

Image decode_opencv(std::span<std::uint8_t> file, const ImageHeader& header, const std::string& name) {
  silence_opencv();
  if (header.orientation_offset != 0) {
    const bool little_endian = file[0] == 'I';
    file[header.orientation_offset] = little_endian ? 1 : 0;
    file[header.orientation_offset + 1] = little_endian ? 0 : 1;
  }
  cv::Mat mat = decode(file, header, name);
  const int channels = mat.channels();
  if ((mat.depth() != CV_8U && mat.depth() != CV_16U) || (channels != 1 && channels != 3 && channels != 4)) {
    fail(ErrorCode::input, name, ": ", name_of(header.format), " with ", channels, " channels of ", 8 * mat.elemSize1(),
         "-bit samples, expected gray, RGB or RGBA of 8 or 16 bits; convert it to PNG or JPEG");
  }
  if (const int white = white_of(mat, header); mat.depth() != CV_8U || white != 255) mat = to_8_bits(mat, white);

  Image image(mat.cols, mat.rows);
  const std::size_t row_bytes = static_cast<std::size_t>(mat.cols) * 3;
  for (int y = 0; y < mat.rows; ++y) {
    convert_row(mat.ptr<std::uint8_t>(y), channels, channels == 4 && !header.alpha_unused,
                std::span(image.pixels).subspan(static_cast<std::size_t>(y) * row_bytes, row_bytes));
  }
  return image;
}

}  // namespace lingbot_map
