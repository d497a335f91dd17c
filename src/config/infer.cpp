#include <optional>
#include <string_view>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "config/manifest.hpp"

namespace lingbot_map {
namespace {

constexpr std::string_view kEncoder = "aggregator.patch_embed.";

/// Reads sizes off the shapes of the tensors that tell them.
class ShapeReader {
 public:
  explicit ShapeReader(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  /// All that shapes tell; `selected_layers` are four zeros, which validate() refuses, where the depth does not tell
  /// them.
  Config read() const {
    Config config;
    const auto& positions = shape(message(kEncoder, "pos_embed"), 3);
    const auto& patches = shape(message(kEncoder, "patch_embed.proj.weight"), 4);
    config.patch_size = small(patches[2]);
    config.embed_dim = small(positions[2]);
    const std::int64_t side = integer_root(positions[1] - 1);
    if (side < 1) {
      fail(ErrorCode::input, checkpoint_.source(), ": tensor ", kEncoder, "pos_embed: found ", positions[1],
           " positions, expected one more than a square number");
    }
    config.image_size = small(side * config.patch_size);
    config.num_heads = config.embed_dim / 64;
    config.camera_num_heads = 2 * config.embed_dim / 128;
    config.encoder_depth = count(message(kEncoder, "blocks."));
    config.depth = count("aggregator.frame_blocks.");
    config.camera_trunk_depth = count("camera_head.trunk.");
    config.num_register_tokens = small(shape("aggregator.register_token", 4)[2]);
    config.dpt_features = small(shape("depth_head.scratch.layer1_rn.weight", 4)[0]);
    for (std::size_t i = 0; i < config.dpt_out_channels.size(); ++i) {
      config.dpt_out_channels[i] = small(shape(message("depth_head.projects.", i, ".weight"), 4)[0]);
    }
    config.has_point_head = checkpoint_.find("point_head.norm.weight") != nullptr;
    if (!knows_layers(config)) config.selected_layers = {};
    if (config.depth == 4) config.selected_layers = {0, 1, 2, 3};
    return config;
  }

  /// Whether the depth is one whose selected layers are known.
  static bool knows_layers(const Config& config) { return config.depth == 24 || config.depth == 4; }

 private:
  [[nodiscard]] const std::vector<std::int64_t>& shape(const std::string& name, std::size_t rank) const {
    const TensorInfo* tensor = checkpoint_.find(name);
    if (tensor == nullptr) {
      fail(ErrorCode::input, checkpoint_.source(), ": tensor ", name, " is missing; is it a LingBot-Map checkpoint?");
    }
    if (tensor->shape.size() != rank) {
      fail(ErrorCode::input, checkpoint_.source(), ": tensor ", name, ": found shape ", printable(tensor->shape_text()),
           ", expected ", rank, " dimensions");
    }
    return tensor->shape;
  }
  /// A size as an int; the absurd becomes 0, which validate() names.
  static int small(std::int64_t value) { return value >= 0 && value < (1 << 20) ? static_cast<int>(value) : 0; }
  /// 0 if `square` is no square number.
  static std::int64_t integer_root(std::int64_t square) {
    std::int64_t root = 0;
    while (root < (1 << 16) && root * root < square) ++root;
    return root * root == square ? root : 0;
  }
  /// Blocks PREFIX0., PREFIX1., ... that have a first norm.
  [[nodiscard]] int count(const std::string& prefix) const {
    int blocks = 0;
    while (checkpoint_.find(message(prefix, blocks, ".norm1.weight")) != nullptr) ++blocks;
    if (blocks == 0) {
      fail(ErrorCode::input, checkpoint_.source(), ": tensor ", prefix,
           "0.norm1.weight is missing; is it a LingBot-Map checkpoint?");
    }
    return blocks;
  }

  const Checkpoint& checkpoint_;
};

Config from_shapes(const Checkpoint& checkpoint) {
  const Config config = ShapeReader(checkpoint).read();
  if (!ShapeReader::knows_layers(config)) {
    fail(ErrorCode::input, checkpoint.source(), ": has ", config.depth,
         " block groups, whose selected layers shapes cannot tell: name them with --config FILE.json, as "
         "{\"selected_layers\": [...]}");
  }
  config.validate(checkpoint.source());
  return config;
}

std::optional<Config> named(const std::string& name) {
  if (name == "official") return Config::official();
  if (name == "tiny") return Config::tiny();
  return std::nullopt;
}

}  // namespace

Config infer_config(const Checkpoint& checkpoint) {
  const auto json = checkpoint.config_json();
  return json ? Config::from_json(*json, checkpoint.source()) : from_shapes(checkpoint);
}

Config infer_config(const Checkpoint& checkpoint, const std::string& name_or_file) {
  if (const auto config = named(name_or_file)) return *config;
  const auto carried = checkpoint.config_json();
  const Config base = carried ? Config::from_json(*carried, checkpoint.source()) : ShapeReader(checkpoint).read();
  return Config::from_json(read_text_file(name_or_file), name_or_file, base);
}

Config load_config(const std::string& name_or_file) {
  if (const auto config = named(name_or_file)) return *config;
  return Config::from_json(read_text_file(name_or_file), name_or_file);
}

}  // namespace lingbot_map
