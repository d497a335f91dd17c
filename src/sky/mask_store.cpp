#include "sky/mask_store.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "media/mask_png.hpp"

namespace lingbot_map {

MaskStore::MaskStore(std::filesystem::path folder, const std::string& model)
    : folder_(std::move(folder)),
      settings_(message("sky mask 1; model ", model, "; threshold ", kSkyThreshold, "; frame ")) {}

std::string MaskStore::file_name(const std::string& source_name, std::optional<double> seconds) {
  if (!seconds) return source_name + ".png";
  std::ostringstream text;
  text << "at_" << std::setfill('0') << std::setw(13) << std::fixed << std::setprecision(6) << *seconds << ".png";
  return text.str();
}

MaskStore::Found MaskStore::find(const Key& key, int width, int height) const {
  const std::filesystem::path path = path_of(key);
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) return {};
  if (kind != std::filesystem::file_type::regular) return {.state = State::foreign, .mask = {}};
  const std::optional<std::string> origin = read_mask_origin(path);
  if (!origin) return {.state = State::foreign, .mask = {}};
  if (*origin != origin_of(key)) return {.state = State::stale, .mask = {}};
  try {
    SkyMask mask{.width = width, .height = height, .pixels = read_mask_pixels(path, width, height)};
    const bool two_valued = std::ranges::all_of(
        mask.pixels, [](std::uint8_t pixel) { return pixel == SkyMask::kSky || pixel == SkyMask::kKeep; });
    if (two_valued) return {.state = State::usable, .mask = std::move(mask)};
  } catch (const Error& damaged) {
    if (damaged.code() != ErrorCode::input) throw;
  }
  return {.state = State::stale, .mask = {}};
}

void MaskStore::put(const Key& key, const SkyMask& mask) const {
  write_mask_png(path_of(key),
                 {.width = mask.width, .height = mask.height, .pixels = mask.pixels, .origin = origin_of(key)});
}

}  // namespace lingbot_map
