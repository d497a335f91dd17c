#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/text.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/safetensors_writer.hpp"
#include "command.hpp"
#include "config/manifest.hpp"
#include "write_model.hpp"

namespace lingbot_map::tool {
namespace {

struct ConvertFlags {
  std::string file;
  std::filesystem::path output;
  std::string dtype = "fp32";
  std::string config;
};

void convert(const ConvertFlags& flags) {
  const DType dtype = stored_dtype(flags.dtype);
  check_model_output(flags.output, flags.file);
  const std::unique_ptr<Checkpoint> checkpoint = Checkpoint::open(flags.file);
  const Config config = flags.config.empty() ? infer_config(*checkpoint) : infer_config(*checkpoint, flags.config);
  const std::vector<std::string> unexpected = check_manifest(*checkpoint, config);
  std::vector<TensorInfo> tensors;
  for (const TensorInfo& tensor : manifest(config)) {
    if (const TensorInfo* found = checkpoint->find(tensor.name)) tensors.push_back(*found);
  }
  write_safetensors(*checkpoint, tensors, dtype, config.to_json(), flags.output);
  if (!unexpected.empty()) {
    std::fprintf(stderr, "lingbot-map: warning: %zu tensors that the network does not use were left out\n",
                 unexpected.size());
  }
  std::printf("%zu tensors as %s in %s (%s)\n", tensors.size(), std::string(name_of(dtype)).c_str(),
              flags.output.c_str(), bytes_text(std::filesystem::file_size(flags.output)).c_str());
}

}  // namespace

void add_convert(CLI::App& app) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* command = app.add_subcommand("convert", "Writes a checkpoint as safetensors in another dtype");
  command->add_option("FILE", flags->file, ".pt or .safetensors")->required();
  command->add_option("--output", flags->output, "FILE.safetensors")->required();
  command->add_option("--dtype", flags->dtype, "fp32, bf16 or fp16")->capture_default_str();
  command->add_option("--config", flags->config, "official, tiny or FILE.json: what the file itself cannot tell");
  command->callback([flags] { convert(*flags); });
}

}  // namespace lingbot_map::tool
