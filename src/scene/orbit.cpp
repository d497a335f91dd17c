#include <algorithm>

#include "scene/furniture.hpp"
#include "scene/walls.hpp"
#include "scene/world.hpp"

namespace lingbot_map::scene {
namespace {

constexpr float kQuarter = 1.57079633F;

class Exhibition {
 public:
  explicit Exhibition(std::uint64_t seed) : build_(seed), random_(build_.random.child()) {}

  World make() {
    radius_ = random_.uniform(1.3F, 3.6F);
    if (random_.chance(0.5F))
      build_field();
    else
      build_hall();
    const float reach = radius_ * random_.uniform(0.42F, 0.55F);
    float base = 0;
    if (random_.chance(0.45F)) base = build_stand(reach);
    build_group(reach, base);
    Walk walk;
    walk.style = Walk::Style::circle;
    walk.radius = radius_;
    walk.target = {0, -(base + reach * 0.35F), 0};
    walk.eye = base + reach * random_.uniform(0.5F, 1.2F);
    walk.step = radius_ * random_.uniform(0.022F, 0.045F);
    return {std::move(build_.scene), walk};
  }

 private:
  void build_field() {
    build_.weather(1.5F);
    const Spot middle;
    const int ground = build_.material(random_.chance(0.5F)   ? palette::grass(random_)
                                       : random_.chance(0.5F) ? palette::pavement(random_)
                                                              : palette::floor(random_));
    build_.box(middle, {0, -1, 0}, {600, 1, 600}, ground);
    for (int i = random_.integer(10, 22); i > 0; --i) {
      const float turn = random_.uniform(0, 4 * kQuarter);
      const Spot spot = Spot{0, 0, turn, 0}.beside(0, radius_ + random_.uniform(5.5F, 35));
      const float choice = random_.uniform();
      if (choice < 0.5F)
        furniture::tree(build_, spot, random_.uniform(2.5F, 8));
      else if (choice < 0.7F)
        build_.box(spot.beside(0, 5), {0, 0, 0}, {random_.uniform(4, 14), random_.uniform(3, 10), 5},
                   build_.material(palette::facade(random_)));
      else if (choice < 0.85F)
        furniture::things(build_, spot, 2, 1, 2, 1);
      else
        build_.ball(spot.beside(0, 30), {0, -2, 0},
                    {random_.uniform(8, 20), random_.uniform(4, 10), random_.uniform(8, 20)},
                    build_.material(palette::grass(random_)));
    }
  }

  void build_hall() {
    build_.scene.sky.ambient_above = build_.scene.sky.ambient_below = Colour{0.3F, 0.3F, 0.31F};
    const float half = radius_ * 1.25F + random_.uniform(0.6F, 2.5F);
    const float height = std::max(random_.uniform(2.8F, 4.5F), 1.6F + 0.9F * radius_);
    const Spot middle;
    build_.box(middle, {0, -0.1F, 0}, {2 * half, 0.1F, 2 * half}, build_.material(palette::floor(random_)));
    build_.box(middle, {0, height, 0}, {2 * half, 0.1F, 2 * half}, build_.material(palette::ceiling(random_)));
    const int wall = build_.material(palette::wall(random_));
    for (int side = 0; side < 4; ++side) {
      const Spot face = Spot{0, 0, static_cast<float>(side) * kQuarter, 0}.beside(0, half, 2 * kQuarter);
      const int own = random_.chance(0.4F) ? build_.material(palette::wall(random_)) : wall;
      build_wall(build_, face.beside(0, -0.1F), -half, half, height, 0.2F, {}, own);
      for (float at = -half + 0.8F; at < half - 0.8F; at += random_.uniform(1.3F, 2.6F)) {
        if (random_.chance(0.6F))
          furniture::hanging_picture(build_, face.beside(at, 0), random_.uniform(1.3F, 1.9F),
                                     random_.uniform(0.5F, 1.2F), random_.uniform(0.5F, 1.1F));
      }
      furniture::cupboard(build_, face.beside(random_.uniform(-0.5F, 0.5F) * half, 0.2F),
                          {random_.uniform(0.6F, 1.4F), random_.uniform(0.6F, 1.1F), 0.36F});
    }
    for (int i = random_.integer(2, 3); i > 0; --i) {
      const Colour colour = palette::hsv(random_.uniform(), random_.uniform(0, 0.25F), 1);
      const Float3 place = {random_.uniform(-0.6F, 0.6F) * half, height - 0.25F, random_.uniform(-0.6F, 0.6F) * half};
      build_.ball(middle, place, {0.1F, 0.1F, 0.1F}, build_.material(palette::glowing(colour, 2.5F)));
      build_.light(world_point(middle, place), colour * random_.uniform(0.6F, 1.2F), 2.5F, 4 * half, 0.05F);
    }
  }

