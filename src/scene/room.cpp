#include <algorithm>
#include <array>
#include <optional>

#include "scene/furniture.hpp"
#include "scene/walls.hpp"
#include "scene/world.hpp"

namespace lingbot_map::scene {
namespace {

constexpr float kQuarter = 1.57079633F;
constexpr float kLeastSide = 2.9F;

/// A hole in the line x = at or z = at.
struct HouseOpening {
  bool across_x = false;  ///< the line is x = at, and the opening lies along z
  float at = 0;
  Opening opening;
};

/// One side of a room: a spot on its inner face that looks into the room, and how far the wall reaches to either side.
struct Side {
  Spot spot;
  float half = 0;  ///< metres
  std::vector<Opening> openings;
};

class House {
 public:
  explicit House(std::uint64_t seed) : build_(seed), random_(build_.random.child()) {}

  World make() {
    height_ = random_.uniform(2.4F, 3.3F);
    thickness_ = random_.uniform(0.12F, 0.22F);
    door_high_ = random_.uniform(2, 2.2F);
    frame_ =
        build_.material(random_.chance(0.5F) ? palette::wood(random_) : palette::plain(random_, 0.2F, 0.7F, 0.95F));
    const float width = random_.uniform(5, 12.5F);
    const float depth = random_.uniform(4.5F, 10);
    const GroundArea whole = {0, 0, width, depth};
    build_.weather(1.6F);
    // Little of the sky's light comes in.
    Sky& sky = build_.scene.sky;
    const Colour inside = mix(sky.ambient_above, Colour{0.5F, 0.5F, 0.5F}, 0.6F) * random_.uniform(0.35F, 0.6F);
    sky.ambient_above = inside;
    sky.ambient_below = inside * 0.85F;
    cut_windows(whole);
    divide(whole, random_.integer(1, 5));
    for (const GroundArea& room : rooms_) build_room(room);
    for (const HouseOpening& hole : openings_) {
      const float along = hole.opening.middle;
      const Spot spot = hole.across_x ? Spot{hole.at, along, kQuarter, 0} : Spot{along, hole.at, 0, 0};
      Opening own = hole.opening;
      own.middle = 0;
      build_frame(build_, spot, own, thickness_, frame_);
    }
    build_outside(whole);
    Walk walk;
    walk.style = Walk::Style::visit;
    walk.areas = rooms_;
    walk.closed = random_.chance(0.5F);
    walk.eye = random_.chance(0.2F) ? random_.uniform(0.7F, 1.2F) : random_.uniform(1.3F, 1.75F);
    walk.step = random_.uniform(0.05F, 0.12F);
    walk.corner = 0.3F;
    return {std::move(build_.scene), walk};
  }

 private:
  bool near_opening(bool across_x, float at, float from, float to, float low, float high) const {
    // Openings in walls that the new wall would touch: those that lie along the other direction.
    return std::ranges::any_of(openings_, [&](const HouseOpening& hole) {
      if (hole.across_x == across_x) return false;
      const bool touches = hole.at > from - 0.1F && hole.at < to + 0.1F;
      return touches && hole.opening.begin() < high && hole.opening.end() > low && at > hole.opening.begin() - 0.35F &&
             at < hole.opening.end() + 0.35F;
    });
  }

  void divide(const GroundArea& area, int rooms) {
    const float wide = area.high_x - area.low_x;
    const float deep = area.high_z - area.low_z;
    const bool across_x = wide > deep;
    const float low = (across_x ? area.low_x : area.low_z) + kLeastSide;
    const float high = (across_x ? area.high_x : area.high_z) - kLeastSide;
    const float from = across_x ? area.low_z : area.low_x;
    const float to = across_x ? area.high_z : area.high_x;
    for (int attempt = 0; rooms > 1 && high > low && attempt < 12; ++attempt) {
      const float at = random_.uniform(low, high);
      if (near_opening(across_x, at, from, to, low - kLeastSide, high + kLeastSide)) continue;
      const float width = random_.uniform(0.95F, std::min(2.2F, (to - from) * 0.5F));
      const float middle = random_.uniform(from + 0.5F + width / 2, to - 0.5F - width / 2);
      openings_.push_back({across_x, at, {middle, width, 0, door_high_}});
      GroundArea first = area;
      GroundArea second = area;
      (across_x ? first.high_x : first.high_z) = at;
      (across_x ? second.low_x : second.low_z) = at;
      divide(first, (rooms + 1) / 2);
      divide(second, rooms / 2);
      return;
    }
    rooms_.push_back(area);
  }

