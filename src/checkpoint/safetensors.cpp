#include "checkpoint/safetensors.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/little_endian.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "checkpoint/elements.hpp"
#include "checkpoint/tensor_list.hpp"

namespace lingbot_map {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit
constexpr int kMostDepth = 8;

std::optional<DType> dtype_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, DType>, 10> kNames = {{{"F32", DType::f32},
                                                                                 {"F16", DType::f16},
                                                                                 {"BF16", DType::bf16},
                                                                                 {"F64", DType::f64},
                                                                                 {"I64", DType::i64},
                                                                                 {"I32", DType::i32},
                                                                                 {"I16", DType::i16},
                                                                                 {"I8", DType::i8},
                                                                                 {"U8", DType::u8},
                                                                                 {"BOOL", DType::boolean}}};
  const auto* const found = std::ranges::find(kNames, name, &std::pair<std::string_view, DType>::first);
  return found != kNames.end() ? std::optional(found->second) : std::nullopt;
}

nlohmann::json parse_header(const std::string& text, const std::string& source) {
  const auto limit_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kMostDepth)
      fail(ErrorCode::input, source, ": the header is nested deeper than ", kMostDepth, " levels");
    return true;
  };
  try {
    return nlohmann::json::parse(text, limit_depth);
  } catch (const nlohmann::json::exception&) {
    fail(ErrorCode::input, source, ": the header is not JSON, expected a safetensors file; get the file again");
  }
}

/// Where a tensor's elements lie.
struct Place {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class SafetensorsCheckpoint final : public Checkpoint {
 public:
  SafetensorsCheckpoint(File file, TensorList tensors, std::vector<Place> places, std::optional<std::string> config)
      : file_(std::move(file)), tensors_(std::move(tensors)), places_(std::move(places)), config_(std::move(config)) {}

  [[nodiscard]] const std::vector<TensorInfo>& tensors() const override { return tensors_.all(); }
  [[nodiscard]] const TensorInfo* find(std::string_view name) const override { return tensors_.find(name); }
  void read(const TensorInfo& info, std::span<float> out) const override {
    const Place& place = places_[tensors_.checked_index(info, out.size())];
    read_elements(
        info.dtype, [&](std::uint64_t offset, std::span<std::byte> bytes) { file_.read(place.begin + offset, bytes); },
        out);
  }
  [[nodiscard]] std::optional<std::string> config_json() const override { return config_; }
  [[nodiscard]] std::string_view format() const override { return "safetensors"; }
  [[nodiscard]] const std::string& source() const override { return file_.name(); }
  [[nodiscard]] const std::vector<std::string>& ignored_entries() const override { return ignored_; }

 private:
  File file_;
  TensorList tensors_;
  std::vector<Place> places_;
  std::optional<std::string> config_;
  std::vector<std::string> ignored_;
};

/// Reads the header of one file.
class HeaderReader {
 public:
  explicit HeaderReader(File file) : file_(std::move(file)), source_(file_.name()) {}

