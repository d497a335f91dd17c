#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "checkpoint/checkpoint.hpp"
#include "command.hpp"
#include "config/manifest.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::size_t kNamesShown = 10;

struct InfoFlags {
  std::string file;
  std::string config;
};

/// The parts of the network by the beginning of their tensors' names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kParts = {{
    {"aggregator.patch_embed.", "encoder"},
    {"aggregator.frame_blocks.", "frame blocks"},
    {"aggregator.global_blocks.", "global blocks"},
    {"aggregator.", "special tokens"},
    {"camera_head.", "camera head"},
    {"depth_head.", "depth head"},
    {"point_head.", "point head"},
}};
constexpr std::string_view kOther = "other";

std::string_view part_of(std::string_view name) {
  for (const auto& [prefix, part] : kParts) {
    if (name.starts_with(prefix)) return part;
  }
  return kOther;
}

struct Total {
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;

  void add(const TensorInfo& tensor) {
    ++tensors;
    parameters += static_cast<std::uint64_t>(tensor.elements());
    bytes += tensor.bytes();
  }
};

void print_total(std::string_view name, const Total& total) {
  std::printf("  %-16s %6s tensors %16s parameters %10s\n", std::string(name).c_str(), grouped(total.tensors).c_str(),
              grouped(total.parameters).c_str(), bytes_text(total.bytes).c_str());
}

void print_names(const char* title, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::printf("%s (%zu)\n", title, names.size());
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
    std::printf("  %s\n", printable(names[i]).c_str());
  if (names.size() > kNamesShown) std::printf("  ... and %zu more\n", names.size() - kNamesShown);
}

void print_configuration(const Config& config) {
  std::string text = config.to_json();
  // One key a line: {"a":1,"b":[1,2]} has a comma before every key's quote and nowhere else.
  for (std::size_t at = text.find(",\""); at != std::string::npos; at = text.find(",\"", at + 2))
    text.replace(at, 1, "\n  ");
  std::printf("configuration\n  %s\n", text.substr(1, text.size() - 2).c_str());
}

void info(const InfoFlags& flags) {
  const std::unique_ptr<Checkpoint> checkpoint = Checkpoint::open(flags.file);
  std::map<std::string_view, Total> parts;
  std::map<std::string_view, Total> dtypes;
  Total all;
  for (const TensorInfo& tensor : checkpoint->tensors()) {
    parts[part_of(tensor.name)].add(tensor);
    dtypes[name_of(tensor.dtype)].add(tensor);
    all.add(tensor);
  }
  std::error_code ignored;
  std::printf("file\n  %s, %s, %s\n", checkpoint->source().c_str(), std::string(checkpoint->format()).c_str(),
              bytes_text(std::filesystem::file_size(flags.file, ignored)).c_str());
  std::printf("parts\n");
  for (const auto& [prefix, part] : kParts) {
    if (parts.contains(part)) print_total(part, parts[part]);
  }
  if (parts.contains(kOther)) print_total(kOther, parts[kOther]);
  print_total("all", all);
  std::printf("dtypes\n");
  for (const auto& [name, total] : dtypes) print_total(name, total);
  print_names("entries beside the tensors, ignored", checkpoint->ignored_entries());
  std::fflush(stdout);

  const Config config = flags.config.empty() ? infer_config(*checkpoint) : infer_config(*checkpoint, flags.config);
  print_configuration(config);
  const ManifestDifference difference = compare_manifest(*checkpoint, config);
  print_names("missing tensors", difference.missing);
  print_names("wrong shapes", difference.wrong_shape);
  print_names("tensors the network does not use", difference.unexpected);
  const bool usable = difference.missing.empty() && difference.wrong_shape.empty();
  std::printf("%s\n", usable ? "This file can be run." : "This file cannot be run as it is.");
}

}  // namespace

void add_info(CLI::App& app) {
  auto flags = std::make_shared<InfoFlags>();
  CLI::App* command = app.add_subcommand("info", "What a checkpoint holds: configuration, parameters, dtypes, bytes");
  command->add_option("FILE", flags->file, ".pt or .safetensors")->required();
  command->add_option("--config", flags->config, "official, tiny or FILE.json: what the file itself cannot tell");
  command->callback([flags] { info(*flags); });
}

}  // namespace lingbot_map::tool
