#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/message.hpp"
#include "base/sha256.hpp"
#include "media/frame_source.hpp"
#include "media/image.hpp"
#include "media/image_files.hpp"

namespace lingbot_map {

namespace {

class ImageFolder final : public FrameSource {
 public:
  ImageFolder(const std::filesystem::path& folder, const SourceOptions& options)
      : options_(options), turn_(options.rotate_clockwise_90 ? Turn::raw_clockwise_90 : Turn::upright) {
    options.validate();
    files_ = list_images(folder);
    const auto files = static_cast<std::int64_t>(files_.size());
    end_ = options.first_k ? std::min(files, *options.first_k) : files;
    plan_ = plan_sizes(read_sizes(), options_.preprocess());
  }

  std::optional<SourceFrame> next() override {
    if (next_ >= end_ || stopped_) return std::nullopt;
    SourceFrame frame;
    frame.source_index = std::exchange(next_, next_ + step());
    const std::filesystem::path& file = files_[static_cast<std::size_t>(frame.source_index)];
    frame.name = file.filename().string();
    try {
      decode(file, frame);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) throw;
      frame.image = Image();
      frame.error = error.what();
    }
    return frame;
  }

  std::optional<std::int64_t> expected_frames() const override { return (end_ + step() - 1) / step(); }
  int width() const noexcept override { return plan_.width; }
  int height() const noexcept override { return plan_.height; }
  std::vector<std::string> warnings() const override { return plan_.warnings; }
  void skip_to(std::int64_t source_index) override {
    while (next_ < std::min(source_index, end_)) next_ += step();
  }
  bool repeatable() const noexcept override { return true; }
  std::string fingerprint() const override {
    Sha256 sha;
    for (std::int64_t i = 0; i < end_; i += step()) {
      const std::filesystem::path& file = files_[static_cast<std::size_t>(i)];
      std::error_code ignored;  // what cannot be asked becomes a bad frame
      const std::string line = message(file.filename().string(), '\0', std::filesystem::file_size(file, ignored), '\n');
      sha.update(std::as_bytes(std::span(line)));
    }
    return sha.finish();
  }
  void stop() noexcept override { stopped_ = true; }

 private:
  /// No further than past the end, so that adding it never overflows.
  std::int64_t step() const noexcept { return std::min(options_.stride, end_); }

  /// Sizes of the files that will be used. Files without a readable header become bad frames later; only if all are
  /// such is the first one's error thrown.
  std::vector<NamedSize> read_sizes() const {
    std::vector<NamedSize> sizes;
    std::optional<Error> first_error;
    for (std::int64_t i = 0; i < end_; i += step()) {
      const std::filesystem::path& file = files_[static_cast<std::size_t>(i)];
      try {
        sizes.push_back({file.filename().string(), read_image_size(file, turn_)});
      } catch (const Error& error) {
        if (!first_error) first_error = error;
      }
    }
    if (sizes.empty()) throw *first_error;
    return sizes;
  }

  void decode(const std::filesystem::path& file, SourceFrame& frame) const {
    const Image image = decode_image(file, turn_);
    PreprocessGeometry geometry;
    try {
      geometry = plan_preprocess({image.width, image.height}, options_.preprocess());
    } catch (const Error& error) {
      fail(error.code(), file.string(), ": ", error.what());
    }
    if (geometry.width > plan_.width || geometry.height > plan_.height) {
      fail(ErrorCode::input, file.string(), ": is larger now than when the folder was opened");
    }
    frame.geometry = widen(geometry, plan_.width, plan_.height);
    frame.image = preprocess(image, frame.geometry);
    if (is_stored_upright(file, turn_)) frame.file = file;
  }

  SourceOptions options_;
  Turn turn_;
  std::vector<std::filesystem::path> files_;
  std::int64_t end_ = 0;
  std::int64_t next_ = 0;
  SizePlan plan_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace

void SourceOptions::validate() const {
  preprocess().validate();
  constexpr double kMostFps = 1e4;
  if (!(fps > 0 && fps <= kMostFps)) {
    fail(ErrorCode::usage, "--fps: found ", fps, ", expected a number above 0, at most ", kMostFps);
  }
  if (first_k && *first_k < 1) fail(ErrorCode::usage, "--first_k: found ", *first_k, ", expected 1 or more");
  if (stride < 1) fail(ErrorCode::usage, "--stride: found ", stride, ", expected 1 or more");
}

std::unique_ptr<FrameSource> open_image_folder(const std::filesystem::path& folder, const SourceOptions& options) {
  return std::make_unique<ImageFolder>(folder, options);
}

}  // namespace lingbot_map
