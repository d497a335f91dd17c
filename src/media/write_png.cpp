#include "media/write_png.hpp"

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "base/file.hpp"
#include "base/message.hpp"

namespace lingbot_map {

namespace {

void write(const std::filesystem::path& path, const cv::Mat& mat) {
  std::vector<std::uint8_t> bytes;
  check(cv::imencode(".png", mat, bytes), "no PNG of ", mat.cols, " x ", mat.rows, " pixels");
  FileWriter file(path);
  file.write(std::as_bytes(std::span(bytes)));
  file.commit();
}

void check_size(const std::filesystem::path& path, int width, int height, std::size_t pixels) {
  check(width > 0 && height > 0 && pixels == static_cast<std::size_t>(width) * static_cast<std::size_t>(height),
        path.string(), ": ", pixels, " pixels for an image of ", width, " x ", height);
}

}  // namespace

void write_png(const std::filesystem::path& path, const Image& image) {
  check(image.width > 0 && image.height > 0, "an empty image for ", path.string());
  const cv::Mat rgb(image.height, image.width, CV_8UC3, const_cast<std::uint8_t*>(image.pixels.data()));
  cv::Mat bgr;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  write(path, bgr);
}

void write_png8(const std::filesystem::path& path, int width, int height, std::span<const std::uint8_t> pixels) {
  check_size(path, width, height, pixels.size());
  write(path, cv::Mat(height, width, CV_8UC1, const_cast<std::uint8_t*>(pixels.data())));
}

void write_png16(const std::filesystem::path& path, int width, int height, std::span<const std::uint16_t> pixels) {
  check_size(path, width, height, pixels.size());
  write(path, cv::Mat(height, width, CV_16UC1, const_cast<std::uint16_t*>(pixels.data())));
}

}  // namespace lingbot_map
