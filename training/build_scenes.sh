#!/bin/sh
# Builds liblingbot_map_scene.so with a C++20 compiler alone, where there is no CMake or none of the engine's other needs.
#   training/build_scenes.sh [FOLDER]
set -eu
cd "$(dirname "$0")/.."
folder=${1:-build-scenes}
mkdir -p "$folder"
# The flags of src/scene/CMakeLists.txt: pictures are the same to the bit.
flags="-std=c++20 -O3 -DNDEBUG -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno -fno-trapping-math -Isrc -Iinclude"
ls src/scene/*.cpp src/geometry/*.cpp | xargs -P "$(nproc)" -I{} sh -c \
  "${CXX:-g++} $flags -c {} -o $folder/\$(echo {} | tr / _).o"
${CXX:-g++} -shared "$folder"/*.o -o "$folder/liblingbot_map_scene.so"
echo "$folder/liblingbot_map_scene.so"
