#include "media/opencv.hpp"

#include <cstdlib>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgproc.hpp>

namespace lingbot_map {

void silence_opencv() {
  static const bool done = [] {
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    constexpr int kKeepWhatIsSet = 0;
    setenv("OPENCV_FFMPEG_LOGLEVEL", "-8", kKeepWhatIsSet);  // AV_LOG_QUIET
    return true;
  }();
  static_cast<void>(done);
}

Image rgb_image(const cv::Mat& bgr) {
  Image image(bgr.cols, bgr.rows);
  cv::Mat rgb(bgr.size(), CV_8UC3, image.pixels.data());
  cv::cvtColor(bgr, rgb, cv::COLOR_BGR2RGB);
  return image;
}

}  // namespace lingbot_map
