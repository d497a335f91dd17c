#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lingbot_map/session.hpp"

namespace lingbot_map {

/// What a network that lost its way gives itself away by.
enum class CollapseSign : std::uint8_t {
  pose,         ///< the camera has no pose: centre or quaternion not finite, or the quaternion zero
  translation,  ///< the camera moved much further than it used to in a frame
  scale,        ///< what this frame and the one before both see is at another depth
  confidence,   ///< the network believes its depth much less than it used to
};
[[nodiscard]] std::string_view name_of(CollapseSign sign) noexcept;

/// A jump from one frame to the next.
struct Collapse {
  std::int64_t frame = 0;  ///< FrameResult::index
  CollapseSign sign = CollapseSign::pose;
  /// translation: the step in median depths of the frame before. scale: factor of depth, above 1 for larger.
  /// confidence: median confidence less 1. pose: 0.
  double found = 0;
  /// What that was over the frames before: a median. scale: 1. pose: 0.
  double usual = 0;

  /// "frame 812: the camera moved by 1.4 times the median depth in one frame, usually by 0.02".
  [[nodiscard]] std::string text() const;
};

struct CollapseLimits {
  double translation = 8;    ///< times the usual step, which counts as 0.02 median depths at least
  double scale = 1.25;       ///< factor of depth, either way
  double confidence = 4;     ///< times below the usual confidence
  int frames = 30;           ///< what is usual is the median over this many frames
  int frames_to_settle = 5;  ///< after the first frame, and after a jump, before the next one is told
};

/// Follows the camera's steps, the scale and the confidence over a stream of results and tells a jump when it happens.
/// A camera that stands still, or a view that opens from a wall to a street, is none: steps are measured in depths, and
/// scale by the points that both frames see. After a jump the new state becomes the usual one.
class CollapseWatch {
 public:
  /// Throws Error(usage) on limits that are no numbers above 1, or counts below 1.
  explicit CollapseWatch(const CollapseLimits& limits = {});
  ~CollapseWatch();
  CollapseWatch(CollapseWatch&&) noexcept;
  CollapseWatch& operator=(CollapseWatch&&) noexcept;

  /// Takes the results of a sequence in order, and gives the signs of this one: none, nearly always.
  [[nodiscard]] std::vector<Collapse> look(const FrameResult& result);
  /// Forgets the result that was looked at last, as if it had not come: for one that is dropped and computed again, as
  /// WindowedSession::cut() does. Throws Error(usage) when there is none, or it was forgotten already.
  void take_back();
  /// Begins again, as after a new window.
  void restart();

  /// Goes on from where the watch was that a session was saved with, in whose file it is; what take_back() would forget
  /// is not saved. Throws Error(input) that names the file when it is damaged, has no watch or one of other limits.
  void restore(const std::filesystem::path& session_file);

 private:
  friend class Session;  // whose saved state may have that of a watch in it
  friend class WindowedSession;
  void save(StateWriter& state) const;

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lingbot_map
