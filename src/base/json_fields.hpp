#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lingbot_map {

/// A JSON object that comes from a file, read field by field. What is missing, of another kind or out of its range is
/// an Error(input) of one line that names the file and the field.
class JsonFields {
 public:
  /// The JSON object that `text` is, at most a few levels deep. `source` is what messages call it. Throws Error(input)
  /// on anything else.
  [[nodiscard]] static JsonFields parse(std::string_view text, std::string source);

  /// An object that was parsed already.
  JsonFields(nlohmann::ordered_json object, std::string source)
      : JsonFields(std::move(object), std::move(source), "") {}

  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t least, std::int64_t most) const;
  /// Finite.
  [[nodiscard]] double number(const std::string& key) const;
  /// Nothing where the file has null.
  [[nodiscard]] std::optional<double> optional_number(const std::string& key) const;
  [[nodiscard]] std::optional<std::int64_t> optional_integer(const std::string& key, std::int64_t least,
                                                             std::int64_t most) const;
  [[nodiscard]] bool flag(const std::string& key) const;
  [[nodiscard]] std::string text(const std::string& key) const;
  [[nodiscard]] std::vector<std::string> texts(const std::string& key) const;
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& key, std::int64_t least, std::int64_t most) const;
  [[nodiscard]] JsonFields object(const std::string& key) const;
  /// A list of objects.
  [[nodiscard]] std::vector<JsonFields> objects(const std::string& key) const;

  [[nodiscard]] bool has(const std::string& key) const { return json_.contains(key); }
  [[nodiscard]] const nlohmann::ordered_json& json() const noexcept { return json_; }
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

 private:
  JsonFields(nlohmann::ordered_json json, std::string source, std::string path)
      : json_(std::move(json)), source_(std::move(source)), path_(std::move(path)) {}
  [[nodiscard]] const nlohmann::ordered_json& at(const std::string& key) const;
  [[nodiscard]] std::int64_t integer_at(const nlohmann::ordered_json& value, const std::string& key, std::int64_t least,
                                        std::int64_t most) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& expected) const;

  nlohmann::ordered_json json_;
  std::string source_;
  std::string path_;  ///< of the object in the file: "", or "counts."
};

}  // namespace lingbot_map
