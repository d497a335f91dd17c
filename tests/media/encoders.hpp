#pragma once

// jpeglib.h uses what <cstdio> declares
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on
#include <png.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lingbot_map/types.hpp"

/// Image files of every kind, made in memory.
namespace lingbot_map::test {

/// Pseudo-random pixels: every run has the same.
inline Image noise_image(int width, int height, std::uint32_t seed = 1) {
  Image image(width, height);
  for (std::uint8_t& sample : image.pixels) {
    seed = seed * 1664525U + 1013904223U;
    sample = static_cast<std::uint8_t>(seed >> 24);
  }
  return image;
}

inline std::string as_text(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

/// By OpenCV, which takes BGR; `extension` as ".webp".
inline std::string encoded(const std::string& extension, const cv::Mat& mat, const std::vector<int>& flags = {}) {
  std::vector<std::uint8_t> bytes;
  cv::imencode(extension, mat, bytes, flags);
  return as_text(bytes);
}

inline std::string encoded(const std::string& extension, const Image& image, const std::vector<int>& flags = {}) {
  cv::Mat bgr(image.height, image.width, CV_8UC3);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) bgr.data[i / 3 * 3 + 2 - i % 3] = image.pixels[i];
  return encoded(extension, bgr, flags);
}

/// What a PNG is made of. Samples of 16 bits are big-endian, as the file has them.
struct PngParts {
  int width = 0;
  int height = 0;
  int bit_depth = 8;
  int color_type = PNG_COLOR_TYPE_RGB;
  std::vector<std::uint8_t> samples;
  std::vector<png_color> palette = {};
  std::vector<std::uint8_t> palette_alpha = {};
  int orientation = 0;  ///< 0: no EXIF
  bool interlaced = false;
};

inline std::string png_file(PngParts parts) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp writer, png_bytep bytes, std::size_t count) {
        static_cast<std::string*>(png_get_io_ptr(writer))->append(reinterpret_cast<char*>(bytes), count);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(parts.width), static_cast<png_uint_32>(parts.height),
               parts.bit_depth, parts.color_type, parts.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!parts.palette.empty()) png_set_PLTE(png, info, parts.palette.data(), static_cast<int>(parts.palette.size()));
  if (!parts.palette_alpha.empty()) {
    png_set_tRNS(png, info, parts.palette_alpha.data(), static_cast<int>(parts.palette_alpha.size()), nullptr);
  }
  std::vector<std::uint8_t> exif = {'M', 'M', 0, '*', 0, 0, 0, 8, 0, 1, 1, 18, 0,
                                    3,   0,   0, 0,   1, 0, 0, 0, 0, 0, 0, 0,  0};
  if (parts.orientation != 0) {
    exif[19] = static_cast<std::uint8_t>(parts.orientation);
    png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()), exif.data());
  }
  std::vector<png_bytep> rows;
  const std::size_t row_bytes = parts.samples.size() / static_cast<std::size_t>(parts.height);
  for (int y = 0; y < parts.height; ++y) rows.push_back(&parts.samples[static_cast<std::size_t>(y) * row_bytes]);
  png_set_rows(png, info, rows.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

/// A JPEG of one colour in CMYK, inks inverted as image editors store them.
inline std::string cmyk_jpeg_file(int width, int height, const std::array<std::uint8_t, 4>& inverted) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = 4;
  jpeg.in_color_space = JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<std::uint8_t> row;
  for (int x = 0; x < width; ++x) row.insert(row.end(), inverted.begin(), inverted.end());
  for (int y = 0; y < height; ++y) {
    JSAMPROW samples = row.data();
    jpeg_write_scanlines(&jpeg, &samples, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string file(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return file;
}

/// An uncompressed little-endian RGB TIFF with an orientation.
inline std::string tiff_file(const Image& image, int orientation) {
  std::string file("II*\0\x08\0\0\0", 8);
  auto number = [&file](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) file.push_back(static_cast<char>(value >> 8 * i & 0xff));
  };
  const auto width = static_cast<std::uint32_t>(image.width);
  const auto height = static_cast<std::uint32_t>(image.height);
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> tags = {{256, width},
                                                                     {257, height},
                                                                     {258, 8},
                                                                     {259, 1},
                                                                     {262, 2},
                                                                     {273, 0},
                                                                     {274, static_cast<std::uint32_t>(orientation)},
                                                                     {277, 3},
                                                                     {278, height},
                                                                     {279, width * height * 3}};
  const auto pixels_at = static_cast<std::uint32_t>(8 + 2 + 12 * tags.size() + 4);
  number(static_cast<std::uint32_t>(tags.size()), 2);
  for (const auto& [tag, value] : tags) {
    const bool is_long = tag == 273 || tag == 279;
    number(tag, 2);
    number(is_long ? 4 : 3, 2);
    number(1, 4);
    number(tag == 273 ? pixels_at : value, 4);
  }
  number(0, 4);
  return file + as_text(image.pixels);
}

}  // namespace lingbot_map::test
