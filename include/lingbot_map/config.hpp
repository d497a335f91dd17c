#pragma once

#include <array>
#include <string>
#include <string_view>

namespace lingbot_map {

/// The sizes of a network. Defaults are the official model's (1,157.9 M parameters). A safetensors file carries it as
/// JSON in the metadata entry "lingbot_map.config", with these field names as keys.
struct Config {
  int image_size = 518;  ///< side in pixels of the square that the position grid was trained on
  int patch_size = 14;   ///< pixels
  int embed_dim = 1024;  ///< width C of encoder and aggregator; the camera head is 2C wide
  int num_heads = 16;    ///< heads of 64 in encoder and aggregator: C / 64
  int encoder_depth = 24;
  int depth = 24;  ///< frame blocks, and as many global blocks
  int num_register_tokens = 4;
  std::array<int, 4> selected_layers = {4, 11, 17, 23};  ///< block groups that feed the heads, ascending
  int camera_trunk_depth = 4;
  int camera_num_heads = 16;  ///< heads of 128: 2C / 128
  bool camera_rope = false;   ///< rotary positions along time in the camera head
  int dpt_features = 256;
  std::array<int, 4> dpt_out_channels = {256, 512, 1024, 1024};
  bool has_point_head = false;

  /// Side of the trained position grid, in patches.
  [[nodiscard]] int grid_size() const noexcept { return image_size / patch_size; }
  /// Camera token, registers and scale token, which precede the patches of every frame.
  [[nodiscard]] int special_tokens() const noexcept { return num_register_tokens + 2; }

  [[nodiscard]] static Config official() { return {}; }
  /// The 4.2 M parameter model of the golden tests.
  [[nodiscard]] static Config tiny();
  /// Reads the JSON object above; missing keys keep the value of `defaults`. Throws Error(input) that names an unknown
  /// or impossible key. `source` names the text in messages (a file).
  [[nodiscard]] static Config from_json(std::string_view text, std::string_view source, const Config& defaults);
  [[nodiscard]] static Config from_json(std::string_view text, std::string_view source) {
    return from_json(text, source, official());
  }
  [[nodiscard]] std::string to_json() const;
  /// Throws Error(input) if the sizes contradict each other.
  void validate(std::string_view source) const;

  friend bool operator==(const Config&, const Config&) = default;
};

}  // namespace lingbot_map