  void cut_windows(const GroundArea& whole) {
    const float sill = random_.uniform(0.7F, 1.1F);
    const float top = random_.uniform(1.9F, 2.2F);
    for (const bool across_x : {false, true}) {
      for (const bool far : {false, true}) {
        const float at = across_x ? (far ? whole.high_x : whole.low_x) : (far ? whole.high_z : whole.low_z);
        const float to = across_x ? whole.high_z : whole.high_x;
        float along = random_.uniform(0.6F, 1.5F);
        while (random_.chance(0.75F)) {
          const float width = random_.uniform(0.8F, 1.9F);
          if (along + width > to - 0.6F) break;
          openings_.push_back({across_x, at, {along + width / 2, width, sill, top}});
          along += width + random_.uniform(1, 2.5F);
        }
      }
    }
  }

  std::array<Side, 4> sides_of(const GroundArea& r) const {
    const float cx = (r.low_x + r.high_x) / 2;
    const float cz = (r.low_z + r.high_z) / 2;
    const float inset = thickness_ / 2;
    std::array<Side, 4> sides = {Side{{cx, r.low_z + inset, 0, 0}, (r.high_x - r.low_x) / 2, {}},
                                 Side{{r.low_x + inset, cz, kQuarter, 0}, (r.high_z - r.low_z) / 2, {}},
                                 Side{{cx, r.high_z - inset, 2 * kQuarter, 0}, (r.high_x - r.low_x) / 2, {}},
                                 Side{{r.high_x - inset, cz, -kQuarter, 0}, (r.high_z - r.low_z) / 2, {}}};
    const float lines[4] = {r.low_z, r.low_x, r.high_z, r.high_x};
    for (int i = 0; i < 4; ++i) {
      const bool across_x = i % 2 == 1;
      for (const HouseOpening& hole : openings_) {
        if (hole.across_x != across_x || hole.at != lines[i]) continue;
        Opening own = hole.opening;
        // The spot's right is +x, -z, -x, +z.
        const float centre = across_x ? cz : cx;
        own.middle = (i == 0 || i == 3) ? own.middle - centre : centre - own.middle;
        if (std::abs(own.middle) < sides[i].half) sides[i].openings.push_back(own);
      }
      std::ranges::sort(sides[i].openings, {}, &Opening::middle);
    }
    return sides;
  }

  void build_room(const GroundArea& r) {
    const float wide = r.high_x - r.low_x;
    const float deep = r.high_z - r.low_z;
    const Spot middle = {(r.low_x + r.high_x) / 2, (r.low_z + r.high_z) / 2, 0, 0};
    build_.box(middle, {0, -0.1F, 0}, {wide, 0.1F, deep}, build_.material(palette::floor(random_)));
    build_.box(middle, {0, height_, 0}, {wide, 0.1F, deep}, build_.material(palette::ceiling(random_)));
    const int wall = build_.material(palette::wall(random_));
    const int accent = random_.chance(0.4F) ? build_.material(palette::wall(random_)) : wall;
    const int skirting = build_.material(palette::plain(random_, 0.3F, 0.3F, 0.95F));
    taken_.clear();
    std::array<Side, 4> sides = sides_of(r);
    for (int i = 0; i < 4; ++i) {
      const Side& side = sides[i];
      build_wall(build_, side.spot.beside(0, -thickness_ / 4), -side.half, side.half, height_, thickness_ / 2,
                 side.openings, i == 0 ? accent : wall);
      std::vector<Opening> doors;
      std::ranges::copy_if(side.openings, std::back_inserter(doors), [](const Opening& o) { return o.low <= 0; });
      build_wall(build_, side.spot.beside(0, 0.006F), -side.half, side.half, 0.09F, 0.012F, doors, skirting);
      for (const Opening& door : doors) take(side.spot.beside(door.middle, 0.6F), door.width + 0.3F, 1.5F);
    }
    light_room(middle, wide, deep);
    for (const Side& side : sides) furnish_side(side);
    furnish_middle(middle, wide, deep);
  }

