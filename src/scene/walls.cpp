#include "scene/walls.hpp"

namespace lingbot_map::scene {

void build_wall(Builder& build, const Spot& spot, float begin, float end, float height, float thickness,
                const std::vector<Opening>& openings, int material) {
  const auto piece = [&](float from, float to, float low, float high) {
    if (to - from < 1e-3F || high - low < 1e-3F) return;
    build.box(spot, {(from + to) / 2, low, 0}, {to - from, high - low, thickness}, material);
  };
  float done = begin;
  for (const Opening& opening : openings) {
    piece(done, opening.begin(), 0, height);
    piece(opening.begin(), opening.end(), 0, opening.low);
    piece(opening.begin(), opening.end(), opening.high, height);
    done = opening.end();
  }
  piece(done, end, 0, height);
}

void build_frame(Builder& build, const Spot& spot, const Opening& opening, float thickness, int material) {
  const float board = 0.07F;
  const float deep = thickness + 0.04F;
  for (const float side : {opening.begin(), opening.end()})
    build.box(spot, {side, opening.low, 0}, {board, opening.high - opening.low, deep}, material);
  build.box(spot, {opening.middle, opening.high - board / 2, 0}, {opening.width + board, board, deep}, material);
  if (opening.low <= 0) return;
  build.box(spot, {opening.middle, opening.low - board / 2, 0}, {opening.width + 0.15F, board, deep + 0.12F}, material);
  build.box(spot, {opening.middle, opening.low, 0}, {0.05F, opening.high - opening.low, 0.05F}, material);
  const float across = opening.low + 0.6F * (opening.high - opening.low);
  build.box(spot, {opening.middle, across, 0}, {opening.width, 0.05F, 0.05F}, material);
}

void build_door(Builder& build, const Spot& spot, float width, float height, int door, int frame) {
  build.box(spot, {0, 0, 0.01F}, {width, height, 0.04F}, door);
  for (const float side : {-1.F, 1.F})
    build.box(spot, {side * (width / 2 + 0.04F), 0, 0.02F}, {0.09F, height + 0.08F, 0.08F}, frame);
  build.box(spot, {0, height, 0.02F}, {width + 0.15F, 0.09F, 0.08F}, frame);
  build.lying_cylinder(spot, {width * 0.38F, 1.02F, 0.07F}, 0.015F, 0.13F, frame);
}

}  // namespace lingbot_map::scene
