#include "frame_stream.hpp"

#include <iterator>
#include <type_traits>
#include <utility>

#include "base/message.hpp"

namespace lingbot_map::tool {
namespace {

template <typename Kind>
class StreamOf final : public FrameStream {
 public:
  explicit StreamOf(Kind session) : session_(std::move(session)) {}

  void submit(const Image& frame) override { session_.submit(frame); }
  std::vector<FrameResult> collect() override { return session_.collect(); }
  int in_flight() const override { return session_.in_flight(); }
  std::vector<FrameResult> drain() override {
    // Results of a window that wait for the next one are final when there is none.
    if constexpr (kWindowed) return session_.finish();
    std::vector<FrameResult> all;
    while (session_.in_flight() > 0) {
      std::vector<FrameResult> some = session_.collect();
      all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    return all;
  }
  std::vector<FrameResult> finish() override { return session_.finish(); }

  void cut(std::int64_t frame) override {
    if constexpr (kWindowed) return session_.cut(frame);
    fail(ErrorCode::internal, "internal error: a cut at frame ", frame, " of a session that cannot be cut");
  }

  void save(const std::filesystem::path& path, const CollapseWatch& watch) const override {
    session_.save(path, &watch);
  }
  std::int64_t frames_pushed() const override { return session_.frames_pushed(); }
  std::int64_t frames_given() const override {
    if constexpr (kWindowed) return session_.frames_final();
    const bool gathers_scale_frames = session_.cache_stats().frame_count == 0;
    return gathers_scale_frames ? 0 : session_.frames_pushed();
  }

  std::span<const WindowRecord> windows() const override {
    if constexpr (kWindowed) return session_.windows();
    return {};
  }
  CacheStats cache_stats() const override { return session_.cache_stats(); }
  std::size_t cache_bytes() const override { return session_.cache_bytes(); }
  const StageTimes& stage_times() const override { return session_.stage_times(); }
  AttentionKind attention() const override { return session_.attention(); }
  std::string attention_description() const override { return session_.attention_description(); }

 private:
  static constexpr bool kWindowed = std::is_same_v<Kind, WindowedSession>;

  Kind session_;
};

template <typename Kind, typename Options>
std::unique_ptr<FrameStream> open_as(const Model& model, const Options& options, const std::filesystem::path* saved) {
  return std::make_unique<StreamOf<Kind>>(saved ? Kind::restore(model, options, *saved) : Kind(model, options));
}

}  // namespace

std::unique_ptr<FrameStream> open_stream(const Model& model, const SessionOptions& session,
                                         const std::optional<WindowedOptions>& windowed,
                                         const std::filesystem::path* saved) {
  if (!windowed) return open_as<Session>(model, session, saved);
  WindowedOptions options = *windowed;
  options.session = session;
  return open_as<WindowedSession>(model, options, saved);
}

}  // namespace lingbot_map::tool
