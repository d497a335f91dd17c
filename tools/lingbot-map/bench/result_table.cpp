#include "bench/result_table.hpp"

#include <cmath>
#include <iomanip>
#include <sstream>
#include <utility>

#include "choices.hpp"
#include "lingbot_map/device_info.hpp"
#include "lingbot_map/version.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string cell(const Json& result, const Column& column) {
  const Json::json_pointer pointer(column.entry);
  if (!result.contains(pointer)) return "-";
  const Json& value = result.at(pointer);
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer() && column.factor == 1) return value.dump();
  if (!value.is_number()) return value.dump();
  std::ostringstream text;
  if (column.decimals < 0) {
    text << std::scientific << std::setprecision(-column.decimals - 1);
  } else {
    text << std::fixed << std::setprecision(column.decimals);
  }
  text << column.factor * value.get<double>();
  return text.str();
}

}  // namespace

OutputFormat output_format(const std::string& name) {
  return choice("--output", name, {"md", "json"}) == 0 ? OutputFormat::markdown : OutputFormat::json;
}

ResultTable::ResultTable(std::ostream& out, OutputFormat format, Json common)
    : out_(out), format_(format), common_(std::move(common)) {
  if (format_ == OutputFormat::json) out_ << '[' << std::flush;
}

ResultTable::~ResultTable() {
  if (format_ == OutputFormat::json) out_ << (first_ ? "]\n" : "\n]\n") << std::flush;
}

void ResultTable::columns(std::vector<Column> columns) {
  columns_ = std::move(columns);
  if (format_ == OutputFormat::json) return;
  if (in_table_) out_ << '\n';
  in_table_ = true;
  out_ << '|';
  for (const Column& column : columns_) out_ << ' ' << column.title << " |";
  out_ << "\n|";
  for (std::size_t i = 0; i < columns_.size(); ++i) out_ << "---|";
  out_ << '\n' << std::flush;
}

void ResultTable::add(const Json& result) {
  if (format_ == OutputFormat::json) {
    Json whole = common_;
    whole.update(result);
    out_ << (first_ ? "\n" : ",\n") << whole.dump() << std::flush;
    first_ = false;
    return;
  }
  out_ << '|';
  for (const Column& column : columns_) out_ << ' ' << cell(result, column) << " |";
  out_ << '\n' << std::flush;
}

void ResultTable::note(const std::string& line) {
  if (format_ == OutputFormat::json) return;
  if (in_table_) out_ << '\n';
  in_table_ = false;
  out_ << line << "\n\n" << std::flush;
}

Json machine_json(const std::string& device) {
  const DeviceInfo info = device_info(Device::parse(device));
  return {{"version", version()},
          {"commit", commit()},
          {"features", build_features()},
          {"device", device},
          {"device_name", info.name},
          {"driver", info.driver.empty() ? Json(nullptr) : Json(info.driver)},
          {"compute_capability", info.compute_capability == 0 ? Json(nullptr) : Json(info.compute_capability)},
          {"device_memory_bytes", info.total_bytes}};
}

}  // namespace lingbot_map::tool
