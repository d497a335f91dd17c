#include "checkpoint/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/message.hpp"
#include "base/text.hpp"
#include "checkpoint/safetensors.hpp"

namespace lingbot_map {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostDimensions = 16;

constexpr std::array<std::pair<std::string_view, DType>, 10> kTypes = {{{"F32", DType::f32},
                                                                        {"F16", DType::f16},
                                                                        {"BF16", DType::bf16},
                                                                        {"F64", DType::f64},
                                                                        {"I64", DType::i64},
                                                                        {"I32", DType::i32},
                                                                        {"I16", DType::i16},
                                                                        {"I8", DType::i8},
                                                                        {"U8", DType::u8},
                                                                        {"BOOL", DType::boolean}}};

/// Takes the header as a stream of events: only what the format allows is accepted, so that no tree is ever built.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& source) : source_(source) {}
  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_float(double, const std::string&) override { return refuse("a fraction"); }
  bool number_integer(std::int64_t) override { return refuse("a negative number"); }
  bool binary(Json::binary_t&) override { return refuse("binary data"); }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ == Place::shape && value <= std::numeric_limits<std::int64_t>::max()) {
      if (info_.shape.size() >= kMostDimensions) return refuse("too many dimensions");
      info_.shape.push_back(static_cast<std::int64_t>(value));
    } else if (place_ == Place::offsets && offsets_ < 2) {
      (offsets_ == 0 ? range_.begin : range_.end) = value;
      ++offsets_;
    } else {
      return refuse("a number");
    }
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      if (key_ == kConfigMetadata) header_.config = std::move(value);
    } else if (place_ == Place::tensor && key_ == "dtype") {
      const auto type = std::ranges::find(kTypes, value, &std::pair<std::string_view, DType>::first);
      if (type == kTypes.end()) {
        fail(ErrorCode::input, source_, ": tensor ", printable(info_.name), ": dtype ", printable(value),
             ", expected F32, F16, BF16, F64, a signed integer up to 64 bits, U8 or BOOL; convert it first");
      }
      info_.dtype = type->second;
      has_type_ = true;
    } else {
      return refuse("a text");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top && key_ == "__metadata__") {
      place_ = Place::metadata;
    } else if (place_ == Place::top) {
      place_ = Place::tensor;
      info_ = {};
      info_.name = key_;
      has_type_ = has_shape_ = false;
      offsets_ = 0;
    } else {
      return refuse("an object");
    }
    return true;
  }

  bool key(std::string& value) override {
    key_ = std::move(value);
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) {
      if (!has_type_ || !has_shape_ || offsets_ != 2) {
        fail(ErrorCode::input, source_, ": tensor ", printable(info_.name),
             ": expected dtype, shape and two data_offsets; the file is damaged, get it again");
      }
      header_.tensors.push_back(std::move(info_));
      header_.ranges.push_back(range_);
    }
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::tensor && key_ == "shape" && !has_shape_) {
      place_ = Place::shape;
      has_shape_ = true;
    } else if (place_ == Place::tensor && key_ == "data_offsets" && offsets_ == 0) {
      place_ = Place::offsets;
    } else {
      return refuse("an array");
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    fail(ErrorCode::input, source_, ": safetensors header is no JSON at byte ", position,
         "; the file is damaged, get it again");
  }

 private:
  enum class Place : std::uint8_t { outside, top, metadata, tensor, shape, offsets };

  bool refuse(const char* found) const {
    const bool in_tensor = place_ == Place::tensor || place_ == Place::shape || place_ == Place::offsets;
    fail(ErrorCode::input, source_, ": ", in_tensor ? "tensor " + printable(info_.name) + ": " : "",
         "safetensors header has ", found, " under ", printable(key_),
         " where the format has none; the file is damaged, get it again");
  }

  const std::string& source_;
  SafetensorsHeader header_;
  Place place_ = Place::outside;
  std::string key_;
  TensorInfo info_;
  SafetensorsHeader::Range range_;
  bool has_type_ = false;
  bool has_shape_ = false;
  int offsets_ = 0;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& source) {
  HeaderReader reader(source);
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

std::string_view safetensors_name_of(DType dtype) noexcept {
  const auto type = std::ranges::find(kTypes, dtype, &std::pair<std::string_view, DType>::second);
  return type == kTypes.end() ? "?" : type->first;
}

}  // namespace lingbot_map
