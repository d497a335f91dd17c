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
#include "sky/sky_network.hpp"
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

MaskStore::Key key_of(const TimedFrame& frame, std::string digest) {
  return {.file = MaskStore::file_name(frame.source.name, frame.source.timestamp), .frame = std::move(digest)};
}

}  // namespace

/// A thread that makes masks in the order in which they were asked for.
class SkyMasks::Worker {
 public:
  explicit Worker(std::unique_ptr<SkyNetwork> network)
      : network_(std::move(network)), thread_([this] {
          while (auto task = tasks_.pop()) (*task)();
        }) {}
  ~Worker() { tasks_.cancel(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] SkyNetwork& network() const noexcept { return *network_; }
  [[nodiscard]] std::future<FrameSky> begin(std::function<FrameSky()> make) {
    std::packaged_task<FrameSky()> task(std::move(make));
    std::future<FrameSky> mask = task.get_future();
    tasks_.push(std::move(task));
    return mask;
  }

 private:
  std::unique_ptr<SkyNetwork> network_;
  BoundedQueue<std::packaged_task<FrameSky()>> tasks_{kFramesAhead};
  std::jthread thread_;
};

SkyMasks::SkyMasks(const RunOptions& options, Console& console)
    : console_(console), folder_(options.sky_mask_dir), pictures_(options.sky_mask_visualization_dir) {
  if (options.sky_model == kBuiltinSky) {
    report_.model = kSkyEstimateName;
    store_.emplace(folder_, kSkyEstimateName);
  } else {
    auto network = open_network(options.sky_model, options.threads);
    report_.model = options.sky_model;
    report_.sha256 = network->sha256();
    store_.emplace(folder_, network->sha256());
    worker_ = std::make_unique<Worker>(std::move(network));
  }
  console_.info(message("sky: ", report_.model, ", masks in ", folder_.string()));
}

SkyMasks::~SkyMasks() = default;

void SkyMasks::start() {
  make_output_folder(folder_);
  if (!pictures_.empty()) prepare_pictures(pictures_, kFramePrefix);
}

void SkyMasks::begin(TimedFrame& frame) {
  if (!worker_) return;
  frame.sky = worker_->begin([this, image = frame.source.image, key = key_of(frame, {})]() mutable {
    const Stopwatch watch;
    key.frame = digest_of_frame(image);
    FrameSky sky = look_up(key, image.width, image.height, [&] { return worker_->network().mask_of(image); });
    sky.seconds = watch.seconds();
    return sky;
  });
}

void SkyMasks::apply(FrameResult& result, TimedFrame& frame) {
  const FrameSky sky = worker_ ? frame.sky.get() : estimate(result, frame);
  clear_sky(sky.mask, result.depth_conf);
  clear_sky(sky.mask, result.world_points_conf);
  report_.sum_of_shares += sky.mask.share();
  report_.seconds += sky.seconds;
  ++(sky.reused ? report_.reused : report_.made);
  if (!pictures_.empty())
    write_png(pictures_ / numbered_picture(kFramePrefix, result.index), sky_picture(frame.source.image, sky.mask));
}

FrameSky SkyMasks::estimate(const FrameResult& result, const TimedFrame& frame) {
  const Stopwatch watch;
  const Image& image = frame.source.image;
  const MaskStore::Key key = key_of(frame, digest_of_frame(image, result.depth, result.depth_conf));
  FrameSky sky =
      look_up(key, image.width, image.height, [&] { return estimate_sky(image, result.depth, result.depth_conf); });
  sky.seconds = watch.seconds();
  return sky;
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
