#include "base/json_fields.hpp"

#include <cmath>
#include <limits>

#include "base/message.hpp"
#include "base/text.hpp"

namespace lingbot_map {

using Json = nlohmann::ordered_json;

JsonFields JsonFields::parse(std::string_view text, std::string source) {
  constexpr int kDeepest = 8;
  const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest)
      fail(ErrorCode::input, source, ": is nested too deeply, expected at most ", kDeepest, " levels");
    return true;
  };
  try {
    Json json = Json::parse(text, limit_depth);
    if (json.is_object()) return {std::move(json), std::move(source), ""};
  } catch (const Json::exception&) {
    // told below
  }
  fail(ErrorCode::input, source, ": found no JSON object, expected {...}; the file is damaged");
}

const Json& JsonFields::at(const std::string& key) const {
  const auto found = json_.find(key);
  if (found == json_.end()) fail(ErrorCode::input, source_, ": has no field ", path_, key, "; the file is damaged");
  return *found;
}

void JsonFields::refuse(const std::string& key, const std::string& expected) const {
  fail(ErrorCode::input, source_, ": ", path_, key, " is ",
       printable(at(key).dump(-1, ' ', true, Json::error_handler_t::replace)), ", expected ", expected,
       "; the file is damaged");
}

std::int64_t JsonFields::integer(const std::string& key, std::int64_t least, std::int64_t most) const {
  return integer_at(at(key), key, least, most);
}

std::vector<std::int64_t> JsonFields::integers(const std::string& key, std::int64_t least, std::int64_t most) const {
  std::vector<std::int64_t> all;
  if (!at(key).is_array()) refuse(key, "a list of whole numbers");
  for (const Json& item : at(key)) all.push_back(integer_at(item, key, least, most));
  return all;
}

std::int64_t JsonFields::integer_at(const Json& value, const std::string& key, std::int64_t least,
                                    std::int64_t most) const {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= largest : value.is_number_integer();
  if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
    refuse(key, message("a whole number from ", least, " to ", most));
  return value.get<std::int64_t>();
}

double JsonFields::number(const std::string& key) const {
  const Json& value = at(key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) refuse(key, "a number");
  return value.get<double>();
}

std::optional<double> JsonFields::optional_number(const std::string& key) const {
  return at(key).is_null() ? std::nullopt : std::optional(number(key));
}

std::optional<std::int64_t> JsonFields::optional_integer(const std::string& key, std::int64_t least,
                                                         std::int64_t most) const {
  return at(key).is_null() ? std::nullopt : std::optional(integer(key, least, most));
}

bool JsonFields::flag(const std::string& key) const {
  if (!at(key).is_boolean()) refuse(key, "true or false");
  return at(key).get<bool>();
}

std::string JsonFields::text(const std::string& key) const {
  if (!at(key).is_string()) refuse(key, "a text");
  return at(key).get<std::string>();
}

std::vector<std::string> JsonFields::texts(const std::string& key) const {
  std::vector<std::string> all;
  if (!at(key).is_array()) refuse(key, "a list of texts");
  for (const Json& item : at(key)) {
    if (!item.is_string()) refuse(key, "a list of texts");
    all.push_back(item.get<std::string>());
  }
  return all;
}

JsonFields JsonFields::object(const std::string& key) const {
  if (!at(key).is_object()) refuse(key, "an object");
  return {at(key), source_, path_ + key + "."};
}

std::vector<JsonFields> JsonFields::objects(const std::string& key) const {
  std::vector<JsonFields> all;
  if (!at(key).is_array()) refuse(key, "a list of objects");
  for (const Json& item : at(key)) {
    if (!item.is_object()) refuse(key, "a list of objects");
    all.push_back({item, source_, message(path_, key, '[', all.size(), "].")});
  }
  return all;
}

}  // namespace lingbot_map
