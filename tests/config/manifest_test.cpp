#include "config/manifest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "checkpoint/synthetic.hpp"
#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

std::uint64_t parameters(const std::vector<TensorInfo>& tensors, std::string_view prefix = "") {
  std::uint64_t total = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.name.starts_with(prefix)) total += static_cast<std::uint64_t>(tensor.elements());
  }
  return total;
}

/// A checkpoint of exactly these tensors, with or without the configuration that a file of ours carries.
std::unique_ptr<Checkpoint> holding(std::vector<TensorInfo> tensors) {
  return synthetic_checkpoint(std::move(tensors), 1, Config::tiny().to_json());
}

/// The same as an original file: shapes alone.
class WithoutConfiguration final : public Checkpoint {
 public:
  explicit WithoutConfiguration(std::vector<TensorInfo> tensors) : inner_(holding(std::move(tensors))) {}
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const override { return inner_->tensors(); }
  [[nodiscard]] const TensorInfo* find(std::string_view name) const override { return inner_->find(name); }
  void read(const TensorInfo& info, std::span<float> out) const override { inner_->read(info, out); }
  [[nodiscard]] std::optional<std::string> config_json() const override { return std::nullopt; }
  [[nodiscard]] std::string_view format() const override { return "test"; }
  [[nodiscard]] const std::string& source() const override { return source_; }
  [[nodiscard]] const std::vector<std::string>& ignored_entries() const override { return inner_->ignored_entries(); }

 private:
  std::unique_ptr<Checkpoint> inner_;
  std::string source_ = "original.pt";
};

/// Every tensor but those whose name contains `part`.
std::vector<TensorInfo> without(std::vector<TensorInfo> tensors, const std::string& part) {
  std::erase_if(tensors, [&](const TensorInfo& tensor) { return tensor.name.find(part) != std::string::npos; });
  return tensors;
}