  void light_room(const Spot& middle, float wide, float deep) {
    const Colour colour = palette::hsv(random_.uniform(0.05F, 0.17F), random_.uniform(0.05F, 0.35F), 1);
    const float x = random_.uniform(-0.15F, 0.15F) * wide;
    const float z = random_.uniform(-0.15F, 0.15F) * deep;
    const float drop = random_.uniform(0.08F, 0.5F);
    const int glow = build_.material(palette::glowing(colour, 2.5F));
    const Float3 place = {x, height_ - drop, z};
    switch (random_.integer(0, 2)) {
      case 0: build_.ball(middle, place, {0.14F, 0.14F, 0.14F}, glow); break;
      case 1: build_.cylinder(middle, place, 0.2F, 0.08F, glow); break;
      default: build_.box(middle, {x, height_ - 0.06F, z}, {0.9F, 0.05F, 0.25F}, glow); break;
    }
    build_.light(world_point(middle, {x, height_ - drop - 0.12F, z}), colour * random_.uniform(0.9F, 1.6F), 2.2F, 9,
                 0.05F);
  }

  /// Whether a thing of this size fits; then its place is taken. A round bound is enough for turned things.
  bool take(const Spot& spot, float width, float depth) {
    const float c = std::abs(std::cos(spot.yaw));
    const float s = std::abs(std::sin(spot.yaw));
    const float half_x = (c * width + s * depth) / 2;
    const float half_z = (s * width + c * depth) / 2;
    const GroundArea own = {spot.x - half_x, spot.z - half_z, spot.x + half_x, spot.z + half_z};
    for (const GroundArea& other : taken_) {
      if (own.low_x < other.high_x && other.low_x < own.high_x && own.low_z < other.high_z && other.low_z < own.high_z)
        return false;
    }
    taken_.push_back(own);
    return true;
  }

  static bool under_window(const Side& side, float at, float width) {
    return std::ranges::any_of(side.openings, [&](const Opening& o) {
      return o.begin() < at + width / 2 + 0.1F && o.end() > at - width / 2 - 0.1F;
    });
  }

  void furnish_side(const Side& side) {
    float at = -side.half + random_.uniform(0.15F, 0.6F);
    while (at < side.half - 0.5F) {
      const float width = random_.uniform(0.5F, 1.9F);
      const float middle = at + width / 2;
      if (middle + width / 2 > side.half - 0.15F) break;
      const bool low_only = under_window(side, middle, width);
      if (random_.chance(0.72F)) place_at_wall(side.spot.beside(middle, 0), width, low_only);
      if (!low_only && random_.chance(0.5F)) {
        const float tall = random_.uniform(0.35F, 0.9F);
        furniture::hanging_picture(build_, side.spot.beside(middle, 0), random_.uniform(1.45F, 1.75F),
                                   std::min(width, random_.uniform(0.4F, 1.3F)), tall);
      }
      at += width + random_.uniform(0.1F, 0.7F);
    }
  }

