#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "scene/furniture.hpp"
#include "scene/walls.hpp"
#include "scene/world.hpp"

namespace lingbot_map::scene {
namespace {

constexpr float kQuarter = 1.57079633F;

using Cell = std::pair<int, int>;
constexpr std::array<Cell, 4> kWays = {Cell{0, 1}, Cell{1, 0}, Cell{0, -1}, Cell{-1, 0}};

/// Corridors on a grid whose cells are as wide as a corridor.
class Corridors {
 public:
  explicit Corridors(std::uint64_t seed) : build_(seed), random_(build_.random.child()) {}

  World make() {
    cell_ = random_.uniform(1.9F, 3.2F);
    height_ = random_.uniform(2.3F, 3.3F);
    choose_style();
    const bool ring = random_.chance(0.4F);
    if (ring)
      lay_ring();
    else
      lay_line();
    build_.scene.sky.ambient_above = build_.scene.sky.ambient_below = Colour{0.2F, 0.2F, 0.21F};
    for (std::size_t i = 0; i < path_.size(); ++i) build_cell(path_[i], i);
    Walk walk;
    walk.style = Walk::Style::follow;
    walk.closed = ring;
    float aside = 0;
    for (const Cell& cell : path_) {
      aside = std::clamp(aside + random_.uniform(-0.15F, 0.15F), -0.1F * cell_, 0.1F * cell_);
      walk.line.push_back({cell.first * cell_ + aside, cell.second * cell_ + aside});
    }
    walk.eye = random_.chance(0.25F) ? random_.uniform(0.5F, 1.1F) : random_.uniform(1.35F, 1.75F);
    walk.step = random_.uniform(0.06F, 0.15F);
    walk.corner = 0.5F;
    return {std::move(build_.scene), walk};
  }

 private:
  void choose_style() {
    floor_ = build_.material(palette::floor(random_));
    ceiling_ = build_.material(palette::ceiling(random_));
    for (int& wall : walls_) wall = build_.material(palette::wall(random_));
    skirting_ = build_.material(palette::plain(random_, 0.4F, 0.2F, 0.9F));
    for (int& door : doors_)
      door = build_.material(random_.chance(0.5F) ? palette::wood(random_) : palette::plain(random_, 0.8F, 0.3F, 0.9F));
    frame_ = build_.material(palette::plain(random_, 0.3F, 0.3F, 0.95F));
    band_ = build_.material(palette::plain(random_, 0.8F, 0.3F, 0.9F));
    lamp_colour_ = palette::hsv(random_.uniform(0.05F, 0.6F), random_.uniform(0.02F, 0.2F), 1);
    lamp_ = build_.material(palette::glowing(lamp_colour_, 3));
    has_band_ = random_.chance(0.4F);
    lamp_every_ = static_cast<std::size_t>(random_.integer(2, 3));
  }

  void lay_ring() {
    const int wide = random_.integer(3, 6);
    const int deep = random_.integer(3, 8);
    for (int z = 0; z < deep; ++z) path_.push_back({0, z});
    for (int x = 0; x < wide; ++x) path_.push_back({x, deep});
    for (int z = deep; z > 0; --z) path_.push_back({wide, z});
    for (int x = wide; x > 0; --x) path_.push_back({x, 0});
    cells_.insert(path_.begin(), path_.end());
  }

  /// Straight parts and turns, not through itself. Turning back is left out, so it never meets its beginning.
  void lay_line() {
    Cell at = {0, 0};
    std::size_t way = 0;
    int lean = 0;
    path_.push_back(at);
    for (int part = random_.integer(4, 8); part > 0; --part) {
      for (int steps = random_.integer(3, 7); steps > 0; --steps) {
        at = {at.first + kWays[way].first, at.second + kWays[way].second};
        path_.push_back(at);
      }
      // Only forward, right and left of the first direction.
      if (way == 0) {
        lean = random_.chance(0.5F) ? 1 : -1;
        way = lean > 0 ? 1 : 3;
      } else {
        way = 0;
      }
    }
    cells_.insert(path_.begin(), path_.end());
  }

  void build_cell(const Cell& cell, std::size_t number) {
    const Spot middle = {cell.first * cell_, cell.second * cell_, 0, 0};
    build_.box(middle, {0, -0.1F, 0}, {cell_, 0.1F, cell_}, floor_);
    build_.box(middle, {0, height_, 0}, {cell_, 0.1F, cell_}, ceiling_);
    for (int i = 0; i < 4; ++i) {
      if (cells_.contains({cell.first + kWays[i].first, cell.second + kWays[i].second})) continue;
      // From the wall back into the corridor.
      const Spot wall =
          middle.beside(kWays[i].first * cell_ / 2, kWays[i].second * cell_ / 2, static_cast<float>(i + 2) * kQuarter);
      build_side(wall, walls_[(number / 5 + static_cast<std::size_t>(i)) % std::size(walls_)]);
    }
    if (number % lamp_every_ == 0) {
      build_.box(middle, {0, height_ - 0.06F, 0}, {cell_ * 0.35F, 0.05F, 0.25F}, lamp_);
      build_.light(world_point(middle, {0, height_ - 0.2F, 0}), lamp_colour_ * random_.uniform(0.7F, 1.3F), 1.8F,
                   cell_ * 2.6F, 0.05F);
    }
  }

