#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "console.hpp"
#include "input_frames.hpp"
#include "lingbot_map/session.hpp"
#include "run_options.hpp"
#include "sky/mask_store.hpp"
#include "sky/sky_network.hpp"

namespace lingbot_map::tool {

/// What run.json tells of the sky masks of a run.
struct SkyReport {
  std::string model;                  ///< "builtin 1", or the path of the ONNX file
  std::optional<std::string> sha256;  ///< of that file
  std::int64_t made = 0;              ///< masks
  std::int64_t reused = 0;            ///< masks of an earlier run
  double sum_of_shares = 0;           ///< of sky in each frame, 0 to 1
  double seconds = 0;                 ///< making, reading and writing masks
};

/// The sky masks of a run (--mask_sky), made by a thread of their own: those of a network, which needs the frame alone,
/// while the frame waits for the reconstruction; those of the built-in estimate, which needs the frame's result, while
/// the next frame is reconstructed. Masks of earlier runs are taken from --sky_mask_dir where they are of the same
/// frame, model and settings.
class SkyMasks {
 public:
  /// Opens the sky model. `console` must outlive this. Throws Error(input) for a file that is none.
  SkyMasks(const RunOptions& options, Console& console);
  ~SkyMasks();

  /// Makes the folders and starts the thread; before the first frame, whose index is `first`. `earlier` has counts and
  /// times of the frames before, or is null. Throws Error(output).
  void start(std::int64_t first, const SkyReport* earlier);
  /// Begins the mask of a frame, once when it was read and once when its result is known: the model decides which of
  /// the two has an effect. Waits while several frames are ahead.
  void begin(TimedFrame& frame);
  void begin(const FrameResult& result, TimedFrame& frame);
  /// Sets the confidence of sky in a frame's result to 0, and draws the mask if that was asked for. For one thread.
  /// Throws whatever went wrong with the mask of this frame.
  void apply(FrameResult& result, TimedFrame& frame);

  [[nodiscard]] const SkyReport& report() const noexcept { return report_; }

 private:
  class Worker;

  /// The mask of that frame from the store, or else from `make`.
  template <typename Make>
  FrameSky look_up(const MaskStore::Key& key, int width, int height, Make make);
  void tell_once(MaskStore::State state, const std::filesystem::path& file);

  Console& console_;
  std::filesystem::path folder_;
  std::filesystem::path pictures_;  ///< empty: not asked for
  SkyReport report_;
  std::optional<MaskStore> store_;
  std::once_flag told_stale_;
  std::once_flag told_foreign_;
  std::unique_ptr<SkyNetwork> network_;  ///< none: the built-in estimate
  std::unique_ptr<Worker> worker_;       ///< last, since its thread uses what is above
};

}  // namespace lingbot_map::tool
