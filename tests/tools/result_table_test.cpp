#include "bench/result_table.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "expect_error.hpp"

namespace lingbot_map::tool {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<Column> kColumns = {
    {"name", "/name"}, {"ms", "/time/median", 1000, 1}, {"n", "/n"}, {"error", "/error", 1, -2}};
const Json kFirst = {{"name", "a"}, {"time", {{"median", 0.0123}}}, {"n", 7}, {"error", 0.000123}};
const Json kSecond = {{"name", "b"}, {"time", nullptr}, {"error", nullptr}};

std::string printed(OutputFormat format, const std::vector<Json>& results) {
  std::ostringstream out;
  {
    ResultTable table(out, format, {{"commit", "abc"}});
    table.note("a machine");
    table.columns(kColumns);
    for (const Json& result : results) table.add(result);
  }
  return out.str();
}

TEST(ResultTable, IsMarkdownForPeople) {
  EXPECT_EQ(printed(OutputFormat::markdown, {kFirst, kSecond}),
            "a machine\n\n"
            "| name | ms | n | error |\n|---|---|---|---|\n"
            "| a | 12.3 | 7 | 1.2e-04 |\n"
            "| b | - | - | - |\n");
}

TEST(ResultTable, IsAnArrayOfWholeResultsForPrograms) {
  const Json json = Json::parse(printed(OutputFormat::json, {kFirst, kSecond}));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["commit"], "abc");
  EXPECT_EQ(json[1]["commit"], "abc");
  EXPECT_EQ(json[0]["time"]["median"], 0.0123);
  EXPECT_EQ(Json::parse(printed(OutputFormat::json, {})).size(), 0U);
}

TEST(ResultTable, KnowsTwoFormats) {
  EXPECT_EQ(output_format("md"), OutputFormat::markdown);
  EXPECT_EQ(output_format("json"), OutputFormat::json);
  test::expect_error(
      ErrorCode::usage, [] { static_cast<void>(output_format("csv")); },
      testing::HasSubstr("--output: found \"csv\", expected md or json"));
}

TEST(MachineJson, NamesBuildAndDevice) {
  const Json json = machine_json("cpu");
  EXPECT_NE(json["commit"], "");
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_NE(json["device_name"], "");
  EXPECT_EQ(json["driver"], nullptr);
}

}  // namespace
}  // namespace lingbot_map::tool
