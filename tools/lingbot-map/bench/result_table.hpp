#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

namespace lingbot_map::tool {

enum class OutputFormat { markdown, json };
/// "md" or "json". Throws Error(usage).
[[nodiscard]] OutputFormat output_format(const std::string& name);

/// A column of the Markdown table and the entry of a result that it shows.
struct Column {
  std::string title;
  std::string entry;  ///< a JSON pointer: "/latency_ms/median"
  /// What numbers are multiplied by; whole numbers stay whole only with 1.
  double factor = 1;
  int decimals = 2;  ///< of numbers that are not whole; negative: as many significant digits, with an exponent
};

/// Results as they come: rows of a Markdown table, or one JSON array in which every result stands by itself, with the
/// machine, the build and the settings.
class ResultTable {
 public:
  /// `common`: entries that every result has; only JSON repeats them. `out` must outlive it.
  ResultTable(std::ostream& out, OutputFormat format, nlohmann::ordered_json common);
  /// Ends the array.
  ~ResultTable();
  ResultTable(const ResultTable&) = delete;
  ResultTable& operator=(const ResultTable&) = delete;

  /// Columns of the rows from now on, under a head of their own. Nothing in JSON.
  void columns(std::vector<Column> columns);
  void add(const nlohmann::ordered_json& result);
  /// A line of text, for people only: nothing in JSON.
  void note(const std::string& line);

 private:
  std::ostream& out_;
  OutputFormat format_;
  nlohmann::ordered_json common_;
  std::vector<Column> columns_;
  bool first_ = true;
  bool in_table_ = false;
};

/// The build, the device and its driver: what a number means nothing without.
[[nodiscard]] nlohmann::ordered_json machine_json(const std::string& device);

}  // namespace lingbot_map::tool
