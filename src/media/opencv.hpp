#pragma once

#include "lingbot_map/types.hpp"

namespace cv {
class Mat;
}

/// What the sources of this room that call OpenCV share; no other header of the room names it.
namespace lingbot_map {

/// Turns off the log lines of OpenCV and FFmpeg, which would stand on standard error beside our one message. Whoever
/// wants FFmpeg's sets OPENCV_FFMPEG_LOGLEVEL, which is respected.
void silence_opencv();

/// An owned RGB copy of an 8-bit BGR matrix.
[[nodiscard]] Image rgb_image(const cv::Mat& bgr);

}  // namespace lingbot_map
