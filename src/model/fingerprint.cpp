#include "model/fingerprint.hpp"

#include <algorithm>
#include <vector>

#include "base/sha256.hpp"

namespace lingbot_map {

void Fingerprint::add(const TensorInfo& tensor, std::span<const float> elements) {
  constexpr std::size_t kMostSamples = 1024;
  const std::size_t count = std::min(elements.size(), kMostSamples);
  std::vector<float> samples(count);
  for (std::size_t i = 0; i < count; ++i)
    samples[i] = elements[count == 1 ? 0 : i * (elements.size() - 1) / (count - 1)];
  Sha256 sha;
  sha.update(std::as_bytes(std::span(tensor.shape)));
  sha.update(std::as_bytes(std::span(samples)));
  digests_[tensor.name] = sha.finish();
}

std::string Fingerprint::finish(const std::string& config_json) const {
  Sha256 sha;
  sha.update(std::as_bytes(std::span(config_json)));
  for (const auto& [name, digest] : digests_) {
    for (const std::string& part : {name, digest}) sha.update(std::as_bytes(std::span(part)));
  }
  return sha.finish();
}

}  // namespace lingbot_map
