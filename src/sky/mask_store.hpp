#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "sky/sky_mask.hpp"

namespace lingbot_map {

/// Sky masks of earlier runs, in a folder: lossless PNG, white for what stays and black for sky, one file a frame. Each
/// file says in itself what it was made from (SHA-256 of the frame, model, settings), so that a mask is only taken for
/// just that, whatever was run over the folder in between.
class MaskStore {
 public:
  /// What lies under a frame's name.
  enum class State : std::uint8_t {
    missing,
    usable,
    stale,    ///< a mask, but of another frame, model or setting, or damaged
    foreign,  ///< a file that is no mask of this store; it is left alone
  };
  struct Found {
    State state = State::missing;
    SkyMask mask;  ///< if usable
  };
  /// A frame in the store.
  struct Key {
    std::string file;   ///< file_name()
    std::string frame;  ///< digest_of_frame()
  };

  /// `folder` exists. `model`: what makes the masks, with its version or digest.
  MaskStore(std::filesystem::path folder, const std::string& model);

  /// "img_0.jpg.png" for the frame of an image file; for a frame of a video, whose name says less, its time in it:
  /// "at_000012.345678.png".
  [[nodiscard]] static std::string file_name(const std::string& source_name, std::optional<double> seconds);

  /// Throws Error(input) if a file is there and cannot be read.
  [[nodiscard]] Found find(const Key& key, int width, int height) const;
  /// Writes a mask, in the place of a stale one. Throws Error(output).
  void put(const Key& key, const SkyMask& mask) const;
  [[nodiscard]] std::filesystem::path path_of(const Key& key) const { return folder_ / key.file; }

 private:
  [[nodiscard]] std::string origin_of(const Key& key) const { return settings_ + key.frame; }

  std::filesystem::path folder_;
  std::string settings_;
};

}  // namespace lingbot_map
