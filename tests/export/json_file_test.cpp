#include "export/json_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "expect_error.hpp"
#include "file_size_limit.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using nlohmann::ordered_json;
using test::content_of;

TEST(WriteJson, KeepsTheOrderAndReplacesAnOlderFile) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "run.json", "an older and longer file than the one that follows it");
  write_json(folder / "run.json", ordered_json{{"z", 1}, {"a", {1.5, true}}});
  EXPECT_EQ(content_of(folder / "run.json"), "{\n  \"z\": 1,\n  \"a\": [\n    1.5,\n    true\n  ]\n}\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "run.json.part"));
}

TEST(WriteJson, IsReadableWhateverTheValues) {
  const test::TemporaryFolder folder;
  write_json(folder / "run.json",
             ordered_json{{"seconds", std::numeric_limits<double>::quiet_NaN()}, {"name", "caf\xe9.png"}});
  const auto again = ordered_json::parse(content_of(folder / "run.json"));
  EXPECT_TRUE(again["seconds"].is_null());
  EXPECT_EQ(again["name"], "caf\xef\xbf\xbd.png");
}

TEST(WriteJson, AFullDiskLeavesTheOlderFile) {
  const test::TemporaryFolder folder;
  write_json(folder / "run.json", {{"status", "running"}});
  {
    const test::FileSizeLimit limit(100);
    test::expect_error(
        ErrorCode::output,
        [&] {
          write_json(folder / "run.json", {{"text", std::string(1000, 'x')}});
        },
        testing::HasSubstr("run.json"));
  }
  EXPECT_EQ(ordered_json::parse(content_of(folder / "run.json"))["status"], "running");
}

}  // namespace
}  // namespace lingbot_map
