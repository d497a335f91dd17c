#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/text.hpp"
#include "checkpoint/safetensors_writer.hpp"
#include "checkpoint/synthetic.hpp"
#include "command.hpp"
#include "config/manifest.hpp"
#include "write_model.hpp"

namespace lingbot_map::tool {
namespace {

struct SynthFlags {
  std::string config;
  std::string seed;
  std::filesystem::path output;
  std::string dtype = "fp32";
};

void synth(const SynthFlags& flags) {
  const DType dtype = stored_dtype(flags.dtype);
  const std::uint64_t seed = seed_of(flags.seed);
  check_model_output(flags.output, {});
  const Config config = load_config(flags.config);
  const std::vector<TensorInfo> tensors = manifest(config);
  write_safetensors(*synthetic_checkpoint(tensors, seed, config.to_json()), tensors, dtype, config.to_json(),
                    flags.output);
  std::printf("%zu tensors as %s in %s (%s)\n", tensors.size(), std::string(name_of(dtype)).c_str(),
              flags.output.c_str(), bytes_text(std::filesystem::file_size(flags.output)).c_str());
}

}  // namespace

void add_synth(CLI::App& app) {
  auto flags = std::make_shared<SynthFlags>();
  CLI::App* command = app.add_subcommand("synth", "Writes a model whose weights are made from a seed");
  command->add_option("--config", flags->config, "official, tiny or FILE.json")->required();
  command->add_option("--seed", flags->seed, "any whole number from 0 on")->required();
  command->add_option("--output", flags->output, "FILE.safetensors")->required();
  command->add_option("--dtype", flags->dtype, "fp32, bf16 or fp16")->capture_default_str();
  command->callback([flags] { synth(*flags); });
}

}  // namespace lingbot_map::tool
