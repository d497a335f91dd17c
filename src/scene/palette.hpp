#pragma once

#include "scene/material.hpp"
#include "scene/random.hpp"

/// Surfaces at random, each in the style of what it is for.
namespace lingbot_map::scene::palette {

/// hue in turns, saturation and value 0 to 1; linear RGB.
[[nodiscard]] Colour hsv(float hue, float saturation, float value) noexcept;
/// Of any hue, within bounds.
[[nodiscard]] Colour tint(Random& random, float saturation, float low_value, float high_value) noexcept;

[[nodiscard]] Material plain(Random& random, float saturation, float low_value, float high_value);
[[nodiscard]] Material glowing(Colour colour, float strength);
[[nodiscard]] Material wall(Random& random);
[[nodiscard]] Material ceiling(Random& random);
[[nodiscard]] Material floor(Random& random);
[[nodiscard]] Material wood(Random& random);
[[nodiscard]] Material fabric(Random& random);
/// Anything that a toy, a box or a vase may look like.
[[nodiscard]] Material thing(Random& random);
[[nodiscard]] Material picture(Random& random);
[[nodiscard]] Material metal(Random& random);
[[nodiscard]] Material leaves(Random& random);
[[nodiscard]] Material bark(Random& random);
[[nodiscard]] Material facade(Random& random);
[[nodiscard]] Material asphalt(Random& random);
[[nodiscard]] Material pavement(Random& random);
[[nodiscard]] Material grass(Random& random);

}  // namespace lingbot_map::scene::palette
