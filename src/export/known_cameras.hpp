#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "base/sha256.hpp"
#include "geometry/camera.hpp"

namespace lingbot_map {

/// Cameras that are known better than the network knows them, in pixels of the original picture: one for all frames, or
/// one for each. A file is read as frames come.
class KnownCameras {
 public:
  /// `text` is "fx,fy,cx,cy", or a file: comments with # in front and then either one line
  ///
  ///     fx fy cx cy
  ///
  /// for all frames, or such a line for every frame, or the lines of intrinsics.txt, of which the original picture's
  /// numbers are taken. Numbers are separated by white space or commas. The whole file is checked. Throws Error(usage)
  /// for the four numbers, Error(input) for a file, that names what was found: not four (or eleven) numbers, what is no
  /// number, not finite, a focal length that is not above zero.
  explicit KnownCameras(const std::string& text);

  /// Frames for which there is a camera; nothing: any number.
  [[nodiscard]] std::optional<std::int64_t> frames() const noexcept { return frames_; }
  /// 64 hexadecimal digits that tell these cameras from others, by their numbers and not by how or where they are
  /// written.
  [[nodiscard]] const std::string& fingerprint() const noexcept { return fingerprint_; }
  /// Leaves out the cameras of so many frames.
  void skip(std::int64_t frames);
  /// The camera of the next frame, in pixels of the network's input. Throws Error(input) when the file has no further
  /// line, or its line is for a picture of another size.
  [[nodiscard]] Intrinsics next(const OriginalPixels& original);

 private:
  struct Line {
    Intrinsics camera;
    int width = 0;  ///< of the original picture; 0: the line does not say
    int height = 0;
  };
  [[nodiscard]] std::optional<Line> read_line();
  void check_file();
  static void add(const Line& line, Sha256& digest);

  std::string name_;  ///< of the file; empty: there is none
  std::ifstream file_;
  std::int64_t line_number_ = 0;
  std::int64_t next_frame_ = 0;
  std::optional<std::int64_t> frames_;
  std::optional<Line> only_;
  std::string fingerprint_;
};

}  // namespace lingbot_map
