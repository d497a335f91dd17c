#ifndef LINGBOT_MAP_SCENE_C_H
#define LINGBOT_MAP_SCENE_C_H

#include <stdint.h>

/* Generated scenes with known cameras and depth, for callers in other languages: the shared library
   liblingbot_map_scene.so. Nothing here throws or prints. It needs nothing but a C++20 compiler: either

     cmake -S . -B build-scene -DLINGBOT_MAP_SCENE_ONLY=ON && cmake --build build-scene

   which leaves build-scene/lib/liblingbot_map_scene.so, or where there is no CMake

     g++ -std=c++20 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fPIC -shared -Isrc -Iinclude \
       src/scene/[a-z]*.cpp src/geometry/[a-z]*.cpp -o liblingbot_map_scene.so */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LINGBOT_MAP_SCENE_API __attribute__((visibility("default")))
#else
#define LINGBOT_MAP_SCENE_API
#endif

/* kinds: 0 room, 1 corridor, 2 street, 3 orbit */
typedef struct lm_scene_sequence lm_scene_sequence;

/* Makes scene and camera path. fov_h in radians, 0: chosen by the seed. NULL on error; lm_scene_error() says why. */
LINGBOT_MAP_SCENE_API lm_scene_sequence* lm_scene_open(int kind, uint64_t seed, int frames, int width, int height,
                                                       float fov_h);
/* NULL is let pass. */
LINGBOT_MAP_SCENE_API void lm_scene_close(lm_scene_sequence* sequence);

/* vertical and horizontal field of view, radians */
LINGBOT_MAP_SCENE_API void lm_scene_fov(const lm_scene_sequence* sequence, float out[2]);

/* Camera to world of frame i: centre x y z in metres, unit quaternion x y z w (w >= 0). Camera axes: x right, y down, z
   forward. 0 on success. */
LINGBOT_MAP_SCENE_API int lm_scene_pose(const lm_scene_sequence* sequence, int frame, double out[7]);

/* rgb: height*width*3 bytes; depth: height*width floats, metres along the optical axis, 0 where the sky is. The ray of
   pixel (u, v) is ((u - width/2)/fx, (v - height/2)/fy, 1). Works on the calling thread; one sequence may be rendered by
   many threads at once. 0 on success. */
LINGBOT_MAP_SCENE_API int lm_scene_render(const lm_scene_sequence* sequence, int frame, uint8_t* rgb, float* depth);

/* The last error of the calling thread, one line; empty if there was none. */
LINGBOT_MAP_SCENE_API const char* lm_scene_error(void);

#ifdef __cplusplus
}
#endif

#endif
