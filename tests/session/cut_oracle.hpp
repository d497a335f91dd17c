#pragma once

#include <algorithm>
#include <vector>

#include "windowed_oracle.hpp"

namespace lingbot_map::test {

/// A cut at a frame, made when so many frames had been pushed.
struct CutAt {
  std::int64_t frame;
  std::int64_t pushed;
};

/// Windows with cuts as they are meant, for a sequence that is there as a whole: the windows of what was pushed, each
/// by a session of its own, cut off at the frame, and then the windows of the rest.
class CutOracle {
 public:
  CutOracle(const Model& model, const WindowedOptions& options, const std::vector<Image>& images)
      : oracle_(model, options), options_(options), images_(images) {}

  std::vector<FrameResult> run(const std::vector<CutAt>& cuts) {
    extend(0, 0, cuts.empty() ? std::ssize(images_) : cuts.front().pushed);
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const std::int64_t frame = cuts[i].frame;
      results.resize(static_cast<std::size_t>(frame));
      while (windows.size() > 1 && windows.back().first_given >= frame) windows.pop_back();
      windows.back().frames = frame - windows.back().first;
      std::int64_t overlap = std::min<std::int64_t>(options_.overlap_size, frame);
      if (overlap > 1 && frame - overlap == windows.back().first) --overlap;
      extend(frame, overlap, i + 1 < cuts.size() ? cuts[i + 1].pushed : std::ssize(images_));
    }
    return results;
  }

  struct Window {
    std::int64_t first;
    std::int64_t frames;
    std::int64_t overlap;
    std::int64_t first_given;
    double scale;
  };
  std::vector<Window> windows;
  std::vector<FrameResult> results;  ///< of all frames so far

 private:
  /// All windows from a cut at `given` to the frame before `end`.
  void extend(std::int64_t given, std::int64_t overlap, std::int64_t end) {
    const SessionOptions& session = options_.session;
    const std::int64_t length =
        options_.endless
            ? end
            : session.scale_frames +
                  std::max<std::int64_t>(options_.window_size - session.scale_frames, 0) * session.keyframe_interval;
    WindowedOracle::Window before{.results = results};
    for (std::int64_t start = given - overlap;; start = end_ - options_.overlap_size, overlap = options_.overlap_size) {
      end_ = std::min(start + length, end);
      WindowedOracle::Window window{.first = start, .results = oracle_.infer(images_, start, end_), .overlap = overlap};
      if (start > 0 || overlap > 0) WindowedOracle::align(before, window);
      if (!(options_.endless && given == 0)) WindowedOracle::warp(window);
      windows.push_back({start, end_ - start, overlap, std::max(start, given), window.scale});
      results.resize(static_cast<std::size_t>(std::max(start, given)));
      for (auto i = static_cast<std::int64_t>(results.size()); i < end_; ++i) {
        results.push_back(window.results[static_cast<std::size_t>(i - start)]);
        results.back().index = i;
      }
      before = window;
      if (end_ == end) return;
    }
  }

  WindowedOracle oracle_;
  WindowedOptions options_;
  std::vector<Image> images_;
  std::int64_t end_ = 0;
};

}  // namespace lingbot_map::test