  std::unique_ptr<Checkpoint> open() {
    const nlohmann::json header = parse_header(header_text(), source_);
    if (!header.is_object())
      fail(ErrorCode::input, source_, ": the header is no JSON object, expected tensors by name");
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        read_metadata(entry);
      } else {
        read_tensor(name, entry);
      }
    }
    check_cover();
    TensorList tensors(std::move(infos_), source_);
    return std::make_unique<SafetensorsCheckpoint>(std::move(file_), std::move(tensors), std::move(places_),
                                                   std::move(config_));
  }

 private:
  std::string header_text() {
    if (file_.size() < kLengthBytes) fail(ErrorCode::input, source_, ": is cut off after ", file_.size(), " bytes");
    const auto length = load_le<std::uint64_t>(file_.read_text(0, kLengthBytes));
    if (length > kMostHeaderBytes || length > file_.size() - kLengthBytes) {
      fail(ErrorCode::input, source_, ": names a header of ", length, " bytes, but has ", file_.size() - kLengthBytes,
           " after the length; the file is damaged or cut off, get it again");
    }
    data_ = kLengthBytes + length;
    return file_.read_text(kLengthBytes, static_cast<std::size_t>(length));
  }

  void read_metadata(const nlohmann::json& entry) {
    if (!entry.is_object()) fail(ErrorCode::input, source_, ": __metadata__ is no JSON object");
    const auto config = entry.find(kConfigMetadata);
    if (config == entry.end()) return;
    if (!config->is_string()) fail(ErrorCode::input, source_, ": metadata ", kConfigMetadata, " is no text");
    config_ = config->get<std::string>();
  }

  void read_tensor(const std::string& name, const nlohmann::json& entry) {
    const std::string called = message(source_, ": tensor ", printable(name), ": ");
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets")) {
      fail(ErrorCode::input, called, "expected dtype, shape and data_offsets");
    }
    const auto& dtype_entry = entry.at("dtype");
    const auto dtype = dtype_entry.is_string() ? dtype_of(dtype_entry.get_ref<const std::string&>()) : std::nullopt;
    if (!dtype) {
      fail(ErrorCode::input, called, "has dtype ", printable(dtype_entry.dump(-1, ' ', true)),
           ", expected F32, F16, BF16, F64, I64, I32, I16, I8, U8 or BOOL");
    }
    TensorInfo info{.name = name, .dtype = *dtype, .shape = {}};
    for (const std::uint64_t extent : numbers(entry.at("shape"), called, "shape")) {
      info.shape.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(extent, INT64_MAX)));
    }
    const auto count = element_count(info.shape);
    if (!count) fail(ErrorCode::input, called, "has the impossible shape ", printable(info.shape_text()));
    const std::vector<std::uint64_t> offsets = numbers(entry.at("data_offsets"), called, "data_offsets");
    const std::uint64_t data_bytes = file_.size() - data_;
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes) {
      fail(ErrorCode::input, called, "lies at ", printable(entry.at("data_offsets").dump(-1, ' ', true)), " of ",
           data_bytes, " bytes; the file is damaged or cut off, get it again");
    }
    const std::uint64_t bytes = static_cast<std::uint64_t>(*count) * size_of(*dtype);
    if (offsets[1] - offsets[0] != bytes) {
      fail(ErrorCode::input, called, "has ", offsets[1] - offsets[0], " bytes, but its shape ", info.shape_text(),
           " of ", name_of(*dtype), " needs ", bytes);
    }
    infos_.push_back(std::move(info));
    places_.push_back({data_ + offsets[0], data_ + offsets[1]});
  }

  static std::vector<std::uint64_t> numbers(const nlohmann::json& entry, const std::string& called, const char* what) {
    const bool good =
        entry.is_array() && std::ranges::all_of(entry, [](const auto& n) { return n.is_number_unsigned(); });
    if (!good) fail(ErrorCode::input, called, what, " is no list of whole numbers from 0 on");
    return entry.get<std::vector<std::uint64_t>>();
  }

  /// The format demands that the tensors lie one after another over the whole data.
  void check_cover() {
    std::vector<std::size_t> order(places_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return std::pair(places_[a].begin, places_[a].end) < std::pair(places_[b].begin, places_[b].end);
    });
    std::uint64_t end = data_;
    for (const std::size_t i : order) {
      if (places_[i].begin != end) {
        fail(ErrorCode::input, source_, ": tensor ", printable(infos_[i].name), ": begins at byte ",
             places_[i].begin - data_, " of the data, expected ", end - data_, ", where the one before it ends");
      }
      end = places_[i].end;
    }
    if (end != file_.size()) {
      fail(ErrorCode::input, source_, ": has ", file_.size() - end,
           " bytes past its last tensor; the file is damaged, get it again");
    }
  }

  File file_;
  std::string source_;
  std::uint64_t data_ = 0;  ///< where the elements begin
  std::vector<TensorInfo> infos_;
  std::vector<Place> places_;
  std::optional<std::string> config_;
};

}  // namespace

std::unique_ptr<Checkpoint> open_safetensors(File file) { return HeaderReader(std::move(file)).open(); }

}  // namespace lingbot_map
