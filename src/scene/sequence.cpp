#include "scene/sequence.hpp"

#include <algorithm>
#include <numbers>

#include "base/message.hpp"

namespace lingbot_map::scene {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

void check_options(const SequenceOptions& o) {
  if (std::min(o.width, o.height) < Sequence::kLeastSide || std::max(o.width, o.height) > Sequence::kLargestSide) {
    fail(ErrorCode::usage, "scene: found the size ", o.width, "x", o.height, ", expected sides of ",
         Sequence::kLeastSide, " to ", Sequence::kLargestSide, " pixels");
  }
  if (o.frames < 1 || o.frames > Sequence::kMostFrames) {
    fail(ErrorCode::usage, "scene: found ", o.frames, " frames, expected 1 to ", Sequence::kMostFrames);
  }
  if (!(o.fov_horizontal == 0 || (o.fov_horizontal >= 10 * kDegree && o.fov_horizontal <= 150 * kDegree))) {
    fail(ErrorCode::usage, "scene: found a horizontal field of view of ", o.fov_horizontal / kDegree,
         " degrees, expected 10 to 150, or 0 for one by the seed");
  }
}

double chosen_fov(SceneKind kind, Random& random) {
  switch (kind) {
    case SceneKind::orbit: return random.uniform(45, 75) * kDegree;
    case SceneKind::street: return random.uniform(50, 90) * kDegree;
    default: return random.uniform(58, 95) * kDegree;
  }
}

/// The light, in the unit of the scene, that the renderer makes this grey value of at an exposure of 1.
float light_of(float grey) {
  const float tone = std::min(grey * grey, 0.9F);
  return tone / (1 - tone);  // but for the bright end
}

}  // namespace

Sequence::Sequence(const SequenceOptions& options) : options_(options) {
  check_options(options);
  Random random(options.seed * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(options.kind));
  const double chosen = chosen_fov(options.kind, random);
  fov_horizontal_ = options.fov_horizontal > 0 ? options.fov_horizontal : chosen;
  fov_vertical_ = 2 * std::atan(std::tan(fov_horizontal_ / 2) * options.height / options.width);
  intrinsics_ = intrinsics_from_fov(fov_vertical_, fov_horizontal_, options.width, options.height);
  find_path();
  expose();
}

void Sequence::find_path() {
  // A house so full of furniture that nobody can walk in it is left for another one.
  for (std::uint64_t attempt = 0; attempt < 64; ++attempt) {
    const std::uint64_t seed = Random(options_.seed ^ (attempt * 0xd1b54a32d192ed03)).bits() + attempt;
    world_ = make_world(options_.kind, attempt == 0 ? options_.seed : seed);
    if (auto path = make_camera_path(world_, seed, options_.frames)) {
      path_ = std::move(*path);
      return;
    }
  }
  fail(ErrorCode::internal, "internal error: no path through the ", name_of(options_.kind), " of seed ", options_.seed);
}

/// As a camera with a fixed exposure for the sequence: by the mean light of some frames.
void Sequence::expose() {
  constexpr int kLooks = 6;
  constexpr int kWidth = 32;
  constexpr int kHeight = 24;
  const Intrinsics small = intrinsics_from_fov(fov_vertical_, fov_horizontal_, kWidth, kHeight);
  double sum = 0;
  for (int i = 0; i < kLooks; ++i) {
    const auto frame = static_cast<std::size_t>(i) * path_.size() / kLooks;
    const Image picture = render(world_.scene, path_[frame], small, kWidth, kHeight).colour;
    for (std::size_t p = 0; p < picture.pixels.size(); p += 3) {
      const auto channel = [&](std::size_t c) { return light_of(static_cast<float>(picture.pixels[p + c]) / 255); };
      sum += std::min(0.3F * channel(0) + 0.6F * channel(1) + 0.1F * channel(2), 2.F);
    }
  }
  const double mean = sum / (kLooks * kWidth * kHeight);
  world_.scene.exposure = static_cast<float>(std::clamp(0.45 / std::max(mean, 0.01), 0.2, 8.0));
}

RenderedFrame Sequence::frame(int index) const {
  check(index >= 0 && index < frames(), "frame ", index, " of ", frames());
  return render(scene(), path_[index], intrinsics_, options_.width, options_.height);
}

void Sequence::draw_frame(int index, std::span<std::uint8_t> rgb, std::span<float> depth) const {
  check(index >= 0 && index < frames(), "frame ", index, " of ", frames());
  render_into(scene(), path_[index], intrinsics_, options_.width, options_.height, rgb, depth);
}

}  // namespace lingbot_map::scene
