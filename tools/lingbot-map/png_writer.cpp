#include "png_writer.hpp"

#include "media/write_png.hpp"

namespace lingbot_map::tool {

PngWriter png_writer() { return write_png; }

}  // namespace lingbot_map::tool
