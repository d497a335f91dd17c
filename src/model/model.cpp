#include "lingbot_map/model.hpp"

#include "backend/make_backend.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/synthetic.hpp"
#include "config/manifest.hpp"
#include "model/model_impl.hpp"
#include "model/weight_loader.hpp"

namespace lingbot_map {
namespace {

std::shared_ptr<const Model::Impl> load_model(const Checkpoint& checkpoint, const Config& config,
                                              const ModelOptions& options) {
  std::unique_ptr<Backend> backend = make_backend(options.device, options.threads);
  const DType dtype = options.dtype.value_or(backend->preferred_dtype());
  if (!backend->supports(dtype)) {
    fail(ErrorCode::unsupported, "dtype ", name_of(dtype), " is not available on ", backend->device().to_string(),
         ": take fp32 or bf16");
  }
  std::vector<std::string> unexpected = check_manifest(checkpoint, config);
  NetworkWeights weights = load_weights(checkpoint, config, *backend, dtype, options.point_head);
  const int threads = backend->threads_used();
  return std::make_shared<const Model::Impl>(std::move(backend), Network(config, std::move(weights)), dtype, threads,
                                             std::move(unexpected));
}

}  // namespace

Model Model::load(const std::filesystem::path& path, const ModelOptions& options) {
  const std::unique_ptr<Checkpoint> checkpoint = Checkpoint::open(path);
  return Model(load_model(*checkpoint, options.config ? *options.config : infer_config(*checkpoint), options));
}

Model Model::synthetic(const Config& config, std::uint64_t seed, const ModelOptions& options) {
  config.validate("synthetic model");
  const std::unique_ptr<Checkpoint> checkpoint = synthetic_checkpoint(manifest(config), seed, config.to_json());
  return Model(load_model(*checkpoint, config, options));
}

const Config& Model::config() const noexcept { return impl_->network().config(); }
Device Model::device() const noexcept { return impl_->backend().device(); }
DType Model::dtype() const noexcept { return impl_->dtype(); }
int Model::threads() const noexcept { return impl_->threads(); }
std::size_t Model::weight_bytes() const noexcept { return impl_->network().weights().bytes; }
const std::string& Model::fingerprint() const noexcept { return impl_->network().weights().fingerprint; }
const std::vector<std::string>& Model::unexpected_tensors() const noexcept { return impl_->unexpected(); }

}  // namespace lingbot_map
