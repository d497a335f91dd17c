#include "checkpoint/synthetic.hpp"

#include <cmath>
#include <utility>

#include "base/message.hpp"
#include "base/parallel.hpp"
#include "checkpoint/elements.hpp"
#include "checkpoint/tensor_list.hpp"

namespace lingbot_map {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

struct Range {
  float scale = 0;
  float centre = 0;
};

Range range_of(std::string_view name, std::span<const std::int64_t> shape) {
  if (name.ends_with(".gamma")) return {0.1F, 0.2F};
  if (shape.size() == 1) return name.ends_with("weight") ? Range{0.2F, 1.0F} : Range{0.1F, 0.0F};
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (last.find("token") != std::string_view::npos || name.ends_with("pos_embed")) return {0.5F, 0.0F};
  double inputs = 1;
  for (std::size_t axis = 1; axis < shape.size(); ++axis) inputs *= static_cast<double>(shape[axis]);
  return {static_cast<float>(std::sqrt(3.0 / inputs)), 0.0F};
}

class SyntheticCheckpoint final : public Checkpoint {
 public:
  SyntheticCheckpoint(std::vector<TensorInfo> tensors, std::uint64_t seed, std::string config_json)
      : tensors_(std::move(tensors), source_), seed_(seed), config_json_(std::move(config_json)) {}

  [[nodiscard]] const std::vector<TensorInfo>& tensors() const override { return tensors_.all(); }
  [[nodiscard]] const TensorInfo* find(std::string_view name) const override { return tensors_.find(name); }
  void read(const TensorInfo& info, std::span<float> out) const override {
    const TensorInfo& tensor = tensors_.all()[tensors_.checked_index(info, out.size())];
    synthetic_weights(tensor.name, tensor.shape, seed_, out);
  }
  [[nodiscard]] std::optional<std::string> config_json() const override { return config_json_; }
  [[nodiscard]] std::string_view format() const override { return "synthetic"; }
  [[nodiscard]] const std::string& source() const override { return source_; }
  [[nodiscard]] const std::vector<std::string>& ignored_entries() const override { return ignored_; }

 private:
  std::string source_ = "synthetic model";
  TensorList tensors_;
  std::uint64_t seed_;
  std::string config_json_;
  std::vector<std::string> ignored_;
};

}  // namespace

void synthetic_weights(std::string_view name, std::span<const std::int64_t> shape, std::uint64_t seed,
                       std::span<float> out) {
  const auto elements = element_count(shape);
  check(elements && static_cast<std::size_t>(*elements) == out.size(), "synthetic weights for ", out.size(),
        " elements of ", name);
  const Range range = range_of(name, shape);
  const std::uint64_t first = fnv1a(name) + seed * kGolden + kGolden;
  constexpr std::size_t kWorthAThread = std::size_t{1} << 20;
  in_parts(out.size(), kWorthAThread, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::uint64_t z = first + i;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
      z ^= z >> 31;
      // The signed type converts in one instruction, and 24 bits are exact in float32.
      const float unit = static_cast<float>(static_cast<std::int32_t>(z >> 40)) * 0x1p-23F - 1.0F;
      out[i] = unit * range.scale + range.centre;
    }
  });
}

std::unique_ptr<Checkpoint> synthetic_checkpoint(std::vector<TensorInfo> tensors, std::uint64_t seed,
                                                 std::string config_json) {
  return std::make_unique<SyntheticCheckpoint>(std::move(tensors), seed, std::move(config_json));
}

}  // namespace lingbot_map
