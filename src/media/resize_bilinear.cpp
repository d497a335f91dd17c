#include "media/resize_bilinear.hpp"

#include <opencv2/imgproc.hpp>

namespace lingbot_map {

Image resize_bilinear(const Image& image, int width, int height) {
  const cv::Mat from(image.height, image.width, CV_8UC3, const_cast<std::uint8_t*>(image.pixels.data()));
  Image resized(width, height);
  cv::Mat to(height, width, CV_8UC3, resized.pixels.data());
  cv::resize(from, to, to.size(), 0, 0, cv::INTER_LINEAR);
  return resized;
}

FloatMap resize_bilinear(const FloatMap& map, int width, int height) {
  const cv::Mat from(map.height, map.width, CV_32F, const_cast<float*>(map.values.data()));
  FloatMap resized{.width = width,
                   .height = height,
                   .values = std::vector<float>(static_cast<std::size_t>(width) * static_cast<std::size_t>(height))};
  cv::Mat to(height, width, CV_32F, resized.values.data());
  cv::resize(from, to, to.size(), 0, 0, cv::INTER_LINEAR);
  return resized;
}

}  // namespace lingbot_map
