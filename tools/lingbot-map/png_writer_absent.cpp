#include "png_writer.hpp"

namespace lingbot_map::tool {

PngWriter png_writer() { return {}; }

}  // namespace lingbot_map::tool
