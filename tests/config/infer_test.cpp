#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/synthetic.hpp"
#include "config/manifest.hpp"
#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

/// Tensors without the configuration that synthetic checkpoints carry, as in an original .pt.
class Shapes final : public Checkpoint {
 public:
  explicit Shapes(std::vector<TensorInfo> tensors) : tensors_(std::move(tensors)) {}
  explicit Shapes(const Config& config) : Shapes(manifest(config)) {}

  [[nodiscard]] TensorInfo& operator[](std::string_view name) {
    return *std::ranges::find(tensors_, name, &TensorInfo::name);
  }
  void erase(std::string_view name) {
    std::erase_if(tensors_, [&](const TensorInfo& t) { return t.name == name; });
  }

  [[nodiscard]] const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  [[nodiscard]] const TensorInfo* find(std::string_view name) const override {
    const auto at = std::ranges::find(tensors_, name, &TensorInfo::name);
    return at != tensors_.end() ? &*at : nullptr;
  }
  void read(const TensorInfo&, std::span<float>) const override {}
  [[nodiscard]] std::optional<std::string> config_json() const override { return std::nullopt; }
  [[nodiscard]] std::string_view format() const override { return "shapes"; }
  [[nodiscard]] const std::string& source() const override { return source_; }
  [[nodiscard]] const std::vector<std::string>& ignored_entries() const override { return ignored_; }

 private:
  std::vector<TensorInfo> tensors_;
  std::string source_ = "m.pt";
  std::vector<std::string> ignored_;
};

Config of_depth(int depth) {
  Config config = Config::tiny();
  config.depth = depth;
  return config;
}

constexpr const char* kPositions = "aggregator.patch_embed.pos_embed";

TEST(InferConfig, ShapesTellThoseOfKnownDepth) {
  EXPECT_EQ(infer_config(Shapes(Config::official())), Config::official());
  EXPECT_EQ(infer_config(Shapes(Config::tiny())), Config::tiny());
  EXPECT_EQ(infer_config(*Checkpoint::open(LINGBOT_MAP_TEST_DATA "/tiny_bf16.pt")), Config::tiny());
  Config config = Config::tiny();
  config.image_size = 56;
  config.patch_size = 8;
  config.embed_dim = 192;
  config.num_heads = config.camera_num_heads = 3;
  config.encoder_depth = 11;
  config.num_register_tokens = 7;
  config.camera_trunk_depth = 1;
  config.dpt_features = 40;
  config.dpt_out_channels = {8, 4, 16, 12};
  config.has_point_head = true;
  EXPECT_EQ(infer_config(Shapes(config)), config);
}

TEST(InferConfig, WhatTheFileCarriesWinsOverShapes) {
  Config config = of_depth(6);
  config.selected_layers = {0, 2, 4, 5};
  config.camera_rope = true;
  const auto checkpoint = synthetic_checkpoint(manifest(config), 1, config.to_json());
  EXPECT_EQ(infer_config(*checkpoint), config);
  expect_error(
      ErrorCode::input, [] { (void)infer_config(*synthetic_checkpoint({}, 1, "{\"deep\":1}")); },
      HasSubstr("synthetic model: configuration has the unknown key deep"));
}

TEST(InferConfig, AnUnknownDepthNeedsTheFlag) {
  const test::TemporaryFolder folder;
  const Shapes shapes(of_depth(6));
  expect_error(
      ErrorCode::input, [&] { (void)infer_config(shapes); },
      AllOf(HasSubstr("m.pt: has 6 block groups"), HasSubstr("--config FILE.json")));
  test::write_content(folder / "layers.json", R"({"selected_layers": [0, 2, 4, 5]})");
  Config expected = of_depth(6);
  expected.selected_layers = {0, 2, 4, 5};
  EXPECT_EQ(infer_config(shapes, (folder / "layers.json").string()), expected);
  test::write_content(folder / "other.json", R"({"camera_rope": true})");
  expect_error(
      ErrorCode::input, [&] { (void)infer_config(shapes, (folder / "other.json").string()); },
      AllOf(HasSubstr("other.json"), HasSubstr("selected_layers")));
  // Deep enough for the official layers, which are nevertheless not meant.
  expect_error(
      ErrorCode::input, [&] { (void)infer_config(Shapes(of_depth(30)), (folder / "other.json").string()); },
      HasSubstr("selected_layers"));
}

TEST(InferConfig, NamesAndFilesGiveConfigurations) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(infer_config(Shapes(Config::tiny()), "official"), Config::official());
  EXPECT_EQ(load_config("official"), Config::official());
  EXPECT_EQ(load_config("tiny"), Config::tiny());
  test::write_content(folder / "c.json", Config::tiny().to_json());
  EXPECT_EQ(load_config((folder / "c.json").string()), Config::tiny());
  expect_error(
      ErrorCode::input, [] { (void)load_config("huge"); }, HasSubstr("huge: cannot be opened"));
  test::write_content(folder / "c.json", "{\"depth\":2}");
  expect_error(
      ErrorCode::input, [&] { (void)load_config((folder / "c.json").string()); },
      AllOf(HasSubstr("c.json"), HasSubstr("selected_layers")));
}

TEST(InferConfig, TensorsThatAreMissingOrOddAreNamed) {
  const auto refused = [](void (*spoil)(Shapes&), const auto& message) {
    Shapes shapes(Config::tiny());
    spoil(shapes);
    expect_error(
        ErrorCode::input, [&] { (void)infer_config(shapes); }, AllOf(testing::StartsWith("m.pt: "), message));
  };
  refused([](Shapes& s) { s.erase(kPositions); }, AllOf(HasSubstr(kPositions), HasSubstr("missing")));
  refused([](Shapes& s) { s.erase("aggregator.frame_blocks.0.norm1.weight"); },
          HasSubstr("frame_blocks.0.norm1.weight"));
  refused([](Shapes& s) { s.erase("depth_head.projects.3.weight"); }, HasSubstr("depth_head.projects.3.weight"));
  refused([](Shapes& s) { s.erase("aggregator.frame_blocks.2.norm1.weight"); }, HasSubstr("has 2 block groups"));
  refused([](Shapes& s) { s[kPositions].shape = {65, 128}; }, AllOf(HasSubstr(kPositions), HasSubstr("[65, 128]")));
  refused([](Shapes& s) { s[kPositions].shape = {1, 66, 128}; }, AllOf(HasSubstr("66 positions"), HasSubstr("square")));
  refused([](Shapes& s) { s[kPositions].shape = {1, 1, 128}; }, HasSubstr("1 positions"));
  refused([](Shapes& s) { s[kPositions].shape = {1, 0, 128}; }, HasSubstr("0 positions"));
  refused([](Shapes& s) { s[kPositions].shape = {1, std::int64_t{1} << 47, 1}; }, HasSubstr("positions"));
  refused([](Shapes& s) { s[kPositions].shape = {1, 65, 100}; }, HasSubstr("embed_dim"));
  refused(
      [](Shapes& s) {
        s["aggregator.patch_embed.patch_embed.proj.weight"].shape = {128, 3, 0, 14};
      },
      HasSubstr("patch_size is 0"));
  refused(
      [](Shapes& s) {
        s["aggregator.register_token"].shape = {1, 2, std::int64_t{1} << 40, 1};
      },
      HasSubstr("num_register_tokens"));
}

}  // namespace
}  // namespace lingbot_map
