#include "lingbot_map/config.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostWidth = 1 << 16;
constexpr int kMostDepth = 1 << 10;
constexpr std::size_t kMostText = std::size_t{1} << 16;  // bounds the tree that parsing builds

/// Calls visit(key, field) for every field, in the order of the documentation.
template <typename AnyConfig, typename Visit>
void for_each_field(AnyConfig& config, const Visit& visit) {
  visit("image_size", config.image_size);
  visit("patch_size", config.patch_size);
  visit("embed_dim", config.embed_dim);
  visit("num_heads", config.num_heads);
  visit("encoder_depth", config.encoder_depth);
  visit("depth", config.depth);
  visit("num_register_tokens", config.num_register_tokens);
  visit("selected_layers", config.selected_layers);
  visit("camera_trunk_depth", config.camera_trunk_depth);
  visit("camera_num_heads", config.camera_num_heads);
  visit("camera_rope", config.camera_rope);
  visit("dpt_features", config.dpt_features);
  visit("dpt_out_channels", config.dpt_out_channels);
  visit("has_point_head", config.has_point_head);
}

bool holds_int(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= std::numeric_limits<int>::max();
  return value.is_number_integer() && value.get<std::int64_t>() >= std::numeric_limits<int>::min();
}

bool read_field(const Json& value, int& field) {
  if (!holds_int(value)) return false;
  field = value.get<int>();
  return true;
}
bool read_field(const Json& value, bool& field) {
  if (!value.is_boolean()) return false;
  field = value.get<bool>();
  return true;
}
bool read_field(const Json& value, std::array<int, 4>& field) {
  if (!value.is_array() || value.size() != field.size() || !std::ranges::all_of(value, holds_int)) return false;
  field = value.get<std::array<int, 4>>();
  return true;
}

const char* expectation(const int&) { return "a whole number"; }
const char* expectation(const bool&) { return "true or false"; }
const char* expectation(const std::array<int, 4>&) { return "four whole numbers"; }

Json parse(std::string_view text, std::string_view source) {
  if (text.size() > kMostText) {
    fail(ErrorCode::input, source, ": configuration has ", text.size(), " bytes, expected at most ", kMostText);
  }
  const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > 4) fail(ErrorCode::input, source, ": configuration is nested too deeply");
    return true;
  };
  try {
    Json json = Json::parse(text, limit_depth);
    if (json.is_object()) return json;
  } catch (const Json::exception&) {
    // told below
  }
  fail(ErrorCode::input, source, ": configuration is no JSON object, expected {\"embed_dim\": 1024, ...}");
}

}  // namespace

Config Config::tiny() {
  Config config;
  config.image_size = 112;
  config.embed_dim = 128;
  config.num_heads = 2;
  config.encoder_depth = 2;
  config.depth = 4;
  config.selected_layers = {0, 1, 2, 3};
  config.camera_trunk_depth = 2;
  config.camera_num_heads = 2;
  config.dpt_features = 32;
  config.dpt_out_channels = {16, 32, 64, 64};
  return config;
}

Config Config::from_json(std::string_view text, std::string_view source, const Config& defaults) {
  const Json json = parse(text, source);
  Config config = defaults;
  std::size_t known = 0;
  for_each_field(config, [&](const char* key, auto& field) {
    const auto found = json.find(key);
    if (found == json.end()) return;
    ++known;
    if (!read_field(*found, field)) {
      fail(ErrorCode::input, source, ": configuration key ", key, " is ", printable(found->dump(-1, ' ', true)),
           ", expected ", expectation(field));
    }
  });
  if (known != json.size()) {
    for (const auto& item : json.items()) {
      bool named = false;
      for_each_field(config, [&](const char* name, const auto&) { named = named || item.key() == name; });
      if (!named) fail(ErrorCode::input, source, ": configuration has the unknown key ", printable(item.key()));
    }
  }
  config.validate(source);
  return config;
}

std::string Config::to_json() const {
  Json json;
  for_each_field(*this, [&](const char* key, const auto& field) { json[key] = field; });
  return json.dump();
}

void Config::validate(std::string_view source) const {
  const auto require = [&](bool holds, const auto&... parts) {
    if (!holds) fail(ErrorCode::input, source, ": configuration: ", parts...);
  };
  const auto in_range = [&](const char* key, int value, int most) {
    require(value >= 1 && value <= most, key, " is ", value, ", expected 1 to ", most);
  };
  in_range("patch_size", patch_size, 64);
  in_range("image_size", image_size, kMostWidth);
  in_range("embed_dim", embed_dim, kMostWidth);
  in_range("encoder_depth", encoder_depth, kMostDepth);
  in_range("depth", depth, kMostDepth);
  in_range("num_register_tokens", num_register_tokens, kMostDepth);
  in_range("camera_trunk_depth", camera_trunk_depth, kMostDepth);
  in_range("dpt_features", dpt_features, kMostWidth);
  for (const int channels : dpt_out_channels) in_range("dpt_out_channels", channels, kMostWidth);
  require(image_size % patch_size == 0, "image_size ", image_size, " is no multiple of patch_size ", patch_size);
  require(embed_dim % 64 == 0 && num_heads == embed_dim / 64, "num_heads is ", num_heads,
          ", expected embed_dim / 64 with embed_dim ", embed_dim, " a multiple of 64");
  require(camera_num_heads == 2 * embed_dim / 128, "camera_num_heads is ", camera_num_heads,
          ", expected 2 * embed_dim / 128 = ", 2 * embed_dim / 128);
  require(dpt_features % 8 == 0, "dpt_features is ", dpt_features, ", expected a multiple of 8");
  for (const int channels : dpt_out_channels) {
    require(channels % 4 == 0, "dpt_out_channels holds ", channels, ", expected multiples of 4");
  }
  int last = -1;
  for (const int layer : selected_layers) {
    require(layer > last && layer < depth, "selected_layers must ascend from 0 to depth - 1 = ", depth - 1, ", found ",
            layer, " after ", last);
    last = layer;
  }
}

}  // namespace lingbot_map
