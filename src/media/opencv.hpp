#pragma once

#include "lingbot_map/types.hpp"

namespace cv {
class Mat;
}

/// What the sources of this room that call OpenCV share; no other header of the room names it.
namespace lingbot_map {

/// OpenCV's own lines on standard error would stand beside our one: this turns them off.
void silence_opencv();

/// An owned RGB copy of an 8-bit BGR matrix.
[[nodiscard]] Image rgb_image(const cv::Mat& bgr);

}  // namespace lingbot_map
