#include <algorithm>
#include <cstdint>
#include <vector>

#include "scene/draw.hpp"

#if defined(__x86_64__)
// After the headers, whose functions must stay fit for any processor.
#pragma GCC push_options
#pragma GCC target("avx2")
#define LINGBOT_MAP_DRAW draw_avx2
#include "scene/draw.inc"
#pragma GCC pop_options
#endif
