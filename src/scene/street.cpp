#include <algorithm>

#include "scene/furniture.hpp"
#include "scene/world.hpp"

namespace lingbot_map::scene {
namespace {

constexpr float kQuarter = 1.57079633F;
constexpr float kFreeCorner = 5;  ///< metres at crossings where nothing stands, so that a vehicle can turn

/// A block of houses with streets around it, and parts of the blocks across.
class Streets {
 public:
  explicit Streets(std::uint64_t seed) : build_(seed), random_(build_.random.child()) {}

  World make() {
    wide_ = random_.uniform(28, 60);
    deep_ = random_.uniform(28, 60);
    road_ = random_.uniform(6.5F, 9.5F);
    walk_ = random_.uniform(2.4F, 3.6F);
    street_ = road_ + 2 * walk_;
    low_ = random_.uniform(5, 9);
    high_ = low_ + random_.uniform(2, 12);
    build_.weather(1.5F);
    build_.scene.sky.haze = random_.uniform(120, 500);
    pavement_ = build_.material(palette::pavement(random_));
    for (int& facade : facades_) facade = build_.material(palette::facade(random_));
    for (int& door : doors_)
      door = build_.material(random_.chance(0.5F) ? palette::wood(random_) : palette::plain(random_, 0.9F, 0.2F, 0.8F));
    for (int& trim : trims_) trim = build_.material(palette::plain(random_, 0.3F, 0.3F, 0.95F));
    lay_ground();
    for (int x = -1; x <= 1; ++x)
      for (int z = -1; z <= 1; ++z) build_block(x, z);
    for (int side = 0; side < 4; ++side) furnish_street(side);
    return {std::move(build_.scene), choose_walk()};
  }

 private:
  /// The middle of a block's side, looking away from the block; half its length in `half`.
  Spot block_side(float centre_x, float centre_z, int side, float& half) const {
    const bool across = side % 2 == 1;
    half = (across ? deep_ : wide_) / 2;
    const float out = (across ? wide_ : deep_) / 2;
    return Spot{centre_x, centre_z, static_cast<float>(side) * kQuarter, 0}.beside(0, out);
  }

  void lay_ground() {
    const Spot centre;
    build_.box(centre, {0, -0.15F - 1, 0}, {700, 1, 700}, build_.material(palette::asphalt(random_)));
    const int paint = build_.material(palette::plain(random_, 0.1F, 0.8F, 0.95F));
    for (int side = 0; side < 4; ++side) {
      float half = 0;
      const Spot edge = block_side(0, 0, side, half);
      for (float at = -half; at < half; at += 4)
        build_.box(edge, {at, -0.151F, street_ / 2}, {1.8F, 0.01F, 0.14F}, paint);
      for (float at = 0; at < road_ - 0.4F; at += 0.9F) {  // a crossing
        build_.box(edge, {half - 2.5F, -0.151F, walk_ + 0.4F + at}, {2.4F, 0.01F, 0.45F}, paint);
      }
    }
  }

  void build_block(int column, int row) {
    const float x = static_cast<float>(column) * (wide_ + street_);
    const float z = static_cast<float>(row) * (deep_ + street_);
    build_.box({x, z, 0, 0}, {0, -0.15F, 0}, {wide_ + 2 * walk_, 0.15F, deep_ + 2 * walk_}, pavement_);
    for (int side = 0; side < 4; ++side) {
      const bool inner = column == 0 && row == 0;
      // Of other blocks, only what can be seen from the streets around the first one.
      const bool seen = inner || (side == 0 && row < 0) || (side == 1 && column < 0) || (side == 2 && row > 0) ||
                        (side == 3 && column > 0) || column == 0 || row == 0;
      const bool faces_ring = inner || (side == 0 && row == -1 && column == 0) ||
                              (side == 1 && column == -1 && row == 0) || (side == 2 && row == 1 && column == 0) ||
                              (side == 3 && column == 1 && row == 0);
      if (!seen && !random_.chance(0.6F)) continue;
      float half = 0;
      const Spot edge = block_side(x, z, side, half);
      build_row(edge, half, faces_ring);
    }
  }

  void build_row(const Spot& edge, float half, bool detailed) {
    float at = -half;
    while (at < half - 0.1F) {
      const float width = std::min(detailed ? random_.uniform(6, 15) : random_.uniform(12, 25), half - at);
      const float left = half - at - width < 4 ? half - at : width;
      if (!random_.chance(0.1F) || !detailed)
        build_house(edge.beside(at + left / 2, 0), left, detailed);
      else
        build_garden(edge.beside(at + left / 2, 0), left);
      at += left;
    }
  }

