#include "lingbot_map/config.hpp"

#include <gtest/gtest.h>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

Config read(const std::string& text) { return Config::from_json(text, "some.json"); }

TEST(ConfigJson, SurvivesTheWayToTextAndBack) {
  EXPECT_EQ(read(Config::official().to_json()), Config::official());
  EXPECT_EQ(read(Config::tiny().to_json()), Config::tiny());
  Config odd = Config::tiny();
  odd.camera_rope = true;
  odd.has_point_head = true;
  EXPECT_EQ(read(odd.to_json()), odd);
}

TEST(ConfigJson, MissingKeysKeepTheirDefault) {
  EXPECT_EQ(read("{}"), Config::official());
  EXPECT_EQ(read(R"({"camera_rope": true})").camera_rope, true);
  EXPECT_EQ(Config::from_json(R"({"has_point_head": true})", "x", Config::tiny()).embed_dim, 128);
}

TEST(ConfigJson, RefusesWhatIsNoConfiguration) {
  for (const char* text : {"", "[]", "7", "null", "{", R"({"depth": 24)", "\xff\xfe", "{}{}"}) {
    expect_error(
        ErrorCode::input, [&] { (void)read(text); }, AllOf(HasSubstr("some.json"), HasSubstr("JSON object")));
  }
  expect_error(
      ErrorCode::input, [] { (void)read(std::string(10000, '[')); }, HasSubstr("some.json"));
}

TEST(ConfigJson, NamesTheKeyThatIsWrong) {
  expect_error(
      ErrorCode::input, [] { (void)read(R"({"dept": 24})"); }, HasSubstr("unknown key dept"));
  expect_error(
      ErrorCode::input, [] { (void)read(R"({"depth": "24"})"); }, AllOf(HasSubstr("depth"), HasSubstr("whole number")));
  expect_error(
      ErrorCode::input, [] { (void)read(R"({"depth": 24.5})"); }, HasSubstr("depth"));
  expect_error(
      ErrorCode::input, [] { (void)read(R"({"depth": 99999999999999999999})"); }, HasSubstr("depth"));
  expect_error(
      ErrorCode::input, [] { (void)read(R"({"depth": -1})"); }, HasSubstr("depth is -1"));
  expect_error(
      ErrorCode::input, [] { (void)read(R"({"camera_rope": 1})"); }, HasSubstr("true or false"));
  expect_error(
      ErrorCode::input, [] { (void)read(R"({"selected_layers": [1, 2, 3]})"); }, HasSubstr("four whole numbers"));
  expect_error(
      ErrorCode::input, [] { (void)read(R"({"selected_layers": [1, 2, 3, null]})"); }, HasSubstr("selected_layers"));
}

TEST(ConfigValidate, SizesMustFitTogether) {
  const auto refused = [](const char* text, const char* told) {
    expect_error(
        ErrorCode::input, [&] { (void)read(text); }, HasSubstr(told));
  };
  refused(R"({"image_size": 519})", "image_size 519");
  refused(R"({"embed_dim": 100, "num_heads": 1, "camera_num_heads": 1})", "num_heads");
  refused(R"({"num_heads": 8})", "num_heads is 8");
  refused(R"({"camera_num_heads": 8})", "camera_num_heads is 8");
  refused(R"({"selected_layers": [4, 11, 17, 24]})", "24");
  refused(R"({"selected_layers": [4, 4, 17, 23]})", "ascend");
  refused(R"({"selected_layers": [-1, 4, 17, 23]})", "ascend");
  refused(R"({"dpt_features": 0})", "dpt_features");
  refused(R"({"dpt_out_channels": [256, 510, 1024, 1024]})", "510");
  refused(R"({"embed_dim": 2000000000})", "embed_dim");
}

}  // namespace
}  // namespace lingbot_map
