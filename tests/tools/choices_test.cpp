#include "choices.hpp"

#include "expect_error.hpp"
#include "flags.hpp"
#include "lingbot_map/device_info.hpp"

namespace lingbot_map::tool {
namespace {

using test::expect_error;
using testing::HasSubstr;

TEST(Lists, HaveCommas) {
  EXPECT_EQ(list_of("--x", "a"), std::vector<std::string>{"a"});
  EXPECT_EQ(list_of("--x", "a,b,c"), (std::vector<std::string>{"a", "b", "c"}));
  for (const char* text : {"", ",", "a,", ",a", "a,,b"})
    expect_error(
        ErrorCode::usage, [text] { static_cast<void>(list_of("--x", text)); }, HasSubstr("--x: found \""));
}

TEST(WholeNumbers, HaveNoRest) {
  EXPECT_EQ(whole_number("--x", "72", 1), 72);
  for (const char* text : {"", "0", "-1", "1.5", "2x", " 2", "99999999999999999999"})
    expect_error(
        ErrorCode::usage, [text] { static_cast<void>(whole_number("--x", text, 1)); },
        HasSubstr("expected a whole number of 1 or more"));
}

TEST(Devices, AreNamedOrFound) {
  EXPECT_EQ(device_of("cpu"), Device::cpu());
  EXPECT_EQ(device_of("cuda:2"), Device::cuda(2));
  EXPECT_EQ(device_of("auto"), default_device());
  expect_error(
      ErrorCode::usage, [] { static_cast<void>(device_of("tpu")); }, HasSubstr("expected auto, cpu, cuda or cuda:N"));
  EXPECT_THAT(device_text(Device::cpu()), testing::MatchesRegex("cpu \\(.+\\)"));
}

TEST(FlagNames, MayHaveDashes) {
  CLI::App app;
  Flags flags(app);
  int window = 0;
  int size = 0;
  bool quick = false;
  flags.value("--window_size,--kv_cache_sliding_window", window, "", "N");
  flags.value("--size", size, "", "N");
  flags.flag("--very_quick", quick, "");
  for (const char* name :
       {"--window_size", "--window-size", "--kv_cache_sliding_window", "--kv-cache-sliding-window"}) {
    window = 0;
    app.parse(std::string(name) + " 5 --size 3 --very-quick");
    EXPECT_EQ(window, 5) << name;
  }
  EXPECT_TRUE(quick);
  EXPECT_THAT(app.help(), testing::AllOf(HasSubstr("--window_size N"), testing::Not(HasSubstr("--kv_cache"))));
}

}  // namespace
}  // namespace lingbot_map::tool