  void build_house(const Spot& front, float width, bool detailed) {
    const float height = random_.uniform(low_, high_);
    const float deep = random_.uniform(7, 9.5F);
    const float back = detailed && random_.chance(0.3F) ? random_.uniform(0.2F, 1) : 0;
    const Spot house = front.beside(0, -deep / 2 - back);
    const int wall = random_.pick(facades_);
    const int trim = random_.pick(trims_);
    build_.box(house, {0, 0, 0}, {width, height, deep}, wall);
    if (random_.chance(0.4F)) {
      const float ridge = std::min(width, deep) * 0.25F;
      build_.leaning_box(house, {0, height - ridge * 0.75F, 0}, {width - 0.1F, deep * 0.66F, deep * 0.66F},
                         build_.material(palette::wall(random_)), 0, 0.5F * kQuarter);
    } else {
      build_.box(house, {0, height, 0}, {width + 0.3F, 0.35F, deep + 0.4F}, trim);
    }
    if (!detailed) return;
    const Spot face = front.beside(0, -back);
    build_.box(face, {0, 0, 0.05F}, {width, random_.uniform(0.4F, 0.9F), 0.1F}, trim);
    if (random_.chance(0.6F)) build_.box(face, {0, random_.uniform(2.9F, 3.6F), 0.06F}, {width, 0.2F, 0.16F}, trim);
    const float door = random_.uniform(-0.3F, 0.3F) * width;
    build_.box(face, {door, 0, 0.06F}, {random_.uniform(1, 1.5F), random_.uniform(2.1F, 2.5F), 0.14F},
               random_.pick(doors_));
    build_.box(face, {door, 0, 0.25F}, {1.7F, 0.15F, 0.4F}, trim);
    const float other = door > 0 ? door - width * 0.4F : door + width * 0.4F;
    if (random_.chance(0.5F)) {
      build_.leaning_box(face, {other, 2.5F, 0.35F}, {std::min(3.F, width * 0.4F), 0.06F, 0.8F},
                         build_.material(palette::fabric(random_)), 0, -0.35F);
      Material window = palette::picture(random_);
      build_.box(face, {other, 0.7F, 0.06F}, {std::min(2.6F, width * 0.36F), 1.7F, 0.08F}, build_.material(window));
    }
    for (int floor = 1; height > 6 && random_.chance(0.4F) && floor < 3; ++floor) {
      const float y = 3.1F * static_cast<float>(floor);
      if (y + 1 > height) break;
      const float place = random_.uniform(-0.3F, 0.3F) * width;
      build_.box(face, {place, y, 0.45F}, {2.2F, 0.14F, 0.9F}, trim);
      build_.box(face, {place, y + 0.14F, 0.87F}, {2.2F, 0.85F, 0.05F}, random_.pick(doors_));
    }
    if (random_.chance(0.3F)) {
      const Spot sign = face.beside(door, 0.5F, kQuarter);
      build_.box(sign, {0, 2.8F, 0}, {0.8F, 0.7F, 0.08F}, build_.material(palette::picture(random_)));
    }
  }

  void build_garden(const Spot& front, float width) {
    build_.box(front, {0, 0, -4}, {width, 0.05F, 8}, build_.material(palette::grass(random_)));
    build_.box(front, {0, 0, -0.1F}, {width, random_.uniform(0.5F, 1.1F), 0.2F},
               build_.material(palette::wall(random_)));
    build_.box(front, {0, 0, -8.5F}, {width, random_.uniform(5, 9), 1}, random_.pick(facades_));
    for (int i = random_.integer(1, 3); i > 0; --i)
      furniture::tree(build_, front.beside(random_.uniform(-0.35F, 0.35F) * width, -random_.uniform(2.5F, 5.5F)),
                      random_.uniform(3.5F, 7));
  }

  /// Cars at the kerbs, trees, lamps and small things at the outer edge of the pavements.
  void furnish_street(int side) {
    float half = 0;
    const Spot near = block_side(0, 0, side, half);
    for (const bool across : {false, true}) {
      const float kerb = across ? street_ - walk_ : walk_;
      const float inward = across ? -1.F : 1.F;
      float at = -half + kFreeCorner + random_.uniform(0, 4);
      while (at < half - kFreeCorner) {
        if (random_.chance(0.55F)) {
          furniture::car(build_,
                         near.beside(at, kerb + inward * 1.05F, random_.chance(0.5F) ? kQuarter : -kQuarter, -0.15F));
        }
        at += random_.uniform(5.2F, 12);
      }
      at = -half + kFreeCorner + random_.uniform(0, 4);
      while (at < half - kFreeCorner) {
        const Spot spot = near.beside(at, kerb - inward * 0.45F, across ? 2 * kQuarter : 0);
        const float choice = random_.uniform();
        if (choice < 0.4F)
          furniture::tree(build_, spot, random_.uniform(3.5F, 6.5F), 2.3F);
        else if (choice < 0.65F)
          furniture::street_lamp(build_, spot);
        else if (choice < 0.85F)
          furniture::things(build_, spot, 0.9F, 0.4F, 1, 0.7F);
        else
          build_.cylinder(spot, {0, 0, 0}, 0.08F, 0.9F, random_.pick(trims_));
        at += random_.uniform(5, 11);
      }
    }
  }

  Walk choose_walk() {
    Walk walk;
    walk.style = Walk::Style::follow;
    walk.closed = true;
    const bool driving = random_.chance(0.6F);
    // The lane at the block's side, or its pavement: inside of what stands at the kerb.
    const float out = driving ? walk_ + road_ * 0.37F + 0.75F : walk_ * 0.38F;
    const float x = wide_ / 2 + out;
    const float z = deep_ / 2 + out;
    walk.line = {{-x, 0}, {-x, z}, {x, z}, {x, -z}, {-x, -z}};
    if (random_.chance(0.5F)) std::reverse(walk.line.begin(), walk.line.end());
    std::rotate(walk.line.begin(), walk.line.begin() + random_.integer(0, 4), walk.line.end());
    walk.vehicle = driving;
    walk.eye = driving ? random_.uniform(1.1F, 2) : random_.uniform(1.4F, 1.8F);
    walk.step = driving ? random_.uniform(0.25F, 0.7F) : random_.uniform(0.09F, 0.16F);
    walk.corner = driving ? 4 : 0.6F;
    return walk;
  }

  Builder build_;
  Random random_;
  float wide_ = 0, deep_ = 0, road_ = 0, walk_ = 0, street_ = 0, low_ = 0, high_ = 0;
  int pavement_ = 0;
  int facades_[8] = {};
  int doors_[4] = {};
  int trims_[4] = {};
};

}  // namespace

World make_street(std::uint64_t seed) { return Streets(seed).make(); }

}  // namespace lingbot_map::scene