TEST(Manifest, TheOfficialModelHasThePublicCounts) {
  const std::vector<TensorInfo> tensors = manifest(Config::official());
  EXPECT_EQ(tensors.size(), 1342U);
  EXPECT_EQ(parameters(tensors), 1'157'943'540U);
  EXPECT_EQ(parameters(tensors, "aggregator."), 909'114'368U);
  EXPECT_EQ(parameters(tensors, "aggregator.patch_embed."), 304'372'736U);
  EXPECT_EQ(parameters(tensors, "aggregator.frame_blocks."), 302'364'672U);
  EXPECT_EQ(parameters(tensors, "aggregator.global_blocks.7."), 12'598'528U);
  EXPECT_EQ(parameters(tensors, "camera_head."), 216'174'610U);
  EXPECT_EQ(parameters(tensors, "depth_head."), 32'654'562U);
  Config with_points = Config::official();
  with_points.has_point_head = true;
  EXPECT_EQ(parameters(manifest(with_points)), 1'190'598'168U);
}

TEST(Manifest, NamesAreUnique) {
  std::set<std::string> names;
  for (const TensorInfo& tensor : manifest(Config::official()))
    EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
}

TEST(Manifest, IsWhatARealFileHolds) {
  const auto file = Checkpoint::open(LINGBOT_MAP_TEST_DATA "/tiny_bf16.pt");
  EXPECT_EQ(infer_config(*file), Config::tiny());
  const ManifestDifference difference = compare_manifest(*file, Config::tiny());
  EXPECT_TRUE(difference.missing.empty());
  EXPECT_TRUE(difference.wrong_shape.empty());
  EXPECT_TRUE(difference.unexpected.empty());
}

TEST(InferConfig, ShapesTellEveryConfigurationOfAKnownDepth) {
  Config points = Config::tiny();
  points.has_point_head = true;
  points.num_register_tokens = 7;
  points.dpt_out_channels = {8, 12, 16, 20};
  points.dpt_features = 24;
  points.encoder_depth = 3;
  points.camera_trunk_depth = 1;
  for (const Config& config : {Config::official(), Config::tiny(), points}) {
    EXPECT_EQ(infer_config(WithoutConfiguration(manifest(config))), config);
  }
}

TEST(InferConfig, TheFilesOwnConfigurationWins) {
  Config rope = Config::tiny();
  rope.camera_rope = true;  // no shape tells it
  EXPECT_EQ(infer_config(*synthetic_checkpoint(manifest(rope), 1, rope.to_json())), rope);
}

TEST(InferConfig, AnUnknownDepthAsksForTheFlag) {
  Config deep = Config::tiny();
  deep.depth = 6;
  deep.selected_layers = {1, 2, 3, 5};
  const WithoutConfiguration file(manifest(deep));
  expect_error(
      ErrorCode::input, [&] { (void)infer_config(file); },
      AllOf(HasSubstr("original.pt"), HasSubstr("6"), HasSubstr("--config")));
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "layers.json").string();
  std::ofstream(path) << R"({"selected_layers": [1, 2, 3, 5]})";
  EXPECT_EQ(infer_config(file, path), deep);
}

TEST(InferConfig, NamesTheTensorThatTellsNothing) {
  const std::vector<TensorInfo> tensors = manifest(Config::tiny());
  const auto refused = [](std::vector<TensorInfo> left, const std::string& told) {
    expect_error(
        ErrorCode::input, [&] { (void)infer_config(WithoutConfiguration(std::move(left))); },
        AllOf(HasSubstr("original.pt"), HasSubstr(told)));
  };
  refused({}, "pos_embed");
  refused(without(tensors, "pos_embed"), "pos_embed");
  refused(without(tensors, "aggregator.frame_blocks"), "frame_blocks.0");
  refused(without(tensors, "register_token"), "register_token");
  std::vector<TensorInfo> flat = tensors;
  std::ranges::find(flat, "aggregator.patch_embed.pos_embed", &TensorInfo::name)->shape = {65 * 128};
  refused(flat, "3 dimensions");
  std::ranges::find(flat, "aggregator.patch_embed.pos_embed", &TensorInfo::name)->shape = {1, 64, 128};
  refused(flat, "square");
}

TEST(LoadConfig, KnowsTwoNamesAndFiles) {
  EXPECT_EQ(load_config("official"), Config::official());
  EXPECT_EQ(load_config("tiny"), Config::tiny());
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "mine.json").string();
  std::ofstream(path) << Config::tiny().to_json();
  EXPECT_EQ(load_config(path), Config::tiny());
  expect_error(
      ErrorCode::input, [&] { (void)load_config((folder.path() / "none.json").string()); }, HasSubstr("none.json"));
}

TEST(CheckManifest, NamesMissingTensorsAndListsTheUnexpected) {
  std::vector<TensorInfo> tensors = without(manifest(Config::tiny()), "camera_head.trunk.1.");
  tensors.push_back({.name = "optimizer.step", .shape = {1}});
  const auto file = holding(tensors);
  expect_error(
      ErrorCode::input, [&] { (void)check_manifest(*file, Config::tiny()); },
      AllOf(HasSubstr("14 tensors"), HasSubstr("camera_head.trunk.1.norm1.weight"), HasSubstr("more")));
  std::vector<TensorInfo> whole = manifest(Config::tiny());
  whole.push_back({.name = "optimizer.step", .shape = {1}});
  EXPECT_EQ(check_manifest(*holding(whole), Config::tiny()), std::vector<std::string>{"optimizer.step"});
}

TEST(CheckManifest, AWrongShapeIsToldWithWhatWasExpected) {
  std::vector<TensorInfo> tensors = manifest(Config::tiny());
  std::ranges::find(tensors, "camera_head.embed_pose.weight", &TensorInfo::name)->shape = {9, 256};
  expect_error(
      ErrorCode::input, [&] { (void)check_manifest(*holding(tensors), Config::tiny()); },
      AllOf(HasSubstr("camera_head.embed_pose.weight"), HasSubstr("[9, 256]"), HasSubstr("[256, 9]")));
}

TEST(CheckManifest, TheMaskTokenOfTrainingMayBeMissing) {
  EXPECT_TRUE(check_manifest(*holding(without(manifest(Config::tiny()), "mask_token")), Config::tiny()).empty());
}

}  // namespace
}  // namespace lingbot_map
