#include "sky/sky_network.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/message.hpp"
#include "base/text.hpp"
#include "media/resize_bilinear.hpp"

namespace lingbot_map {
namespace {

constexpr std::size_t kPixels = static_cast<std::size_t>(kSkyNetworkSize) * kSkyNetworkSize;
constexpr std::array<std::int64_t, 4> kInputShape = {1, 3, kSkyNetworkSize, kSkyNetworkSize};
constexpr std::array<float, 3> kMean = {0.485F, 0.456F, 0.406F};  // of ImageNet, red green blue
constexpr std::array<float, 3> kDeviation = {0.229F, 0.224F, 0.225F};
constexpr float kLeastSpan = 0.5F;

bool fits(std::span<const std::int64_t> shape) {
  return std::ranges::equal(shape, kInputShape, [](std::int64_t found, std::int64_t expected) {
    return found == expected || found == OnnxValue::kAnySize;
  });
}

void check_interface(const OnnxInterface& interface, const std::string& name) {
  const auto& inputs = interface.inputs;
  if (inputs.size() != 1) {
    std::string names;
    for (const OnnxValue& input : inputs) names += (names.empty() ? ": " : ", ") + printable(input.name, 40);
    fail(ErrorCode::input, name, ": the network has ", inputs.size(), " inputs", printable(names),
         "; expected one, an image of ", shape_text(kInputShape));
  }
  if (inputs[0].element_type != OnnxValue::kFloat32)
    fail(ErrorCode::input, name, ": input ", printable(inputs[0].name, 40), " has ONNX's element type ",
         inputs[0].element_type, ", expected ", OnnxValue::kFloat32, " (float32)");
  if (!fits(inputs[0].shape))
    fail(ErrorCode::input, name, ": input ", printable(inputs[0].name, 40), " is ", shape_text(inputs[0].shape),
         ", expected ", shape_text(kInputShape), ", as the public sky network has it");
}

std::vector<float> normalised(const Image& square) {
  std::vector<float> planes(3 * kPixels);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < kPixels; ++i)
      planes[c * kPixels + i] = (static_cast<float>(square.pixels[3 * i + c]) / 255 - kMean[c]) / kDeviation[c];
  return planes;
}

}  // namespace

void scores_of_output(std::span<float> values) {
  if (values.empty()) return;
  auto [low, high] = std::ranges::minmax(values);
  if (low < 0 || high > 1) {
    const auto logistic = [](float value) { return 1 / (1 + std::exp(-value)); };
    std::ranges::transform(values, values.begin(), logistic);
    low = logistic(low);
    high = logistic(high);
  }
  const float span = high - low;
  if (span < kLeastSpan) return;
  for (float& value : values) value = (value - low) / span;
}

SkyNetwork::SkyNetwork(const std::filesystem::path& path, int threads) : name_(path.string()), network_(path, threads) {
  check_interface(network_.interface(), name_);
  static_cast<void>(scores_of(Image(kSkyNetworkSize, kSkyNetworkSize)));
}

SkyMask SkyNetwork::mask_of(const Image& image) {
  const FloatMap scores =
      resize_bilinear(scores_of(resize_bilinear(image, kSkyNetworkSize, kSkyNetworkSize)), image.width, image.height);
  return mask_of_scores(scores.values, image.width, image.height);
}

FloatMap SkyNetwork::scores_of(const Image& square) {
  FloatMap map = network_.run(normalised(square), kSkyNetworkSize, kSkyNetworkSize);
  if (!std::ranges::all_of(map.values, [](float value) { return std::isfinite(value); }))
    fail(ErrorCode::input, name_, ": the network gives values that are not finite; take another --sky_model");
  scores_of_output(map.values);
  return map;
}

}  // namespace lingbot_map
