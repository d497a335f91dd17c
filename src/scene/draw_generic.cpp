#include <algorithm>
#include <cstdint>
#include <vector>

#include "scene/draw.hpp"

#define LINGBOT_MAP_DRAW draw_generic
#include "scene/draw.inc"
