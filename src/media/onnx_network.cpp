#include "media/onnx_network.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <opencv2/dnn.hpp>
#include <string_view>
#include <utility>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "media/opencv.hpp"

namespace lingbot_map {
namespace {

constexpr std::uint64_t kMaxFileBytes = (std::uint64_t{1} << 31) - 1;  // of a protobuf message

std::vector<std::byte> content_of(const File& file) {
  if (file.size() > kMaxFileBytes)
    fail(ErrorCode::input, file.name(), ": ", file.size(), " bytes, expected an ONNX model below 2 GiB");
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
  file.read(0, bytes);
  return bytes;
}

std::string digest_of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

/// Calls OpenCV. Throws Error(input) with what it has to say, in one line and without its source's place; a damaged
/// model makes it throw other exceptions than its own, too.
template <typename Call>
auto guarded(const std::string& name, std::string_view what_failed, Call call) {
  try {
    return call();
  } catch (const cv::Exception& error) {
    fail(ErrorCode::input, name, ": OpenCV cannot ", what_failed, ": ", printable(error.err, 200));
  } catch (const std::exception& error) {
    fail(ErrorCode::input, name, ": OpenCV cannot ", what_failed, ": ", printable(error.what(), 200));
  }
}

}  // namespace

class OnnxNetwork::Impl {
 public:
  explicit Impl(const File& file) : Impl(file.name(), content_of(file)) {}

  FloatMap run(std::span<const float> input, int width, int height) {
    const std::array<int, 4> shape = {1, 3, height, width};
    const cv::Mat blob(static_cast<int>(shape.size()), shape.data(), CV_32F, const_cast<float*>(input.data()));
    return map_of(guarded(name_, "run this network", [&] {
      net_.setInput(blob);
      return net_.forward(output_);
    }));
  }

  OnnxInterface interface;
  std::string sha256;

 private:
  Impl(std::string name, std::span<const std::byte> bytes)
      : interface(parse_onnx_interface(bytes, name)), sha256(digest_of(bytes)), name_(std::move(name)) {
    silence_opencv();
    net_ = guarded(name_, "read this ONNX model", [&] {
      return cv::dnn::readNetFromONNX(reinterpret_cast<const char*>(bytes.data()), bytes.size());  // NOLINT: its bytes
    });
    output_ = name_of_first_output();
  }

  /// OpenCV lists outputs in an order of its own, and under names that end in the node's name, or if that has none in
  /// the output's.
  std::string name_of_first_output() const {
    const std::vector<std::string> names = net_.getUnconnectedOutLayersNames();
    if (names.empty()) fail(ErrorCode::input, name_, ": OpenCV finds no output in this ONNX model");
    const OnnxValue& output = interface.outputs.front();
    const std::string& wanted = output.node.empty() ? output.name : output.node;
    const auto named = std::ranges::find_if(
        names, [&](const std::string& name) { return name == wanted || name.ends_with("!" + wanted); });
    return named == names.end() ? names.front() : *named;
  }

  FloatMap map_of(const cv::Mat& output) const {
    const std::vector<std::int64_t> shape(&output.size[0], &output.size[0] + output.dims);
    const bool is_map = shape.size() >= 2 && output.depth() == CV_32F && output.isContinuous() &&
                        std::all_of(shape.begin(), shape.end() - 2, [](std::int64_t size) { return size == 1; });
    if (!is_map)
      fail(ErrorCode::input, name_, ": the network's first output has the shape ", shape_text(shape),
           ", expected one map of height x width");
    FloatMap map{.width = output.size[output.dims - 1], .height = output.size[output.dims - 2], .values = {}};
    map.values.assign(output.ptr<float>(), output.ptr<float>() + output.total());
    return map;
  }

  std::string name_;
  cv::dnn::Net net_;
  std::string output_;
};

OnnxNetwork::OnnxNetwork(const std::filesystem::path& path, int threads)
    : impl_(std::make_unique<Impl>(File::open(path))) {
  if (threads > 0) cv::setNumThreads(threads);
}
OnnxNetwork::~OnnxNetwork() = default;

const OnnxInterface& OnnxNetwork::interface() const noexcept { return impl_->interface; }
const std::string& OnnxNetwork::sha256() const noexcept { return impl_->sha256; }

FloatMap OnnxNetwork::run(std::span<const float> input, int width, int height) {
  check(input.size() == 3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height), input.size(),
        " samples for an image of ", width, " x ", height);
  return impl_->run(input, width, height);
}

}  // namespace lingbot_map
