#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/result_table.hpp"
#include "choices.hpp"
#include "flags.hpp"
#include "lingbot_map/lingbot_map.hpp"

namespace lingbot_map::tool {

/// What a benchmark that streams frames can be asked for, as the command line has it. Lists have commas and multiply.
struct StreamFlags {
  std::string model_path;
  std::string config;  ///< empty: official, or what the file tells
  std::string device = "auto";
  std::string dtype = "auto";    ///< list
  std::string backend = "auto";  ///< list
  std::string size = "518x378";  ///< list
  int threads = 0;
  int scale_frames = 8;
  int window = 64;
  int camera_iterations = 4;
  bool no_graphs = false;
  std::string output = "md";
};
/// What is taken where neither --config nor --model_path is given.
enum class UnnamedModel : std::uint8_t { official, bundled };
/// Adds them to a command; the help tells the size that `place` has.
void add_stream_flags(Flags& flags, StreamFlags& place, UnnamedModel model = UnnamedModel::official);

/// The same in the library's terms.
struct StreamSettings {
  std::string model_path;        ///< empty: synthetic weights of seed 7
  std::string config_name;       ///< empty: what the file tells
  std::optional<Config> config;  ///< set without a file
  Device device;
  int threads = 0;
  std::vector<std::optional<DType>> dtypes;
  std::vector<AttentionKind> backends;
  std::vector<FrameSize> sizes;
  SessionOptions session;
  OutputFormat output = OutputFormat::markdown;

  /// Throws Error(usage) that names the flag, and Error(unsupported) for what the device cannot.
  [[nodiscard]] static StreamSettings of(const StreamFlags& flags);

  [[nodiscard]] Model make_model(std::optional<DType> dtype) const;
  [[nodiscard]] std::string model_name() const;
  /// "lingbot-map 0.1.0 (commit), features; device; model": the line above a table.
  [[nodiscard]] std::string heading() const;
};

/// What a result of one stream was measured with.
[[nodiscard]] nlohmann::ordered_json conditions(const StreamSettings& settings, const Model& model,
                                                AttentionKind attention, const FrameSize& size);

/// Textured frames that differ from each other, for a stream to go round in.
[[nodiscard]] std::vector<Image> make_frames(const FrameSize& size, int count);

}  // namespace lingbot_map::tool
