#include "media/onnx_interface.hpp"

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/message.hpp"

namespace lingbot_map {
namespace {

using Bytes = std::span<const std::byte>;

/// A field of a protobuf message: a number, or bytes (text, or a message inside).
struct Field {
  std::uint64_t id = 0;
  std::uint64_t number = 0;
  Bytes bytes;

  [[nodiscard]] std::string text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // NOLINT: bytes of a text
  }
};

/// Thrown inside this file where the bytes are no protobuf message.
struct NoMessage {};

/// Goes through the fields of a message without copying.
class Fields {
 public:
  explicit Fields(Bytes message) : rest_(message) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t key = varint();
    Field field{.id = key >> 3, .number = 0, .bytes = {}};
    switch (key & 7U) {
      case 0: field.number = varint(); break;
      case 1: field.bytes = take(8); break;
      case 2: field.bytes = take(varint()); break;
      case 5: field.bytes = take(4); break;
      default: throw NoMessage{};
    }
    if (field.id == 0) throw NoMessage{};
    return field;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(take(1)[0]);
      value |= (byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    throw NoMessage{};
  }
  Bytes take(std::uint64_t count) {
    if (count > rest_.size()) throw NoMessage{};
    const Bytes taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(static_cast<std::size_t>(count));
    return taken;
  }

  Bytes rest_;
};

template <typename Use>
void each_field(Bytes message, Use use) {
  Fields fields(message);
  while (const auto field = fields.next()) use(*field);
}

// Numbers of fields as onnx.proto gives them.
std::int64_t dimension(Bytes message) {
  std::int64_t size = OnnxValue::kAnySize;
  each_field(message, [&](const Field& field) {
    if (field.id == 1 && field.number > 0) size = static_cast<std::int64_t>(field.number);
  });
  return size < 1 ? OnnxValue::kAnySize : size;
}

void read_tensor_type(Bytes message, OnnxValue& value) {
  each_field(message, [&](const Field& field) {
    if (field.id == 1) value.element_type = static_cast<int>(field.number);
    if (field.id != 2) return;
    each_field(field.bytes, [&](const Field& dim) {
      if (dim.id == 1) value.shape.push_back(dimension(dim.bytes));
    });
  });
}

OnnxValue value_info(Bytes message) {
  OnnxValue value;
  each_field(message, [&](const Field& field) {
    if (field.id == 1) value.name = field.text();
    if (field.id != 2) return;
    each_field(field.bytes, [&](const Field& type) {
      if (type.id == 1) read_tensor_type(type.bytes, value);
    });
  });
  return value;
}

std::string name_of_weight(Bytes message) {
  std::string name;
  each_field(message, [&](const Field& field) {
    if (field.id == 8) name = field.text();
  });
  return name;
}

/// The name of a node, under each value that it makes.
void read_node(Bytes message, std::unordered_map<std::string, std::string>& node_of_value) {
  std::string name;
  std::vector<std::string> made;
  each_field(message, [&](const Field& field) {
    if (field.id == 2) made.push_back(field.text());
    if (field.id == 3) name = field.text();
  });
  for (std::string& value : made) node_of_value[std::move(value)] = name;
}

OnnxInterface read_graph(Bytes message) {
  OnnxInterface graph;
  std::unordered_set<std::string> weights;
  std::unordered_map<std::string, std::string> node_of_value;
  each_field(message, [&](const Field& field) {
    if (field.id == 1) read_node(field.bytes, node_of_value);
    if (field.id == 5) weights.insert(name_of_weight(field.bytes));
    if (field.id == 11) graph.inputs.push_back(value_info(field.bytes));
    if (field.id == 12) graph.outputs.push_back(value_info(field.bytes));
  });
  for (OnnxValue& output : graph.outputs) output.node = node_of_value[output.name];
  std::erase_if(graph.inputs, [&](const OnnxValue& input) { return weights.contains(input.name); });
  return graph;
}

}  // namespace

OnnxInterface parse_onnx_interface(Bytes file, const std::string& name) {
  try {
    std::optional<OnnxInterface> graph;
    each_field(file, [&](const Field& field) {
      if (field.id == 7) graph = read_graph(field.bytes);
    });
    if (graph && !graph->outputs.empty()) return *std::move(graph);
  } catch (const NoMessage&) {  // said below
  }
  fail(ErrorCode::input, name, ": not an ONNX model, or cut off: found ", file.size(),
       " bytes that hold no whole graph, expected an .onnx file");
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text;
  for (const std::int64_t size : shape) {
    if (!text.empty()) text += 'x';
    text += size == OnnxValue::kAnySize ? "?" : std::to_string(size);
  }
  return text.empty() ? "no shape" : text;
}

}  // namespace lingbot_map
