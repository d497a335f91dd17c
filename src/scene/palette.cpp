#include "scene/palette.hpp"

#include <algorithm>

namespace lingbot_map::scene::palette {
namespace {

Material of(Random& random, Pattern pattern, Colour base, Colour second, Colour third) {
  Material m;
  m.pattern = pattern;
  m.base = base;
  m.second = second;
  m.third = third;
  m.turned = random.chance(0.5F);
  m.variation = random.uniform(0.15F, 0.5F);
  m.seed = static_cast<std::uint32_t>(random.bits() >> 32);
  return m;
}

void set_periods(Material& m, float width, float height, float line) {
  m.width = width;
  m.height = height;
  m.line = line;
}

Colour darker(Colour c, float share) { return c * share; }

}  // namespace

Colour hsv(float hue, float saturation, float value) noexcept {
  const auto channel = [&](float shift) {
    const float turned = hue + shift;
    const float place = (turned - std::floor(turned)) * 6;
    const float pure = std::clamp(std::abs(place - 3) - 1, 0.F, 1.F);
    const float coded = value * (1 - saturation * (1 - pure));
    return coded * coded;
  };
  return {channel(0), channel(2.F / 3), channel(1.F / 3)};
}

Colour tint(Random& random, float saturation, float low_value, float high_value) noexcept {
  const float hue = random.uniform();
  return hsv(hue, saturation * random.uniform(0.3F, 1), random.uniform(low_value, high_value));
}

Material plain(Random& random, float saturation, float low_value, float high_value) {
  const Colour c = tint(random, saturation, low_value, high_value);
  Material m = of(random, Pattern::plain, c, c, c);
  m.gloss = random.chance(0.4F) ? random.uniform(0, 0.25F) : 0;
  return m;
}

Material glowing(Colour colour, float strength) {
  Material m;
  m.base = m.second = m.third = colour;
  m.variation = 0;
  m.glow = strength;
  return m;
}

Material wall(Random& random) {
  const bool neutral = random.chance(0.5F);
  const Colour base = neutral
                          ? hsv(random.uniform(0.03F, 0.17F), random.uniform(0.02F, 0.25F), random.uniform(0.7F, 0.97F))
                          : tint(random, 0.35F, 0.62F, 0.95F);
  const Colour other = mix(base, tint(random, 0.5F, 0.4F, 0.9F), random.uniform(0.3F, 1));
  switch (random.integer(0, 8)) {
    case 0: {
      Material m = of(random, Pattern::stripes, base, other, darker(other, 0.7F));
      set_periods(m, random.uniform(0.12F, 0.5F), 1, random.uniform(0.2F, 0.6F));
      m.turned = false;
      return m;
    }
    case 1: {
      Material m = of(random, Pattern::bricks, tint(random, 0.6F, 0.4F, 0.85F), base, base);
      set_periods(m, random.uniform(0.22F, 0.45F), random.uniform(0.08F, 0.18F), random.uniform(0.08F, 0.14F));
      m.turned = false;
      return m;
    }
    case 2: {
      Material m = of(random, Pattern::speckles, base, other, darker(other, 0.6F));
      m.width = m.height = random.uniform(0.12F, 0.4F);
      m.line = random.uniform(0.12F, 0.3F);
      return m;
    }
    case 3: {
      Material m = of(random, Pattern::planks, base, darker(base, 0.4F), mix(base, other, 0.6F));
      set_periods(m, random.uniform(1.2F, 2.5F), random.uniform(0.1F, 0.22F), 0.05F);
      return m;
    }
    case 4: {
      Material m = of(random, Pattern::tiles, base, darker(base, 0.5F), other);
      m.width = m.height = random.uniform(0.15F, 0.5F);
      m.line = random.uniform(0.02F, 0.05F);
      m.gloss = 0.2F;
      return m;
    }
    case 5: {
      Material m = of(random, Pattern::plaid, base, other, darker(other, 0.7F));
      m.width = m.height = random.uniform(0.2F, 0.6F);
      m.line = random.uniform(0.05F, 0.15F);
      return m;
    }
    default: {
      Material m = of(random, Pattern::clouds, base, mix(base, other, 0.45F), darker(base, 0.8F));
      m.width = m.height = random.uniform(0.4F, 1.4F);
      m.variation = 0.4F;
      return m;
    }
  }
}

Material ceiling(Random& random) {
  const Colour base = tint(random, 0.1F, 0.8F, 0.97F);
  Material m = of(random,
                  random.chance(0.5F)   ? Pattern::tiles
                  : random.chance(0.5F) ? Pattern::planks
                                        : Pattern::clouds,
                  base, darker(base, 0.5F), darker(base, 0.85F));
  m.width = m.height = random.uniform(0.5F, 1.2F);
  if (m.pattern == Pattern::planks) set_periods(m, 3, random.uniform(0.12F, 0.3F), 0.06F);
  if (m.pattern == Pattern::tiles) m.line = 0.02F;
  m.variation = 0.2F;
  return m;
}

Material floor(Random& random) {
  const Colour base = tint(random, 0.5F, 0.4F, 0.8F);
  const Colour other = tint(random, 0.4F, 0.3F, 0.9F);
  Material m;
  switch (random.integer(0, 6)) {
    case 0:
      m = of(random, Pattern::checks, base, other, other);
      m.width = m.height = random.uniform(0.5F, 1.2F);
      m.gloss = 0.2F;
      break;
    case 1:
      m = of(random, Pattern::tiles, base, darker(base, 0.35F), other);
      m.width = m.height = random.uniform(0.25F, 0.7F);
      m.line = random.uniform(0.02F, 0.05F);
      m.gloss = 0.25F;
      break;
    case 2:
      m = of(random, Pattern::clouds, base, mix(base, other, 0.5F), darker(base, 0.6F));
      m.width = m.height = random.uniform(0.1F, 0.6F);
      break;
    case 3:
      m = of(random, Pattern::marble, base, mix(base, other, 0.6F), darker(other, 0.5F));
      m.width = m.height = random.uniform(0.4F, 1);
      m.gloss = 0.3F;
      break;
    default:
      m = wood(random);
      set_periods(m, random.uniform(0.8F, 2), random.uniform(0.08F, 0.22F), 0.04F);
      m.gloss = random.uniform(0, 0.2F);
      break;
  }
  return m;
}

Material wood(Random& random) {
  const Colour base = hsv(random.uniform(0.03F, 0.12F), random.uniform(0.25F, 0.65F), random.uniform(0.35F, 0.85F));
  Material m = of(random, Pattern::planks, base, darker(base, 0.3F), darker(base, random.uniform(0.45F, 0.8F)));
  set_periods(m, random.uniform(0.6F, 1.6F), random.uniform(0.08F, 0.2F), 0.03F);
  m.gloss = random.chance(0.5F) ? 0.15F : 0;
  return m;
}

Material fabric(Random& random) {
  constexpr Pattern kPatterns[] = {Pattern::plaid, Pattern::stripes, Pattern::speckles, Pattern::clouds,
                                   Pattern::checks};
  const Colour base = tint(random, 0.8F, 0.35F, 0.85F);
  Material m =
      of(random, random.pick(kPatterns), base, tint(random, 0.7F, 0.3F, 0.95F), tint(random, 0.6F, 0.2F, 0.9F));
  m.width = m.height = random.uniform(0.08F, 0.35F);
  m.line = random.uniform(0.1F, 0.4F);
  return m;
}

Material thing(Random& random) {
  constexpr Pattern kPatterns[] = {Pattern::checks, Pattern::stripes, Pattern::plaid,  Pattern::tiles,
                                   Pattern::planks, Pattern::marble,  Pattern::clouds, Pattern::speckles,
                                   Pattern::bricks, Pattern::picture};
  const Colour base = tint(random, 1, 0.3F, 0.95F);
  Material m =
      of(random, random.pick(kPatterns), base, tint(random, 0.9F, 0.15F, 0.95F), tint(random, 0.9F, 0.15F, 0.95F));
  m.width = random.uniform(0.08F, 0.4F);
  m.height = m.width * random.uniform(0.5F, 1.5F);
  m.line = random.uniform(0.06F, 0.4F);
  if (m.pattern == Pattern::tiles || m.pattern == Pattern::bricks || m.pattern == Pattern::planks) m.line *= 0.3F;
  m.gloss = random.chance(0.5F) ? random.uniform(0, 0.5F) : 0;
  return m;
}

Material picture(Random& random) {
  Material m = of(random, Pattern::picture, {}, {}, tint(random, 0.5F, 0.1F, 0.95F));
  m.turned = false;
  m.variation = 0;
  return m;
}

Material metal(Random& random) {
  Material m = plain(random, 0.15F, 0.3F, 0.7F);
  m.gloss = 0.5F;
  return m;
}

Material leaves(Random& random) {
  const float hue = random.uniform(0.2F, 0.38F);
  Material m = of(random, random.chance(0.5F) ? Pattern::speckles : Pattern::clouds,
                  hsv(hue, random.uniform(0.4F, 0.8F), random.uniform(0.3F, 0.6F)), hsv(hue - 0.04F, 0.6F, 0.7F),
                  hsv(hue + 0.03F, 0.7F, 0.22F));
  m.width = m.height = random.uniform(0.12F, 0.4F);
  m.line = 0.4F;
  m.variation = 0.8F;
  return m;
}

Material bark(Random& random) {
  const Colour base = hsv(random.uniform(0.04F, 0.1F), 0.4F, random.uniform(0.25F, 0.5F));
  Material m = of(random, Pattern::clouds, base, darker(base, 0.5F), darker(base, 0.3F));
  set_periods(m, 0.06F, 0.3F, 0.1F);
  m.turned = false;
  return m;
}

Material facade(Random& random) {
  const Colour wall = random.chance(0.4F)
                          ? hsv(random.uniform(0, 0.1F), random.uniform(0.3F, 0.65F), random.uniform(0.45F, 0.8F))
                          : tint(random, 0.5F, 0.5F, 0.95F);
  Material m = of(random, Pattern::facade, wall, tint(random, 0.3F, 0.25F, 0.98F),
                  hsv(random.uniform(0.5F, 0.65F), 0.4F, random.uniform(0.5F, 0.9F)));
  set_periods(m, random.uniform(1.6F, 3.6F), random.uniform(2.6F, 3.8F), random.uniform(0.1F, 1));
  m.turned = false;
  m.variation = random.uniform(0.2F, 0.6F);
  return m;
}

Material asphalt(Random& random) {
  const Colour base = tint(random, 0.08F, 0.35F, 0.52F);
  Material m = of(random, Pattern::clouds, base, base * 1.3F, base * 0.6F);
  m.width = m.height = random.uniform(0.4F, 1.5F);
  m.variation = 0.7F;
  return m;
}

Material pavement(Random& random) {
  const Colour base = tint(random, 0.1F, 0.5F, 0.75F);
  Material m =
      of(random, random.chance(0.5F) ? Pattern::tiles : Pattern::bricks, base, darker(base, 0.5F), darker(base, 0.8F));
  set_periods(m, random.uniform(0.4F, 1), random.uniform(0.3F, 0.8F), 0.04F);
  m.variation = 0.5F;
  return m;
}

Material grass(Random& random) {
  const float hue = random.uniform(0.13F, 0.33F);
  Material m = of(random, Pattern::clouds, hsv(hue, 0.5F, random.uniform(0.4F, 0.65F)), hsv(hue - 0.05F, 0.5F, 0.7F),
                  hsv(hue, 0.55F, 0.3F));
  m.width = m.height = random.uniform(0.3F, 1.5F);
  m.variation = 0.8F;
  return m;
}

}  // namespace lingbot_map::scene::palette
