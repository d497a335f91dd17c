#pragma once

#include "scene/builder.hpp"

/// Things that stand in rooms, corridors and streets. Each looks forward from its spot, which is the middle of its
/// base; what stands at a wall has the wall behind it. Sizes vary at random.
namespace lingbot_map::scene::furniture {

void table(Builder& build, const Spot& spot, Float3 size);
void chair(Builder& build, const Spot& spot);
void cupboard(Builder& build, const Spot& spot, Float3 size);
/// With books and things on its boards.
void shelf(Builder& build, const Spot& spot, Float3 size);
void sofa(Builder& build, const Spot& spot, Float3 size);
void bed(Builder& build, const Spot& spot, Float3 size);
void plant(Builder& build, const Spot& spot, float height);
void floor_lamp(Builder& build, const Spot& spot);
/// Boxes, balls, cylinders and cones on an area of width x depth.
void things(Builder& build, const Spot& spot, float width, float depth, int count, float largest);
/// On a wall: `spot` is a point of it, looking away from the wall; `height` that of the middle.
void hanging_picture(Builder& build, const Spot& spot, float height, float width, float tall);
void car(Builder& build, const Spot& spot);
/// The crown begins `crown` metres above the ground or higher; for that a small tree becomes taller.
void tree(Builder& build, const Spot& spot, float height, float crown = 0);
void street_lamp(Builder& build, const Spot& spot);

}  // namespace lingbot_map::scene::furniture
