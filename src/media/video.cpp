#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#include <opencv2/videoio/registry.hpp>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/sha256.hpp"
#include "media/frame_source.hpp"
#include "media/opencv.hpp"
#include "media/orientation.hpp"
#include "media/time_sampler.hpp"

namespace lingbot_map {

namespace {

constexpr double kUnknownRate = 30;  // frames a second of a video that does not say

/// An opened OpenCV capture and what is known of it: frames one after another, with ascending times.
class Capture {
 public:
  explicit Capture(const std::string& source) : name_(source) {
    silence_opencv();
    const bool camera = !source.empty() && source.size() <= 4 &&
                        std::all_of(source.begin(), source.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    const bool url = source.find("://") != std::string::npos;
    if (camera) {
      open_camera(std::stoi(source));
    } else {
      if (!url) require_file(source);
      open_file(source);
    }
    const double frames = capture_.get(cv::CAP_PROP_FRAME_COUNT);
    if (const double rate = capture_.get(cv::CAP_PROP_FPS); rate > 0 && rate < 1e5) rate_ = rate;
    if (!camera && frames >= 1 && frames < 1e12) announced_ = static_cast<std::int64_t>(frames);
    live_ = camera || (url && !announced_);
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool live() const noexcept { return live_; }
  [[nodiscard]] double rate() const noexcept { return rate_; }
  /// Frames that the file says it has; often an estimate.
  [[nodiscard]] std::optional<std::int64_t> announced() const noexcept { return announced_; }
  [[nodiscard]] std::int64_t grabbed() const noexcept { return grabbed_; }
  /// Seconds of the frame grabbed last.
  [[nodiscard]] double time() const noexcept { return time_; }

  /// Goes to the next frame; false at the end.
  bool grab() {
    if (!capture_.grab()) return false;
    const double time = live_ ? clock_seconds() : capture_.get(cv::CAP_PROP_POS_MSEC) / 1000;
    const bool ascends = std::isfinite(time) && (grabbed_ == 0 ? time >= 0 : time > time_);
    if (ascends) {
      time_ = time;
    } else if (grabbed_ > 0) {  // no time stamps, or broken ones: frames follow at the announced rate
      time_ += 1 / rate_;
    }
    ++grabbed_;
    return true;
  }

  /// The pixels of the frame grabbed last; empty if they cannot be had.
  Image retrieve() {
    cv::Mat bgr;
    if (!capture_.retrieve(bgr) || bgr.empty() || bgr.type() != CV_8UC3) return {};
    return rgb_image(bgr);
  }

 private:
  static void require_file(const std::string& path) {
    if (std::filesystem::is_directory(path)) {
      fail(ErrorCode::input, path, ": is a folder, expected a video file (a folder of images goes to --image_folder)");
    }
    if (File::open(path).size() == 0) fail(ErrorCode::input, path, ": the file is empty, expected a video");
  }

  void open_camera(int number) {
    const int backend = preferred(cv::videoio_registry::getCameraBackends(), cv::CAP_V4L2);
    if (!capture_.open(number, backend)) {
      fail(ErrorCode::input, "camera ", number, ": cannot be opened; is it connected, and free for this user?");
    }
    capture_.set(cv::CAP_PROP_BUFFERSIZE, 1);  // frames as fresh as possible
  }

  void open_file(const std::string& source) {
    if (!capture_.open(source, preferred(cv::videoio_registry::getStreamBackends(), cv::CAP_FFMPEG))) {
      fail(ErrorCode::input, source,
           ": cannot be opened as a video: damaged, cut off, not a video, or of a codec that OpenCV lacks here");
    }
  }

  /// Left to itself, OpenCV asks every back end it has, and some are slow or loud about what is not theirs.
  static int preferred(const std::vector<cv::VideoCaptureAPIs>& backends, cv::VideoCaptureAPIs wish) {
    return std::find(backends.begin(), backends.end(), wish) != backends.end() ? wish : cv::CAP_ANY;
  }

  double clock_seconds() {
    const auto now = std::chrono::steady_clock::now();
    if (grabbed_ == 0) first_frame_at_ = now;
    return std::chrono::duration<double>(now - first_frame_at_).count();
  }

  std::string name_;
  cv::VideoCapture capture_;
  bool live_ = false;
  double rate_ = kUnknownRate;
  std::optional<std::int64_t> announced_;
  std::int64_t grabbed_ = 0;
  double time_ = 0;
  std::chrono::steady_clock::time_point first_frame_at_;
};

std::string text_of_seconds(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f s", seconds);
  return text.data();
}

class Video final : public FrameSource {
 public:
  Video(const std::string& source, const SourceOptions& options)
      : options_(valid(options)), capture_(source), sampler_(options.fps) {
    if (!capture_.grab()) fail(ErrorCode::input, source, ": the video has no frame that can be decoded");
    static_cast<void>(sampler_.take(capture_.time()));
    first_ = turned(capture_.retrieve());
    if (first_.empty()) fail(ErrorCode::input, source, ": the first frame of the video cannot be decoded");
    try {
      const NamedSize size{label(), {first_.width, first_.height}};
      plan_ = plan_sizes({&size, 1}, options_.preprocess());
    } catch (const Error& error) {
      fail(error.code(), source, ": ", error.what());
    }
  }

  std::optional<SourceFrame> next() override {
    while (!stopped_ && (!options_.first_k || sampled_ < *options_.first_k)) {
      const bool first = sampled_ == 0;
      if (!first && !advance()) {
        warn_if_short();
        return std::nullopt;
      }
      const std::int64_t index = sampled_++;
      if (index % options_.stride == 0)
        return frame(index, first ? std::exchange(first_, {}) : turned(capture_.retrieve()));
    }
    return std::nullopt;
  }

  std::optional<std::int64_t> expected_frames() const override {
    if (!capture_.announced()) return std::nullopt;
    const auto announced = static_cast<double>(*capture_.announced());
    double frames = std::ceil(announced * std::min(1.0, options_.fps / capture_.rate()));
    if (options_.first_k) frames = std::min(frames, static_cast<double>(*options_.first_k));
    return static_cast<std::int64_t>(std::ceil(frames / static_cast<double>(options_.stride)));
  }
  int width() const noexcept override { return plan_.width; }
  int height() const noexcept override { return plan_.height; }
  std::vector<std::string> warnings() const override { return plan_.warnings; }
  void skip_to(std::int64_t source_index) override {
    for (; sampled_ < source_index; ++sampled_) {
      if (sampled_ == 0) {
        first_ = {};
      } else if (!advance()) {
        return;
      }
    }
  }
  bool repeatable() const noexcept override { return !capture_.live(); }
  std::string fingerprint() const override {
    constexpr std::uint64_t kPart = std::uint64_t{1} << 20;
    Sha256 sha;
    std::error_code none;
    if (!std::filesystem::is_regular_file(capture_.name(), none)) {
      sha.update(std::as_bytes(std::span(capture_.name())));
      return sha.finish();
    }
    const File file = File::open(capture_.name());
    const std::uint64_t bytes = std::min(file.size(), kPart);
    for (const std::string& part :
         {std::to_string(file.size()), file.read_text(0, bytes), file.read_text(file.size() - bytes, bytes)})
      sha.update(std::as_bytes(std::span(part)));
    return sha.finish();
  }
  void stop() noexcept override { stopped_ = true; }

 private:
  static const SourceOptions& valid(const SourceOptions& options) {
    options.validate();
    return options;
  }

  /// Goes to the next frame that is due; false at the end of the video, and when stopped on the way.
  bool advance() {
    while (!stopped_ && capture_.grab()) {
      if (sampler_.take(capture_.time())) return true;
    }
    return false;
  }

  Image turned(Image image) const {
    return options_.rotate_clockwise_90 && !image.empty() ? orient(std::move(image), kOrientationClockwise90) : image;
  }

  std::string label() const {
    const std::string& name = capture_.name();
    return name.find("://") == std::string::npos ? std::filesystem::path(name).filename().string() : name;
  }

  SourceFrame frame(std::int64_t index, const Image& image) const {
    SourceFrame frame;
    frame.source_index = index;
    frame.timestamp = capture_.time();
    frame.name = label() + " at " + text_of_seconds(capture_.time());
    if (image.empty()) {
      frame.error = message(capture_.name(), ": the frame at ", text_of_seconds(capture_.time()), " cannot be decoded");
      return frame;
    }
    const PreprocessGeometry geometry = plan_preprocess({image.width, image.height}, options_.preprocess());
    if (geometry.width > plan_.width || geometry.height > plan_.height) {
      frame.error = message(capture_.name(), ": the picture grows to ", image.width, " x ", image.height, " at ",
                            text_of_seconds(capture_.time()), ", larger than the first frame");
      return frame;
    }
    frame.geometry = widen(geometry, plan_.width, plan_.height);
    frame.image = preprocess(image, frame.geometry);
    return frame;
  }

  /// Frame counts are estimates in some containers, so a few missing frames mean nothing.
  void warn_if_short() {
    if (stopped_ || std::exchange(ended_, true) || !capture_.announced()) return;
    const std::int64_t announced = *capture_.announced();
    if (capture_.grabbed() < announced - std::max<std::int64_t>(2, announced / 50)) {
      plan_.warnings.push_back(message(capture_.name(), ": the video ended after ", capture_.grabbed(),
                                       " frames, but announces ", announced, "; is the file cut off?"));
    }
  }

  SourceOptions options_;
  Capture capture_;
  TimeSampler sampler_;
  Image first_;  // decoded when the video was opened, until next() gives it away
  SizePlan plan_;
  std::int64_t sampled_ = 0;
  bool ended_ = false;
  std::atomic<bool> stopped_ = false;
};

}  // namespace

std::unique_ptr<FrameSource> open_video(const std::string& source, const SourceOptions& options) {
  return std::make_unique<Video>(source, options);
}

}  // namespace lingbot_map