  void place_at_wall(const Spot& wall, float width, bool low_only) {
    const float deep = random_.uniform(0.3F, 0.6F);
    const Spot spot = wall.beside(0, deep / 2 + 0.03F);
    const auto fits = [&](float depth) { return take(wall.beside(0, depth / 2), width + 0.05F, depth + 0.1F); };
    switch (random_.integer(0, low_only ? 4 : 7)) {
      case 0:
        if (fits(deep)) {
          const float height = random_.uniform(0.5F, 0.85F);
          furniture::cupboard(build_, spot, {width, height, deep});
          furniture::things(build_, {spot.x, spot.z, spot.yaw, height}, width * 0.9F, deep * 0.7F,
                            random_.integer(1, 3), 0.25F);
        }
        break;
      case 1:
        if (width > 1.1F && fits(0.85F))
          furniture::sofa(build_, wall.beside(0, 0.46F), {width, random_.uniform(0.7F, 0.9F), 0.85F});
        break;
      case 2:
        if (width > 0.9F && fits(1.3F)) {
          const float height = random_.uniform(0.68F, 0.78F);
          furniture::table(build_, wall.beside(0, 0.36F), {width, height, 0.65F});
          furniture::chair(
              build_, wall.beside(random_.uniform(-0.2F, 0.2F), 0.9F, 2 * kQuarter + random_.uniform(-0.4F, 0.4F)));
          furniture::things(build_, wall.beside(0, 0.33F, 0, height), width * 0.9F, 0.4F, random_.integer(1, 4), 0.2F);
        }
        break;
      case 3:
        if (fits(0.5F)) furniture::things(build_, spot, width, 0.4F, random_.integer(1, 2), 0.45F);
        break;
      case 4:
        if (width > 1.2F && fits(2))
          furniture::bed(build_, wall.beside(0, 1.05F), {width, random_.uniform(0.7F, 1.1F), 2});
        break;
      case 5:
        if (fits(deep)) furniture::cupboard(build_, spot, {width, random_.uniform(1.2F, 2.1F), deep});
        break;
      case 6:
        if (fits(0.35F)) furniture::shelf(build_, wall.beside(0, 0.2F), {width, random_.uniform(0.9F, 2.1F), 0.32F});
        break;
      default:
        if (fits(0.5F)) {
          if (random_.chance(0.5F))
            furniture::plant(build_, spot, random_.uniform(0.7F, 1.6F));
          else
            furniture::floor_lamp(build_, spot);
        }
        break;
    }
  }

  void furnish_middle(const Spot& middle, float wide, float deep) {
    if (random_.chance(0.5F)) {
      build_.box(middle, {0, 0, 0}, {wide * random_.uniform(0.35F, 0.6F), 0.012F, deep * random_.uniform(0.35F, 0.6F)},
                 build_.material(palette::fabric(random_)));
    }
    if (wide < 3.6F || deep < 3.6F || !random_.chance(0.75F)) return;
    const Spot spot =
        middle.beside(random_.uniform(-0.3F, 0.3F), random_.uniform(-0.3F, 0.3F), random_.uniform(-0.5F, 0.5F));
    const float width = random_.uniform(0.9F, std::min(1.8F, wide * 0.36F));
    const float depth = random_.uniform(0.7F, 1);
    if (!take(spot, width + 0.9F, depth + 0.9F)) return;
    const bool low = random_.chance(0.3F);
    const float height = low ? random_.uniform(0.35F, 0.5F) : random_.uniform(0.7F, 0.8F);
    furniture::table(build_, spot, {width, height, depth});
    furniture::things(build_, spot.beside(0, 0, 0, height), width * 0.8F, depth * 0.6F, random_.integer(1, 4), 0.22F);
    for (int i = low ? 0 : random_.integer(1, 4); i > 0; --i) {
      const float side = i % 2 == 0 ? 1.F : -1.F;
      furniture::chair(build_, spot.beside((i > 2 ? 0.25F : -0.25F) * width, side * (depth / 2 + 0.12F),
                                           (side > 0 ? 2 * kQuarter : 0) + random_.uniform(-0.3F, 0.3F)));
    }
  }

  void build_outside(const GroundArea& whole) {
    const Spot middle = {(whole.low_x + whole.high_x) / 2, (whole.low_z + whole.high_z) / 2, 0, 0};
    build_.box(middle, {0, -1.4F, 0}, {400, 1, 400}, build_.material(palette::grass(random_)));
    for (int i = random_.integer(6, 14); i > 0; --i) {
      const float turn = random_.uniform(0, 4 * kQuarter);
      const float away = random_.uniform(14, 40);
      const Spot spot = {middle.x + std::sin(turn) * away, middle.z + std::cos(turn) * away, turn, -0.4F};
      if (random_.chance(0.6F)) {
        furniture::tree(build_, spot, random_.uniform(4, 9));
      } else {
        build_.box(spot, {0, 0, 0}, {random_.uniform(6, 14), random_.uniform(4, 12), 7},
                   build_.material(palette::facade(random_)));
      }
    }
  }

  Builder build_;
  Random random_;
  float height_ = 0;
  float thickness_ = 0;
  float door_high_ = 0;
  int frame_ = 0;
  std::vector<GroundArea> rooms_;
  std::vector<HouseOpening> openings_;
  std::vector<GroundArea> taken_;  ///< in the room at work
};

}  // namespace

World make_room(std::uint64_t seed) { return House(seed).make(); }

}  // namespace lingbot_map::scene
