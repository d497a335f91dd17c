#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lingbot_map/collapse_watch.hpp"
#include "lingbot_map/session.hpp"
#include "lingbot_map/windowed_session.hpp"

namespace lingbot_map::tool {

/// What a run gives its frames to: a Session, or a WindowedSession, whose contracts hold.
class FrameStream {
 public:
  virtual ~FrameStream() = default;

  virtual void submit(const Image& frame) = 0;
  [[nodiscard]] virtual std::vector<FrameResult> collect() = 0;
  [[nodiscard]] virtual int in_flight() const = 0;
  /// What the frames taken so far still give when no more come because something failed.
  [[nodiscard]] virtual std::vector<FrameResult> drain() = 0;
  [[nodiscard]] virtual std::vector<FrameResult> finish() = 0;
  /// As WindowedSession::cut(), for a stream that was opened with cuts; also after drain() and finish(), which are then
  /// to be called again.
  virtual void cut(std::int64_t frame) = 0;

  /// Saves the session with a watch over its results, as long as nothing is on its way and nothing failed. Throws as
  /// Session::save().
  virtual void save(const std::filesystem::path& path, const CollapseWatch& watch) const = 0;
  [[nodiscard]] virtual std::int64_t frames_pushed() const = 0;
  /// Frames whose results were collected, while nothing is on its way.
  [[nodiscard]] virtual std::int64_t frames_given() const = 0;

  /// Empty for a Session.
  [[nodiscard]] virtual std::span<const WindowRecord> windows() const = 0;
  [[nodiscard]] virtual CacheStats cache_stats() const = 0;
  [[nodiscard]] virtual std::size_t cache_bytes() const = 0;
  [[nodiscard]] virtual const StageTimes& stage_times() const = 0;
  [[nodiscard]] virtual AttentionKind attention() const = 0;
  [[nodiscard]] virtual std::string attention_description() const = 0;
};

/// The stream of a mode: in windows, endless ones among them, if `windowed` is set. `session` has the effective
/// options. With the file of a saved session, one that goes on from there. Throws as the session does.
[[nodiscard]] std::unique_ptr<FrameStream> open_stream(const Model& model, const SessionOptions& session,
                                                       const std::optional<WindowedOptions>& windowed,
                                                       const std::filesystem::path* saved = nullptr);

}  // namespace lingbot_map::tool
