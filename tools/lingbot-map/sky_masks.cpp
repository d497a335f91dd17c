#include "sky_masks.hpp"

#include <functional>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "base/bounded_queue.hpp"
#include "base/message.hpp"
#include "export/output_folder.hpp"
#include "media/write_png.hpp"
#include "numbered_pictures.hpp"
#include "sky/sky_estimate.hpp"
#include "sky/sky_picture.hpp"
#include "stopwatch.hpp"

namespace lingbot_map::tool {
namespace {

constexpr std::size_t kFramesAhead = 4;

std::unique_ptr<SkyNetwork> open_network(const std::string& path, int threads) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    fail(ErrorCode::input, "--sky_model: found no file ", path, "; ", kSkyModelHint);
  return std::make_unique<SkyNetwork>(path, threads);
}

std::string file_of(const TimedFrame& frame) { return MaskStore::file_name(frame.source.name, frame.source.timestamp); }

}  // namespace

/// A thread that makes masks in the order in which they were asked for.
class SkyMasks::Worker {
 public:
  Worker() = default;
  ~Worker() { tasks_.cancel(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] std::future<FrameSky> begin(std::function<FrameSky()> make) {
    std::packaged_task<FrameSky()> task([make = std::move(make)] {
      const Stopwatch watch;
      FrameSky sky = make();
      sky.seconds = watch.seconds();
      return sky;
    });
    std::future<FrameSky> mask = task.get_future();
    tasks_.push(std::move(task));
    return mask;
  }

 private:
  BoundedQueue<std::packaged_task<FrameSky()>> tasks_{kFramesAhead};
  std::jthread thread_{[this] {
    while (auto task = tasks_.pop()) (*task)();
  }};
};

SkyMasks::SkyMasks(const RunOptions& options, Console& console)
    : console_(console), folder_(options.sky_mask_dir), pictures_(options.sky_mask_visualization_dir) {
  if (options.sky_model == kBuiltinSky) {
    report_.model = kSkyEstimateName;
    store_.emplace(folder_, kSkyEstimateName);
  } else {
    network_ = open_network(options.sky_model, options.threads);
    report_.model = options.sky_model;
    report_.sha256 = network_->sha256();
    store_.emplace(folder_, network_->sha256());
  }
  console_.info(message("sky: ", report_.model, ", masks in ", folder_.string()));
}

SkyMasks::~SkyMasks() = default;

void SkyMasks::start(std::int64_t first, const SkyReport* earlier) {
  make_output_folder(folder_);
  if (!pictures_.empty()) prepare_pictures(pictures_, kFramePrefix, first);
  if (earlier) {
    report_.made = earlier->made;
    report_.reused = earlier->reused;
    report_.sum_of_shares = earlier->sum_of_shares;
    report_.seconds = earlier->seconds;
  }
  worker_ = std::make_unique<Worker>();
}

void SkyMasks::begin(TimedFrame& frame) {
  if (!network_) return;
  frame.sky = worker_->begin([this, image = frame.source.image, file = file_of(frame)] {
    return look_up({.file = file, .frame = digest_of_frame(image)}, image.width, image.height,
                   [&] { return network_->mask_of(image); });
  });
}

void SkyMasks::begin(const FrameResult& result, TimedFrame& frame) {
  if (network_) return;
  frame.sky = worker_->begin(
      [this, image = frame.source.image, depth = result.depth, confidence = result.depth_conf, file = file_of(frame)] {
        return look_up({.file = file, .frame = digest_of_frame(image, depth, confidence)}, image.width, image.height,
                       [&] { return estimate_sky(image, depth, confidence); });
      });
}

void SkyMasks::apply(FrameResult& result, TimedFrame& frame) {
  const FrameSky sky = frame.sky.get();
  clear_sky(sky.mask, result.depth_conf);
  clear_sky(sky.mask, result.world_points_conf);
  report_.sum_of_shares += sky.mask.share();
  report_.seconds += sky.seconds;
  ++(sky.reused ? report_.reused : report_.made);
  if (!pictures_.empty())
    write_png(pictures_ / numbered_picture(kFramePrefix, result.index), sky_picture(frame.source.image, sky.mask));
}

template <typename Make>
FrameSky SkyMasks::look_up(const MaskStore::Key& key, int width, int height, Make make) {
  MaskStore::Found found = store_->find(key, width, height);
  if (found.state == MaskStore::State::usable) return {.mask = std::move(found.mask), .reused = true};
  tell_once(found.state, store_->path_of(key));
  FrameSky sky{.mask = make(), .reused = false};
  if (found.state != MaskStore::State::foreign) store_->put(key, sky.mask);
  return sky;
}

void SkyMasks::tell_once(MaskStore::State state, const std::filesystem::path& file) {
  if (state == MaskStore::State::stale)
    std::call_once(told_stale_, [&] {
      console_.info(
          message("sky: ", file.string(), " was made from another frame, model or setting; such masks are made anew"));
    });
  if (state == MaskStore::State::foreign)
    std::call_once(told_foreign_, [&] {
      console_.warning(message("sky: ", file.string(),
                               " is no mask of this program; such files stay as they are, and the masks of their "
                               "frames are not kept; another --sky_mask_dir has room for them"));
    });
}

}  // namespace lingbot_map::tool
