#include "checkpoint/safetensors.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/little_endian.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "checkpoint/elements.hpp"
#include "checkpoint/safetensors_header.hpp"
#include "checkpoint/tensor_list.hpp"

namespace lingbot_map {
namespace {

using Range = SafetensorsHeader::Range;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit

void check_sizes(const SafetensorsHeader& header, const std::string& source) {
  for (std::size_t i = 0; i < header.tensors.size(); ++i) {
    const TensorInfo& info = header.tensors[i];
    const Range& range = header.ranges[i];
    const std::optional<std::int64_t> elements = element_count(info.shape);
    const bool fits = elements && range.begin <= range.end &&
                      range.end - range.begin == static_cast<std::uint64_t>(*elements) * size_of(info.dtype);
    if (!fits) {
      fail(ErrorCode::input, source, ": tensor ", printable(info.name), ": data_offsets ", range.begin, " to ",
           range.end, " do not match ", safetensors_name_of(info.dtype), " ", info.shape_text(),
           "; the file is damaged, get it again");
    }
  }
}

void check_coverage(const SafetensorsHeader& header, std::uint64_t data_bytes, const std::string& source) {
  std::vector<std::size_t> order(header.ranges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(header.ranges[i].begin, header.ranges[i].end); });
  std::uint64_t end = 0;
  for (const std::size_t i : order) {
    if (header.ranges[i].begin != end) {
      fail(ErrorCode::input, source, ": tensor ", printable(header.tensors[i].name), ": begins at byte ",
           header.ranges[i].begin, " of the data, expected ", end, "; the file is damaged, get it again");
    }
    end = header.ranges[i].end;
  }
  if (end != data_bytes) {
    fail(ErrorCode::input, source, ": has ", data_bytes, " bytes of data, expected ", end,
         end > data_bytes ? "; the file is incomplete, get it again" : "; the file is damaged, get it again");
  }
}

class SafetensorsCheckpoint final : public Checkpoint {
 public:
  SafetensorsCheckpoint(File file, std::uint64_t data, SafetensorsHeader header)
      : file_(std::move(file)),
        data_(data),
        tensors_(std::move(header.tensors), file_.name()),
        ranges_(std::move(header.ranges)),
        config_(std::move(header.config)) {}

  [[nodiscard]] const std::vector<TensorInfo>& tensors() const override { return tensors_.all(); }
  [[nodiscard]] const TensorInfo* find(std::string_view name) const override { return tensors_.find(name); }
  [[nodiscard]] std::optional<std::string> config_json() const override { return config_; }
  [[nodiscard]] std::string_view format() const override { return "safetensors"; }
  [[nodiscard]] const std::string& source() const override { return file_.name(); }
  [[nodiscard]] const std::vector<std::string>& ignored_entries() const override { return ignored_; }

  void read(const TensorInfo& info, std::span<float> out) const override {
    const std::size_t index = tensors_.checked_index(info, out.size());
    const std::uint64_t begin = data_ + ranges_[index].begin;
    read_elements(
        tensors_.all()[index].dtype,
        [&](std::uint64_t offset, std::span<std::byte> bytes) { file_.read(begin + offset, bytes); }, out);
  }

 private:
  File file_;
  std::uint64_t data_;
  TensorList tensors_;
  std::vector<Range> ranges_;
  std::optional<std::string> config_;
  std::vector<std::string> ignored_;
};

}  // namespace

std::unique_ptr<Checkpoint> open_safetensors(File file) {
  if (file.size() < kLengthBytes) {
    fail(ErrorCode::input, file.name(), ": has ", file.size(), " bytes, expected a safetensors header; get it again");
  }
  const auto length = load_le<std::uint64_t>(file.read_text(0, kLengthBytes));
  if (length > kLongestHeader || length > file.size() - kLengthBytes) {
    fail(ErrorCode::input, file.name(), ": says that its safetensors header has ", length, " bytes, expected at most ",
         std::min(kLongestHeader, file.size() - kLengthBytes), "; the file is incomplete or damaged, get it again");
  }
  SafetensorsHeader header =
      parse_safetensors_header(file.read_text(kLengthBytes, static_cast<std::size_t>(length)), file.name());
  const std::uint64_t data = kLengthBytes + length;
  check_sizes(header, file.name());
  check_coverage(header, file.size() - data, file.name());
  return std::make_unique<SafetensorsCheckpoint>(std::move(file), data, std::move(header));
}

}  // namespace lingbot_map
