#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lingbot_map {

/// An input or output of an ONNX graph.
struct OnnxValue {
  static constexpr std::int64_t kAnySize = -1;
  static constexpr int kFloat32 = 1;  ///< TensorProto.DataType.FLOAT

  std::string name;
  int element_type = 0;             ///< a TensorProto.DataType; 0: not a tensor, or not told
  std::vector<std::int64_t> shape;  ///< kAnySize where the file leaves a dimension open
  std::string node;                 ///< of an output: the name of the node that makes it, which may be empty
};

/// What an ONNX file asks for and gives.
struct OnnxInterface {
  std::vector<OnnxValue> inputs;  ///< without those that are stored weights, as older files list them too
  std::vector<OnnxValue> outputs;
};

/// Reads it from the bytes of an ONNX file (a protobuf message ModelProto, of which only graph, inputs, outputs and
/// names of weights are looked at). `name` is what messages call the file. Throws Error(input) for bytes that are no
/// ONNX model or are cut off.
[[nodiscard]] OnnxInterface parse_onnx_interface(std::span<const std::byte> file, const std::string& name);

/// "1x3x320x320", with ? for a size that is left open.
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace lingbot_map
