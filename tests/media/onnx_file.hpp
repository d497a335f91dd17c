#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

/// Small ONNX files, made in memory: the protobuf messages of onnx.proto, field by field.
namespace lingbot_map::test {

inline std::string onnx_varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80U);
  return bytes + static_cast<char>(value);
}
inline std::string onnx_number(int field, std::uint64_t value) {
  return onnx_varint(static_cast<std::uint64_t>(field) << 3) + onnx_varint(value);
}
inline std::string onnx_bytes(int field, std::string_view content) {
  return onnx_varint(static_cast<std::uint64_t>(field) << 3 | 2U) + onnx_varint(content.size()) + std::string(content);
}

/// ValueInfoProto. A size of -1 is left open under a name, as exporters do for a batch of any size.
inline std::string onnx_value(const std::string& name, const std::vector<int>& shape, int element_type = 1) {
  std::string sizes;
  for (const int size : shape)
    sizes += onnx_bytes(1, size < 0 ? onnx_bytes(2, "batch") : onnx_number(1, static_cast<std::uint64_t>(size)));
  const std::string type = onnx_number(1, static_cast<std::uint64_t>(element_type)) + onnx_bytes(2, sizes);
  return onnx_bytes(1, name) + onnx_bytes(2, onnx_bytes(1, type));
}
/// TensorProto of floats.
inline std::string onnx_weight(const std::string& name, const std::vector<int>& shape,
                               const std::vector<float>& values) {
  std::string content;
  for (const int size : shape) content += onnx_number(1, static_cast<std::uint64_t>(size));
  std::string raw(values.size() * sizeof(float), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return content + onnx_number(2, 1) + onnx_bytes(8, name) + onnx_bytes(9, raw);
}
/// NodeProto.
inline std::string onnx_node(const std::string& operation, const std::vector<std::string>& inputs,
                             const std::string& output, const std::string& attributes = {},
                             const std::string& name = {}) {
  std::string content;
  if (!name.empty()) content += onnx_bytes(3, name);
  for (const std::string& input : inputs) content += onnx_bytes(1, input);
  return content + onnx_bytes(2, output) + onnx_bytes(4, operation) + attributes;
}
/// An attribute that is a list of whole numbers, as a field of a node.
inline std::string onnx_integers(const std::string& name, const std::vector<int>& values) {
  std::string content = onnx_bytes(1, name);
  for (const int value : values) content += onnx_number(8, static_cast<std::uint64_t>(value));
  return onnx_bytes(5, content + onnx_number(20, 7));
}

/// What a small sky network is made of.
struct SmallNetwork {
  std::vector<int> input = {1, 3, 320, 320};
  std::vector<float> weights = {-4, 0, 4};  ///< of red, green and blue, as the network sees them
  float bias = 0;
  bool logistic = true;  ///< whether its output are probabilities
  int channels = 1;      ///< of its output
  int element_type = 1;
  bool second_input = false;
  bool second_output = false;  ///< as the U-2-Net family has; it stands first among the nodes
  bool node_names = false;
  bool weights_among_inputs = false;  ///< as older files have
};

/// A file with one 1x1 convolution.
inline std::string onnx_file(const SmallNetwork& network = {}) {
  std::string graph = onnx_bytes(2, "sky");
  std::vector<float> weights;
  for (int i = 0; i < network.channels; ++i)
    weights.insert(weights.end(), network.weights.begin(), network.weights.end());
  const std::vector<int> kernel = {network.channels, 3, 1, 1};
  const std::string from = network.second_input ? "sum" : "image";
  if (network.second_input) graph += onnx_bytes(1, onnx_node("Add", {"image", "other"}, "sum"));
  graph += onnx_bytes(1, onnx_node("Conv", {from, "weight", "bias"}, "logit", onnx_integers("kernel_shape", {1, 1})));
  if (network.second_output)
    graph += onnx_bytes(1, onnx_node("Neg", {"logit"}, "side", {}, network.node_names ? "Neg_1" : ""));
  graph += onnx_bytes(1, onnx_node(network.logistic ? "Sigmoid" : "Identity", {"logit"}, "map", {},
                                   network.node_names ? "Last_2" : ""));
  graph += onnx_bytes(5, onnx_weight("weight", kernel, weights));
  graph += onnx_bytes(5, onnx_weight("bias", {network.channels},
                                     std::vector<float>(static_cast<std::size_t>(network.channels), network.bias)));
  graph += onnx_bytes(11, onnx_value("image", network.input, network.element_type));
  if (network.second_input) graph += onnx_bytes(11, onnx_value("other", network.input));
  if (network.weights_among_inputs) {
    graph += onnx_bytes(11, onnx_value("weight", kernel));
    graph += onnx_bytes(11, onnx_value("bias", {network.channels}));
  }
  std::vector<int> output = network.input;
  if (output.size() > 1) output[1] = network.channels;
  graph += onnx_bytes(12, onnx_value("map", output));
  if (network.second_output) graph += onnx_bytes(12, onnx_value("side", output));
  const std::string operators = onnx_bytes(1, "") + onnx_number(2, 11);
  return onnx_number(1, 6) + onnx_bytes(7, graph) + onnx_bytes(8, operators);
}

}  // namespace lingbot_map::test
