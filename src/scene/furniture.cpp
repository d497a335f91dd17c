#include "scene/furniture.hpp"

#include <algorithm>

namespace lingbot_map::scene::furniture {

void table(Builder& build, const Spot& spot, Float3 size) {
  const int top =
      build.material(build.random.chance(0.7F) ? palette::wood(build.random) : palette::thing(build.random));
  const int leg = build.random.chance(0.5F) ? top : build.material(palette::metal(build.random));
  const float board = build.random.uniform(0.03F, 0.07F);
  const float height = size.y - board;
  if (build.random.chance(0.25F)) {
    const float radius = std::min(size.x, size.z) / 2;
    build.cylinder(spot, {0, height, 0}, radius, board, top);
    build.cylinder(spot, {0, 0, 0}, 0.06F, height, leg);
    build.cylinder(spot, {0, 0, 0}, radius * 0.6F, 0.04F, leg);
    return;
  }
  build.box(spot, {0, height, 0}, {size.x, board, size.z}, top);
  const float thick = build.random.uniform(0.04F, 0.08F);
  for (const float x : {-1.F, 1.F})
    for (const float z : {-1.F, 1.F})
      build.box(spot, {x * (size.x / 2 - thick), 0, z * (size.z / 2 - thick)}, {thick, height, thick}, leg);
}

void chair(Builder& build, const Spot& spot) {
  Random& random = build.random;
  const int frame = build.material(random.chance(0.6F) ? palette::wood(random) : palette::metal(random));
  const int seat = random.chance(0.5F) ? frame : build.material(palette::fabric(random));
  const float width = random.uniform(0.38F, 0.48F);
  const float height = random.uniform(0.42F, 0.5F);
  for (const float x : {-1.F, 1.F})
    for (const float z : {-1.F, 1.F})
      build.box(spot, {x * (width / 2 - 0.025F), 0, z * (width / 2 - 0.025F)}, {0.04F, height, 0.04F}, frame);
  build.box(spot, {0, height, 0}, {width, 0.05F, width}, seat);
  build.leaning_box(spot, {0, height + 0.1F, -width / 2 - 0.02F}, {width, random.uniform(0.3F, 0.55F), 0.04F}, seat, 0,
                    -0.1F);
}

void cupboard(Builder& build, const Spot& spot, Float3 size) {
  Random& random = build.random;
  const int body =
      build.material(random.chance(0.6F) ? palette::wood(random) : palette::plain(random, 0.6F, 0.4F, 0.95F));
  const int door =
      random.chance(0.5F) ? body : build.material(random.chance(0.5F) ? palette::wood(random) : palette::thing(random));
  const int knob = build.material(palette::metal(random));
  build.box(spot, {0, 0, 0}, size, body);
  const int columns = std::clamp(static_cast<int>(size.x / 0.5F), 1, 4);
  const int rows = random.integer(1, 3);
  const float wide = size.x / static_cast<float>(columns);
  const float tall = (size.y - 0.08F) / static_cast<float>(rows);
  for (int i = 0; i < columns; ++i) {
    for (int j = 0; j < rows; ++j) {
      const float x = (static_cast<float>(i) + 0.5F) * wide - size.x / 2;
      const float y = 0.06F + static_cast<float>(j) * tall;
      build.box(spot, {x, y, size.z / 2 + 0.008F}, {wide * 0.92F, tall * 0.92F, 0.016F}, door);
      build.ball(spot, {x + wide * 0.34F, y + tall * 0.5F, size.z / 2 + 0.03F}, {0.02F, 0.02F, 0.02F}, knob);
    }
  }
}

void shelf(Builder& build, const Spot& spot, Float3 size) {
  Random& random = build.random;
  const int wood = build.material(palette::wood(random));
  const int boards = std::max(2, static_cast<int>(size.y / random.uniform(0.32F, 0.5F)));
  const float gap = size.y / static_cast<float>(boards);
  for (const float x : {-1.F, 1.F}) build.box(spot, {x * size.x / 2, 0, 0}, {0.03F, size.y, size.z}, wood);
  build.box(spot, {0, 0, -size.z / 2 + 0.01F}, {size.x, size.y, 0.02F}, wood);
  int books[5];
  for (int& book : books)
    book = build.material(random.chance(0.6F) ? palette::plain(random, 1, 0.2F, 0.9F) : palette::thing(random));
  for (int i = 0; i <= boards; ++i) {
    const float y = static_cast<float>(i) * gap;
    build.box(spot, {0, y - 0.012F + (i == 0 ? 0.02F : 0), 0}, {size.x, 0.025F, size.z}, wood);
    if (i == boards) break;
    float x = -size.x / 2 + random.uniform(0.03F, 0.2F);
    while (x < size.x / 2 - 0.1F) {
      const float wide = random.uniform(0.04F, 0.22F);
      if (x + wide > size.x / 2 - 0.03F) break;
      build.box(spot, {x + wide / 2, y + 0.012F, random.uniform(-0.03F, 0.02F)},
                {wide, gap * random.uniform(0.4F, 0.85F), size.z * 0.75F}, random.pick(books));
      x += wide + (random.chance(0.3F) ? random.uniform(0.05F, 0.3F) : 0.005F);
    }
  }
}

void sofa(Builder& build, const Spot& spot, Float3 size) {
  Random& random = build.random;
  const int cover = build.material(palette::fabric(random));
  const int cushion = build.material(palette::fabric(random));
  build.box(spot, {0, 0.08F, 0}, {size.x, 0.32F, size.z}, cover);
  build.box(spot, {0, 0.08F, -size.z / 2 + 0.1F}, {size.x, size.y - 0.08F, 0.2F}, cover);
  for (const float x : {-1.F, 1.F}) build.box(spot, {x * (size.x / 2 - 0.08F), 0.08F, 0}, {0.16F, 0.5F, size.z}, cover);
  for (int i = random.integer(1, 3); i > 0; --i) {
    build.leaning_box(spot, {random.uniform(-0.35F, 0.35F) * size.x, 0.42F, -size.z / 2 + 0.3F}, {0.42F, 0.4F, 0.12F},
                      cushion, random.uniform(-0.3F, 0.3F), -0.3F);
  }
}

void bed(Builder& build, const Spot& spot, Float3 size) {
  Random& random = build.random;
  const int frame = build.material(palette::wood(random));
  build.box(spot, {0, 0.05F, 0}, {size.x, 0.25F, size.z}, frame);
  build.box(spot, {0, 0, -size.z / 2}, {size.x, size.y, 0.06F}, frame);
  build.box(spot, {0, 0.3F, 0.03F}, {size.x * 0.96F, 0.18F, size.z * 0.96F},
            build.material(palette::plain(random, 0.1F, 0.8F, 0.95F)));
  build.box(spot, {0, 0.47F, size.z * 0.15F}, {size.x, 0.05F, size.z * 0.65F}, build.material(palette::fabric(random)));
  const int pillow = build.material(palette::fabric(random));
  for (const float x : {-0.25F, 0.25F})
    build.ball(spot, {x * size.x, 0.53F, -size.z * 0.36F}, {size.x * 0.2F, 0.1F, 0.2F}, pillow);
}

void plant(Builder& build, const Spot& spot, float height) {
  Random& random = build.random;
  const float radius = height * random.uniform(0.12F, 0.18F);
  build.cylinder(spot, {0, 0, 0}, radius, height * 0.28F, build.material(palette::thing(random)));
  const int leaf = build.material(palette::leaves(random));
  build.cylinder(spot, {0, height * 0.28F, 0}, 0.02F, height * 0.3F, build.material(palette::bark(random)));
  for (int i = random.integer(3, 6); i > 0; --i) {
    const float size = height * random.uniform(0.1F, 0.2F);
    build.ball(spot,
               {random.uniform(-1, 1) * radius, height * random.uniform(0.5F, 0.85F), random.uniform(-1, 1) * radius},
               {size, size * random.uniform(0.6F, 1.3F), size}, leaf);
  }
}

void floor_lamp(Builder& build, const Spot& spot) {
  Random& random = build.random;
  const float height = random.uniform(1.2F, 1.7F);
  const int metal = build.material(palette::metal(random));
  build.cylinder(spot, {0, 0, 0}, 0.14F, 0.03F, metal);
  build.cylinder(spot, {0, 0, 0}, 0.015F, height, metal);
  const Colour light = palette::hsv(random.uniform(0.08F, 0.14F), random.uniform(0.1F, 0.4F), 1);
  build.cone(spot, {0, height - 0.1F, 0}, random.uniform(0.16F, 0.24F), 0.32F,
             build.material(palette::glowing(light, 1.2F)));
}

void things(Builder& build, const Spot& spot, float width, float depth, int count, float largest) {
  Random& random = build.random;
  for (int i = 0; i < count; ++i) {
    const float size = largest * random.uniform(0.35F, 1);
    const float height = size * random.uniform(0.5F, 1.6F);
    // Side by side along the longer way, so that no two share a place.
    const float slot = (static_cast<float>(i) + 0.5F) / static_cast<float>(count) - 0.5F;
    const float along = slot * (std::max(width, depth) - largest);
    const float across = random.uniform(-0.5F, 0.5F) * std::max(std::min(width, depth) - largest, 0.F);
    const Spot here = width >= depth ? spot.beside(along, across, random.uniform(0, 6))
                                     : spot.beside(across, along, random.uniform(0, 6));
    const int material = build.material(palette::thing(random));
    switch (random.integer(0, 4)) {
      case 0: build.ball(here, {0, size / 2, 0}, {size / 2, size / 2, size / 2}, material); break;
      case 1: build.cylinder(here, {0, 0, 0}, size / 2, height, material); break;
      case 2: build.cone(here, {0, 0, 0}, size / 2, height, material); break;
      default: build.box(here, {0, 0, 0}, {size, height, size * random.uniform(0.6F, 1)}, material); break;
    }
  }
}

void hanging_picture(Builder& build, const Spot& spot, float height, float width, float tall) {
  build.box(spot, {0, height - tall / 2, 0.015F}, {width, tall, 0.03F}, build.material(palette::picture(build.random)));
}

void car(Builder& build, const Spot& spot) {
  Random& random = build.random;
  Material paint = palette::plain(random, 0.9F, 0.2F, 0.95F);
  paint.gloss = 0.5F;
  paint.variation = 0.1F;
  const int body = build.material(paint);
  Material pane = palette::plain(random, 0.3F, 0.12F, 0.3F);
  pane.gloss = 0.7F;
  const int glass = build.material(pane);
  const int rubber = build.material(palette::plain(random, 0, 0.1F, 0.15F));
  const bool van = random.chance(0.25F);
  const float length = random.uniform(3.6F, 4.7F);
  const float width = random.uniform(1.65F, 1.85F);
  const float waist = random.uniform(0.75F, 0.95F);
  const float cabin = van ? length * 0.8F : length * random.uniform(0.45F, 0.55F);
  const float roof = van ? random.uniform(0.9F, 1.2F) : random.uniform(0.5F, 0.65F);
  build.box(spot, {0, 0.25F, 0}, {width, waist - 0.25F, length}, body);
  build.box(spot, {0, waist, -length * 0.06F}, {width * 0.92F, roof * 0.8F, cabin}, glass);
  build.box(spot, {0, waist + roof * 0.8F, -length * 0.06F}, {width * 0.92F, roof * 0.2F, cabin * 0.94F}, body);
  const float pillar = cabin / 2 - 0.02F;
  for (const float z : {-pillar, 0.F, pillar})
    build.box(spot, {0, waist, z - length * 0.06F}, {width * 0.93F, roof * 0.82F, 0.09F}, body);
  for (const float x : {-1.F, 1.F})
    for (const float z : {-1.F, 1.F})
      build.lying_cylinder(spot, {x * (width / 2 - 0.08F), 0.31F, z * length * 0.3F}, 0.31F, 0.2F, rubber);
  const int lamp = build.material(palette::glowing({0.9F, 0.85F, 0.7F}, 0.3F));
  const int tail = build.material(palette::glowing({0.6F, 0.03F, 0.03F}, 0.3F));
  for (const float x : {-1.F, 1.F}) {
    build.box(spot, {x * (width / 2 - 0.25F), waist - 0.25F, length / 2}, {0.3F, 0.13F, 0.04F}, lamp);
    build.box(spot, {x * (width / 2 - 0.2F), waist - 0.25F, -length / 2}, {0.25F, 0.13F, 0.04F}, tail);
  }
}

void tree(Builder& build, const Spot& spot, float height, float crown) {
  Random& random = build.random;
  const float trunk = std::max(height * random.uniform(0.3F, 0.5F), crown + height * 0.12F);
  build.cylinder(spot, {0, 0, 0}, height * random.uniform(0.018F, 0.03F), trunk + height * 0.2F,
                 build.material(palette::bark(random)));
  const int leaf = build.material(palette::leaves(random));
  if (random.chance(0.3F)) {
    for (const float at : {0.F, 0.28F, 0.52F})
      build.cone(spot, {0, std::max(height * 0.22F, crown) + height * at, 0}, height * (0.24F - at * 0.25F),
                 height * 0.42F, leaf);
    return;
  }
  for (int i = random.integer(3, 6); i > 0; --i) {
    const float size = height * random.uniform(0.12F, 0.22F);
    const float out = height * 0.13F;
    build.ball(spot,
               {random.uniform(-out, out), trunk + height * random.uniform(0.1F, 0.4F), random.uniform(-out, out)},
               {size, size * random.uniform(0.7F, 1), size}, leaf);
  }
}

void street_lamp(Builder& build, const Spot& spot) {
  Random& random = build.random;
  const float height = random.uniform(4, 6.5F);
  const int metal = build.material(palette::metal(random));
  build.cylinder(spot, {0, 0, 0}, 0.12F, 0.5F, metal);
  build.cylinder(spot, {0, 0, 0}, 0.06F, height, metal);
  build.box(spot, {0, height, 0.5F}, {0.2F, 0.1F, 1.2F}, metal);
}

}  // namespace lingbot_map::scene::furniture
