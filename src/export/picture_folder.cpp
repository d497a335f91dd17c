#include "export/picture_folder.hpp"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "base/numbered_name.hpp"
#include "base/text.hpp"
#include "export/output_folder.hpp"

namespace lingbot_map {
namespace {

namespace fs = std::filesystem;

bool is_earlier_picture(const fs::directory_entry& entry) {
  std::error_code none;
  if (entry.is_symlink(none)) return true;
  const std::string name = entry.path().filename().string();
  return name.starts_with("frame_") && name.ends_with(".png");
}

void remove_earlier_pictures(const fs::path& folder) {
  std::vector<fs::path> earlier;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (is_earlier_picture(*entry)) earlier.push_back(entry->path());
  for (const fs::path& path : earlier)
    if (!error) fs::remove(path, error);
  if (error) {
    fail(ErrorCode::output, folder.string(), ": pictures of an earlier run cannot be removed: ", error.message(),
         "; check the folder's permissions");
  }
}

/// Names in COLMAP's text files end at white space.
std::string one_word(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return c <= ' ' || c == 127; }, '_');
  return name;
}

}  // namespace

PictureFolder::PictureFolder(fs::path folder, PngWriter write_png)
    : folder_(std::move(folder)), write_png_(std::move(write_png)) {
  make_output_folder(folder_);
  remove_earlier_pictures(folder_);
}

ExportedPicture PictureFolder::place(const PosedFrame& frame) const {
  const FrameMeta& meta = frame.meta;
  if (std::string name = one_word(meta.file.filename().string()); !name.empty() && link(meta.file, name)) {
    return {std::move(name), meta.original.width, meta.original.height,
            in_original_pixels(frame.intrinsics, meta.original), meta.original};
  }
  if (!write_png_) {
    fail(ErrorCode::unsupported, "frame ", frame.result.index, " (", printable(meta.name),
         "): there is no picture file of it, and this build writes none; build with -DLINGBOT_MAP_MEDIA=ON");
  }
  const auto& [width, height, pixels] = meta.image;
  std::string name = numbered_name("frame_", frame.result.index, ".png");
  write_png_(folder_ / name, meta.image);
  return {std::move(name), width, height, frame.intrinsics, OriginalPixels{width, height}};
}

bool PictureFolder::link(const fs::path& file, const std::string& name) const {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  const fs::path target = fs::absolute(file, error);
  if (!error) fs::create_symlink(target, folder_ / name, error);
  if (!error) return true;
  if (error == std::errc::file_exists) {
    fail(ErrorCode::output, (folder_ / name).string(), ": cannot be a link to ", file.string(),
         ": there is such a file; move it away");
  }
  fs::copy_file(file, folder_ / name, error);  // file systems without links
  if (error)
    fail(ErrorCode::output, (folder_ / name).string(), ": cannot be made from ", file.string(), ": ", error.message());
  return true;
}

}  // namespace lingbot_map
