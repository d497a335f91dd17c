#include "scene/builder.hpp"

namespace lingbot_map::scene {
namespace {

constexpr float kQuarter = 1.57079633F;

Float3 right_of(float yaw) { return {std::cos(yaw), 0, -std::sin(yaw)}; }
Float3 forward_of(float yaw) { return {std::sin(yaw), 0, std::cos(yaw)}; }

}  // namespace

Spot Spot::beside(float right, float forward, float turn, float up) const noexcept {
  const Float3 a = right_of(yaw);
  const Float3 b = forward_of(yaw);
  return {x + a.x * right + b.x * forward, z + a.z * right + b.z * forward, yaw + turn, base + up};
}

Float3 world_point(const Spot& spot, Float3 place) noexcept {
  const Spot there = spot.beside(place.x, place.z);
  return {there.x, -(spot.base + place.y), there.z};
}

int Builder::material(const Material& material) {
  scene.materials.push_back(material);
  return static_cast<int>(scene.materials.size()) - 1;
}

void Builder::add(Shape shape, Float3 centre, Float3 half, const Spot& spot, float turn, int material) {
  const float yaw = spot.yaw + turn;
  scene.primitives.push_back({shape, material, centre, half, {right_of(yaw), Float3{0, -1, 0}, forward_of(yaw)}});
}

void Builder::box(const Spot& spot, Float3 place, Float3 size, int material, float turn) {
  place.y += size.y / 2;
  add(Shape::box, world_point(spot, place), size * 0.5F, spot, turn, material);
}

void Builder::leaning_box(const Spot& spot, Float3 place, Float3 size, int material, float turn, float lean) {
  box(spot, place, size, material, turn);
  Primitive& solid = scene.primitives.back();
  const Float3 up = solid.axes[1];
  const Float3 forward = solid.axes[2];
  solid.axes[1] = up * std::cos(lean) + forward * std::sin(lean);
  solid.axes[2] = forward * std::cos(lean) - up * std::sin(lean);
}

void Builder::cylinder(const Spot& spot, Float3 place, float radius, float height, int material) {
  place.y += height / 2;
  add(Shape::cylinder, world_point(spot, place), {radius, height / 2, radius}, spot, 0, material);
}

void Builder::lying_cylinder(const Spot& spot, Float3 place, float radius, float length, int material, float turn) {
  add(Shape::cylinder, world_point(spot, place), {radius, length / 2, radius}, spot, turn, material);
  Primitive& solid = scene.primitives.back();
  solid.axes = {solid.axes[1], solid.axes[0], solid.axes[2]};
}

void Builder::cone(const Spot& spot, Float3 place, float radius, float height, int material) {
  place.y += height / 2;
  add(Shape::cone, world_point(spot, place), {radius, height / 2, radius}, spot, 0, material);
}

void Builder::ball(const Spot& spot, Float3 place, Float3 half, int material) {
  add(Shape::ball, world_point(spot, place), half, spot, 0, material);
}

void Builder::light(Float3 position, Colour colour, float fade, float reach, float spread) {
  Light light;
  light.position = position;
  light.colour = colour;
  light.fade = fade;
  light.reach = reach;
  light.spread = spread;
  scene.lights.push_back(light);
}

void Builder::sun(Float3 direction, Colour colour) {
  constexpr float kDistance = 300;
  light(normalized(direction) * kDistance, colour, 1e6F, 1e6F, 0.02F);
}

bool Builder::weather(float brightness) {
  Sky& sky = scene.sky;
  sky.seed = static_cast<std::uint32_t>(random.bits() >> 32);
  const float turn = random.uniform(0, 4 * kQuarter);
  const float height = random.uniform(0.35F, 1.2F);
  sky.sun_direction = {std::sin(turn) * std::cos(height), -std::sin(height), std::cos(turn) * std::cos(height)};
  const bool sunny = random.chance(0.75F);
  const float warmth = random.uniform(0, 1) * (1.2F - height);
  const float b = brightness;
  sky.zenith = palette::hsv(random.uniform(0.56F, 0.64F), random.uniform(0.3F, 0.75F), random.uniform(0.55F, 0.9F)) * b;
  sky.horizon = mix(palette::hsv(random.uniform(0.54F, 0.62F), 0.15F, random.uniform(0.8F, 0.97F)),
                    palette::hsv(random.uniform(0.04F, 0.11F), 0.4F, 0.95F), warmth) *
                b;
  sky.cloud = Colour{1, 0.98F, 0.96F} * (b * random.uniform(0.8F, 1.2F));
  sky.cloudiness = sunny ? random.uniform(0.2F, 0.65F) : random.uniform(0.7F, 1);
  const Colour light = mix(Colour{1, 0.96F, 0.9F}, Colour{1, 0.7F, 0.42F}, warmth);
  sky.ambient_above = mix(sky.zenith, sky.horizon, 0.6F) * random.uniform(0.5F, 0.8F);
  sky.ambient_below = mix(sky.horizon, Colour{0.5F, 0.45F, 0.4F} * b, 0.5F) * random.uniform(0.25F, 0.45F);
  if (!sunny) {
    sky.zenith = mix(sky.zenith, Colour{0.55F, 0.6F, 0.66F} * b, 0.8F);
    sky.ambient_above = sky.ambient_above * 1.5F;
    sky.ambient_below = sky.ambient_below * 1.4F;
  } else {
    sky.sun_glow = light * b;
  }
  sun(sky.sun_direction, light * (b * (sunny ? random.uniform(1.3F, 2.2F) : 0.35F)));
  return sunny;
}

}  // namespace lingbot_map::scene
