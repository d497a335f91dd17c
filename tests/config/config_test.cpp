#include "lingbot_map/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

TEST(Config, TheTwoNamedOnesAreThoseOfTheDocumentation) {
  const Config official = Config::official();
  EXPECT_EQ(official.grid_size(), 37);
  EXPECT_EQ(official.special_tokens(), 6);
  EXPECT_EQ(official.to_json(),
            R"({"image_size":518,"patch_size":14,"embed_dim":1024,"num_heads":16,"encoder_depth":24,"depth":24,)"
            R"("num_register_tokens":4,"selected_layers":[4,11,17,23],"camera_trunk_depth":4,"camera_num_heads":16,)"
            R"("camera_rope":false,"dpt_features":256,"dpt_out_channels":[256,512,1024,1024],"has_point_head":false})");
  EXPECT_EQ(Config::tiny().to_json(),
            R"({"image_size":112,"patch_size":14,"embed_dim":128,"num_heads":2,"encoder_depth":2,"depth":4,)"
            R"("num_register_tokens":4,"selected_layers":[0,1,2,3],"camera_trunk_depth":2,"camera_num_heads":2,)"
            R"("camera_rope":false,"dpt_features":32,"dpt_out_channels":[16,32,64,64],"has_point_head":false})");
}

TEST(Config, ReadsWhatItWrites) {
  Config config = Config::tiny();
  config.camera_rope = true;
  config.has_point_head = true;
  config.selected_layers = {0, 1, 2, 3};
  EXPECT_EQ(Config::from_json(config.to_json(), "test"), config);
}

TEST(Config, MissingKeysKeepTheDefaults) {
  EXPECT_EQ(Config::from_json("{}", "test"), Config::official());
  Config expected = Config::tiny();
  expected.camera_rope = true;
  EXPECT_EQ(Config::from_json(R"({"camera_rope":true})", "test", Config::tiny()), expected);
}

TEST(Config, WhatIsNoConfigurationIsRefused) {
  const auto refused = [](const std::string& text, const auto& message) {
    expect_error(
        ErrorCode::input, [&] { (void)Config::from_json(text, "c.json"); },
        AllOf(testing::StartsWith("c.json: "), message));
  };
  for (const char* text : {"", "{", "[]", "null", "7", "{\"depth\":}", "{} {}", "{\"a\xff\":1}"}) {
    refused(text, HasSubstr("no JSON object"));
  }
  refused("{\"depht\":24}", HasSubstr("unknown key depht"));
  refused("{\"a\\nb\":24}", HasSubstr("unknown key a\\x0ab"));
  refused("{\"depth\":\"24\"}", AllOf(HasSubstr("depth is \"24\""), HasSubstr("a whole number")));
  refused("{\"depth\":24.0}", HasSubstr("a whole number"));
  refused("{\"depth\":4294967320}", HasSubstr("a whole number"));
  refused("{\"depth\":-9223372036854775808}", HasSubstr("a whole number"));
  refused("{\"camera_rope\":0}", AllOf(HasSubstr("camera_rope"), HasSubstr("true or false")));
  refused("{\"selected_layers\":[4,11,17]}", HasSubstr("four whole numbers"));
  refused("{\"dpt_out_channels\":[256,512,1024,1e3]}", HasSubstr("four whole numbers"));
  refused("{\"depth\":" + std::string(1000, '[') + std::string(1000, ']') + "}", HasSubstr("nested too deeply"));
  refused("{\"depth\":" + std::string(100'000, ' ') + "1}", HasSubstr("expected at most 65536"));
}

TEST(Config, SizesThatContradictEachOtherAreRefused) {
  const auto refused = [](void (*spoil)(Config&), const char* message) {
    Config config;
    spoil(config);
    expect_error(
        ErrorCode::input, [&] { config.validate("c.json"); },
        AllOf(testing::StartsWith("c.json: "), HasSubstr(message)));
  };
  refused([](Config& c) { c.image_size = 519; }, "image_size 519 is no multiple of patch_size 14");
  refused([](Config& c) { c.image_size = 0; }, "image_size is 0");
  refused([](Config& c) { c.patch_size = -14; }, "patch_size is -14");
  refused([](Config& c) { c.embed_dim = 1000; }, "embed_dim");
  refused([](Config& c) { c.embed_dim = 1 << 30; }, "embed_dim is 1073741824");
  refused([](Config& c) { c.num_heads = 8; }, "num_heads is 8");
  refused([](Config& c) { c.camera_num_heads = 8; }, "camera_num_heads is 8");
  refused([](Config& c) { c.encoder_depth = 0; }, "encoder_depth is 0");
  refused([](Config& c) { c.depth = 1 << 20; }, "depth is 1048576");
  refused([](Config& c) { c.depth = 23; }, "selected_layers");
  refused([](Config& c) { c.selected_layers = {4, 4, 17, 23}; }, "found 4 after 4");
  refused([](Config& c) { c.selected_layers = {-1, 4, 17, 23}; }, "selected_layers");
  refused([](Config& c) { c.num_register_tokens = -1; }, "num_register_tokens is -1");
  refused([](Config& c) { c.camera_trunk_depth = 0; }, "camera_trunk_depth is 0");
  refused([](Config& c) { c.dpt_features = 36; }, "dpt_features is 36");
  refused([](Config& c) { c.dpt_out_channels[2] = 30; }, "dpt_out_channels holds 30");
}

TEST(Config, MutatedTextIsReadOrRefused) {
  std::mt19937 random(4);
  const std::string whole = Config::official().to_json();
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (unsigned times = 1 + random() % 3; times > 0; --times) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>(random() % 256);
      } else {
        text.erase(at, 1 + random() % 4);
      }
    }
    try {
      (void)Config::from_json(text, "c.json");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::input) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace lingbot_map
