#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "media/float_map.hpp"
#include "media/onnx_interface.hpp"

namespace lingbot_map {

/// A network in an ONNX file that makes one map of one image, run on the CPU by OpenCV. For one thread at a time.
class OnnxNetwork {
 public:
  /// Reads the file, at most 2 GiB. `threads`: how many OpenCV uses, in the whole process, since it has one number for
  /// all; 0 leaves that to it. Throws Error(input) if the file is missing, no ONNX model, or holds what OpenCV cannot
  /// read.
  explicit OnnxNetwork(const std::filesystem::path& path, int threads = 0);
  ~OnnxNetwork();
  OnnxNetwork(const OnnxNetwork&) = delete;
  OnnxNetwork& operator=(const OnnxNetwork&) = delete;

  [[nodiscard]] const OnnxInterface& interface() const noexcept;
  /// SHA-256 of the file, in hexadecimal.
  [[nodiscard]] const std::string& sha256() const noexcept;

  /// The first output for `input` ([1, 3, height, width]) as the only input. Its shape may have any number of ones in
  /// front of height and width. Throws Error(input) that names the file if the network fails or its output is no map.
  [[nodiscard]] FloatMap run(std::span<const float> input, int width, int height);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lingbot_map
