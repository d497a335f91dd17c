#include "base/json_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

TEST(JsonFields, ReadsWhatIsThere) {
  const auto fields = JsonFields::parse(
      R"({"n": -3, "x": 1.5, "yes": true, "t": "a", "list": ["b", "c"], "none": null, "in": {"k": 7}, "some": [3, 1], "all": [{"k": 5}, {}]})",
      "f.json");
  EXPECT_EQ(fields.integer("n", -3, 3), -3);
  EXPECT_EQ(fields.number("x"), 1.5);
  EXPECT_TRUE(fields.flag("yes"));
  EXPECT_EQ(fields.text("t"), "a");
  EXPECT_THAT(fields.texts("list"), testing::ElementsAre("b", "c"));
  EXPECT_EQ(fields.optional_number("none"), std::nullopt);
  EXPECT_EQ(fields.optional_integer("n", -9, 9), -3);
  EXPECT_EQ(fields.object("in").integer("k", 0, 9), 7);
  EXPECT_THAT(fields.integers("some", 1, 3), testing::ElementsAre(3, 1));
  ASSERT_EQ(fields.objects("all").size(), 2U);
  EXPECT_EQ(fields.objects("all")[0].integer("k", 0, 9), 5);
}

TEST(JsonFields, NamesFileAndFieldOfWhatIsNot) {
  const auto fields = JsonFields::parse(
      R"({"n": 4, "big": 18446744073709551615, "x": "1", "list": [1], "in": {"k": 1e300}, "all": [{}, {}]})", "f.json");
  const auto refused = [](auto&& read, const char* part) {
    expect_error(ErrorCode::input, read, AllOf(HasSubstr("f.json"), HasSubstr(part)));
  };
  refused([&] { (void)fields.integer("missing", 0, 1); }, "no field missing");
  refused([&] { (void)fields.integer("n", 0, 3); }, "n is 4, expected a whole number from 0 to 3");
  refused([&] { (void)fields.integer("big", 0, INT64_MAX); }, "big is 18446744073709551615");
  refused([&] { (void)fields.integer("x", 0, 3); }, "x is");
  refused([&] { (void)fields.number("x"); }, "expected a number");
  refused([&] { (void)fields.flag("n"); }, "true or false");
  refused([&] { (void)fields.text("n"); }, "a text");
  refused([&] { (void)fields.texts("list"); }, "a list of texts");
  refused([&] { (void)fields.object("n"); }, "an object");
  refused([&] { (void)fields.integers("n", 0, 9); }, "a list of whole numbers");
  refused([&] { (void)fields.integers("list", 2, 9); }, "list is [1], expected a whole number from 2 to 9");
  refused([&] { (void)fields.objects("in"); }, "a list of objects");
  refused([&] { (void)fields.objects("list"); }, "a list of objects");
  refused([&] { (void)fields.objects("all")[1].text("t"); }, "no field all[1].t");
  refused([&] { (void)fields.object("in").integer("k", 0, 9); }, "in.k is 1e+300");
  for (const char* text : {"", "[]", "{", "1", "{}x"})
    refused([&] { (void)JsonFields::parse(text, "f.json"); }, "no JSON object");
  refused([] { (void)JsonFields::parse("{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}", "f.json"); },
          "nested too deeply");
}

}  // namespace
}  // namespace lingbot_map