  void build_side(const Spot& wall, int material) {
    const float half = cell_ / 2;
    const float thick = 0.15F;
    const float choice = random_.uniform();
    std::vector<Opening> openings;
    if (choice > 0.8F) openings.push_back({random_.uniform(-0.15F, 0.15F), cell_ * 0.6F, 0, random_.uniform(2, 2.25F)});
    build_wall(build_, wall.beside(0, -thick / 2), -half, half, height_, thick, openings, material);
    build_wall(build_, wall.beside(0, 0.007F), -half, half, 0.1F, 0.014F, openings, skirting_);
    if (!openings.empty()) return build_niche(wall.beside(0, -thick), openings[0]);
    if (has_band_) build_.box(wall, {0, 0.9F, 0.008F}, {cell_, 0.12F, 0.016F}, band_);
    const float aside = random_.uniform(-0.2F, 0.2F) * cell_;
    if (choice < 0.3F) {
      build_door(build_, wall.beside(aside, 0), random_.uniform(0.8F, 1), random_.uniform(1.95F, 2.15F),
                 random_.pick(doors_), frame_);
      if (random_.chance(0.5F))
        furniture::hanging_picture(build_, wall.beside(aside > 0 ? aside - 0.75F : aside + 0.75F, 0), 1.55F, 0.2F,
                                   0.25F);
    } else if (choice < 0.55F) {
      furniture::hanging_picture(build_, wall.beside(aside, 0), random_.uniform(1.35F, 1.65F),
                                 random_.uniform(0.5F, 1.2F), random_.uniform(0.5F, 1));
    } else if (choice < 0.65F) {
      build_.box(wall.beside(aside, 0), {0, 0, 0.1F}, {0.35F, height_, 0.2F}, frame_);
    } else if (choice < 0.72F) {
      const int red = build_.material(palette::plain(random_, 1, 0.5F, 0.9F));
      build_.cylinder(wall.beside(aside, 0.1F), {0, 0.6F, 0}, 0.08F, 0.45F, red);
      furniture::hanging_picture(build_, wall.beside(aside, 0), 1.5F, 0.2F, 0.2F);
    } else {
      furnish(wall.beside(aside, 0));
    }
  }

  void build_niche(const Spot& back, const Opening& opening) {
    const float deep = random_.uniform(0.5F, 2.5F);
    const int inner = random_.pick(walls_);
    const float wide = opening.width + 0.6F;
    const Spot middle = back.beside(opening.middle, -deep / 2);
    build_.box(middle, {0, -0.1F, 0.08F}, {wide, 0.1F, deep + 0.17F}, floor_);
    build_.box(middle, {0, height_ - 0.2F, 0}, {wide, 0.1F, deep}, ceiling_);
    build_.box(middle, {0, 0, -deep / 2 - 0.05F}, {wide + 0.2F, height_, 0.1F}, inner);
    for (const float side : {-1.F, 1.F})
      build_.box(middle, {side * (wide / 2 + 0.05F), 0, 0}, {0.1F, height_, deep}, inner);
    build_frame(build_, back.beside(0, 0.075F), opening, 0.15F, frame_);
    build_.light(world_point(middle, {0, height_ - 0.5F, 0}), lamp_colour_ * random_.uniform(0.4F, 1), 1.2F, 3, 0.05F);
    const Spot content = middle.beside(0, -deep / 2 + 0.25F);
    if (random_.chance(0.6F)) furniture::things(build_, content, wide * 0.8F, 0.4F, random_.integer(1, 3), 0.45F);
    furniture::hanging_picture(build_, middle.beside(0, -deep / 2), 1.5F, wide * 0.5F, 0.6F);
  }

  void furnish(const Spot& wall) {
    switch (random_.integer(0, 4)) {
      case 0: furniture::plant(build_, wall.beside(0, 0.22F), random_.uniform(0.6F, 1.1F)); break;
      case 1:
        furniture::cupboard(build_, wall.beside(0, 0.16F),
                            {random_.uniform(0.5F, 1), random_.uniform(0.7F, 1.9F), 0.3F});
        break;
      case 2: furniture::things(build_, wall.beside(0, 0.2F), 0.9F, 0.3F, random_.integer(1, 3), 0.3F); break;
      case 3: furniture::shelf(build_, wall.beside(0, 0.15F), {0.8F, random_.uniform(1, 1.9F), 0.26F}); break;
      default: {
        const int seat = build_.material(palette::wood(random_));
        build_.box(wall, {0, 0.4F, 0.2F}, {1.1F, 0.06F, 0.36F}, seat);
        for (const float x : {-0.45F, 0.45F}) build_.box(wall, {x, 0, 0.2F}, {0.06F, 0.4F, 0.3F}, seat);
        break;
      }
    }
  }

  Builder build_;
  Random random_;
  float cell_ = 2;
  float height_ = 2.5F;
  std::vector<Cell> path_;
  std::set<Cell> cells_;
  int floor_ = 0, ceiling_ = 0, skirting_ = 0, frame_ = 0, band_ = 0, lamp_ = 0;
  int walls_[3] = {};
  int doors_[3] = {};
  bool has_band_ = false;
  std::size_t lamp_every_ = 2;
  Colour lamp_colour_;
};

}  // namespace

World make_corridor(std::uint64_t seed) { return Corridors(seed).make(); }

}  // namespace lingbot_map::scene
