#include "config/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "checkpoint/synthetic.hpp"
#include "expect_error.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::uint64_t parameters(const std::vector<TensorInfo>& tensors, std::string_view prefix) {
  std::uint64_t sum = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.name.starts_with(prefix)) sum += static_cast<std::uint64_t>(tensor.elements());
  }
  return sum;
}

TEST(Manifest, HasTheOfficialModelsTensorsAndParameters) {
  const std::vector<TensorInfo> tensors = manifest(Config::official());
  EXPECT_EQ(tensors.size(), 1342);
  EXPECT_EQ(parameters(tensors, "aggregator.patch_embed.blocks.7."), 12'598'272);
  EXPECT_EQ(parameters(tensors, "aggregator.frame_blocks.7."), 12'598'528);
  EXPECT_EQ(parameters(tensors, "camera_head.trunk.3."), 50'362'368);
  EXPECT_EQ(parameters(tensors, "aggregator.patch_embed."), 304'372'736);
  EXPECT_EQ(parameters(tensors, "aggregator.frame_blocks."), 302'364'672);
  EXPECT_EQ(parameters(tensors, "aggregator.global_blocks."), 302'364'672);
  EXPECT_EQ(parameters(tensors, "aggregator.camera_token") + parameters(tensors, "aggregator.register_token") +
                parameters(tensors, "aggregator.scale_token"),
            12'288);
  EXPECT_EQ(parameters(tensors, "aggregator."), 909'114'368);
  EXPECT_EQ(parameters(tensors, "camera_head."), 216'174'610);
  EXPECT_EQ(parameters(tensors, "depth_head."), 32'654'562);
  EXPECT_EQ(parameters(tensors, ""), 1'157'943'540);
}

TEST(Manifest, HasThePointHeadWhereThereIsOne) {
  Config config;
  config.has_point_head = true;
  const std::vector<TensorInfo> tensors = manifest(config);
  EXPECT_EQ(tensors.size(), 1342 + 62);
  EXPECT_EQ(parameters(tensors, "point_head."), 32'654'628);
  EXPECT_EQ(parameters(tensors, ""), 1'190'598'168);
}

TEST(Manifest, NamesAndShapesAreThoseOfTheGoldenArchive) {
  const auto golden = Checkpoint::open(LINGBOT_MAP_TEST_DATA "/tiny_bf16.pt");
  std::map<std::string, std::vector<std::int64_t>> expected;
  for (const TensorInfo& tensor : golden->tensors()) expected[tensor.name] = tensor.shape;
  std::map<std::string, std::vector<std::int64_t>> found;
  for (const TensorInfo& tensor : manifest(Config::tiny())) found[tensor.name] = tensor.shape;
  EXPECT_EQ(found, expected);
  EXPECT_THAT(check_manifest(*golden, Config::tiny()), IsEmpty());
}

class TinyCheckpoint : public testing::Test {
 protected:
  TensorInfo& tensor(std::string_view name) { return *std::ranges::find(tensors_, name, &TensorInfo::name); }
  std::unique_ptr<Checkpoint> checkpoint() const { return synthetic_checkpoint(tensors_, 1, "{}"); }

  std::vector<TensorInfo> tensors_ = manifest(Config::tiny());
};

TEST_F(TinyCheckpoint, UnexpectedTensorsAreNamed) {
  tensors_.push_back({.name = "track_head.weight", .shape = {2}});
  EXPECT_THAT(check_manifest(*checkpoint(), Config::tiny()), ElementsAre("track_head.weight"));
}

TEST_F(TinyCheckpoint, MissingTensorsAreAnErrorThatNamesThem) {
  std::erase_if(tensors_, [](const TensorInfo& t) { return t.name == "depth_head.norm.bias"; });
  const auto check = [&] { (void)check_manifest(*checkpoint(), Config::tiny()); };
  expect_error(ErrorCode::input, check,
               AllOf(HasSubstr("synthetic model: 1 tensors of the network are missing: depth_head.norm.bias"),
                     HasSubstr("--config")));
  std::erase_if(tensors_, [](const TensorInfo& t) { return t.name.starts_with("camera_head.trunk.0."); });
  expect_error(ErrorCode::input, check,
               AllOf(HasSubstr("camera_head.trunk.0.norm1.weight"), HasSubstr(" and 10 more")));
}

TEST_F(TinyCheckpoint, WrongShapesAreAnErrorThatNamesBoth) {
  tensor("camera_head.embed_pose.weight").shape = {256, 7};
  expect_error(
      ErrorCode::input, [&] { (void)check_manifest(*checkpoint(), Config::tiny()); },
      HasSubstr("tensor camera_head.embed_pose.weight: found shape [256, 7], expected [256, 9]"));
}

TEST_F(TinyCheckpoint, TheEncodersMaskTokenMayBeMissing) {
  std::erase_if(tensors_, [](const TensorInfo& t) { return t.name == "aggregator.patch_embed.mask_token"; });
  EXPECT_THAT(check_manifest(*checkpoint(), Config::tiny()), IsEmpty());
}

}  // namespace
}  // namespace lingbot_map