  /// A table or a step under the things; the height of its top.
  float build_stand(float reach) {
    const Spot middle = {0, 0, random_.uniform(0, kQuarter), 0};
    if (random_.chance(0.6F)) {
      const float height = random_.uniform(0.5F, 0.9F);
      furniture::table(build_, middle, {reach * 1.45F, height, reach * 1.45F});
      return height;
    }
    const float height = random_.uniform(0.15F, 0.6F);
    build_.cylinder(middle, {0, 0, 0}, reach, height, build_.material(palette::thing(random_)));
    return height;
  }

  /// Things on the rings of a disc, the larger ones in the middle; some on top of others.
  void build_group(float reach, float base) {
    const float room = reach * (base > 0 ? 0.62F : 0.8F);
    pile({0, 0, random_.uniform(0, 6), base}, room * random_.uniform(0.3F, 0.42F));
    const int count = random_.integer(4, 7);
    const float start = random_.uniform(0, 6);
    for (int i = 0; i < count; ++i) {
      const float turn = start + 4 * kQuarter * static_cast<float>(i) / static_cast<float>(count);
      const float size = room * random_.uniform(0.14F, 0.24F);
      const float away = room * random_.uniform(0.68F, 0.8F);
      pile({std::sin(turn) * away, std::cos(turn) * away, random_.uniform(0, 6), base}, size);
    }
  }

  void pile(const Spot& spot, float half) {
    const int material = build_.material(palette::thing(random_));
    const float tall = half * random_.uniform(1, 2.2F);
    float top = tall;
    switch (random_.integer(0, 5)) {
      case 0: build_.ball(spot, {0, half, 0}, {half, half, half}, material); return;
      case 1: build_.cone(spot, {0, 0, 0}, half, tall, material); return;
      case 2: build_.cylinder(spot, {0, 0, 0}, half, tall, material); break;
      case 3:
        build_.leaning_box(spot, {0, half * 0.25F, 0}, {half * 1.1F, half * 1.1F, half * 1.1F}, material, 0.3F,
                           random_.uniform(0.3F, 0.8F));
        return;
      default: build_.box(spot, {0, 0, 0}, {half * 1.4F, tall, half * 1.2F}, material); break;
    }
    if (!random_.chance(0.5F)) return;
    const float small = half * random_.uniform(0.35F, 0.6F);
    const int other = build_.material(palette::thing(random_));
    const Spot above = spot.beside(0, 0, random_.uniform(0, 6), top);
    switch (random_.integer(0, 2)) {
      case 0: build_.ball(above, {0, small, 0}, {small, small, small}, other); break;
      case 1: build_.cone(above, {0, 0, 0}, small, small * 2, other); break;
      default: build_.box(above, {0, 0, 0}, {small * 1.4F, small, small * 1.3F}, other); break;
    }
  }

  Builder build_;
  Random random_;
  float radius_ = 2;
};

}  // namespace

World make_orbit(std::uint64_t seed) { return Exhibition(seed).make(); }

}  // namespace lingbot_map::scene
