#include "sky/sky_network.hpp"

#include <gtest/gtest.h>

#include "drawn_scene.hpp"
#include "expect_error.hpp"
#include "media/onnx_file.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> scores_of(std::vector<float> values) {
  scores_of_output(values);
  return values;
}

TEST(SkyScores, StretchAFrameWithSkyAndMore) {
  EXPECT_THAT(scores_of({0.1F, 0.3F, 0.9F}), ElementsAre(0, testing::FloatEq(0.25F), 1));
  EXPECT_THAT(scores_of({0, 0.5F, 1}), ElementsAre(0, 0.5F, 1));
}

TEST(SkyScores, MakeNoSkyOfAFrameWithoutOne) {
  EXPECT_THAT(scores_of({0.01F, 0.02F, 0.2F}), ElementsAre(0.01F, 0.02F, 0.2F));
  EXPECT_THAT(scores_of({0, 0, 0}), ElementsAre(0, 0, 0));
}

TEST(SkyScores, MakeNoGapInAFrameThatIsAllSky) {
  EXPECT_THAT(scores_of({0.7F, 0.99F}), ElementsAre(0.7F, 0.99F));
  EXPECT_THAT(scores_of({1, 1}), ElementsAre(1, 1));
}

TEST(SkyScores, TakeLogitsWhereValuesAreNoProbabilities) {
  const std::vector<float> scores = scores_of({-8, 0, 8});
  EXPECT_NEAR(scores[0], 0, 1e-6);
  EXPECT_NEAR(scores[1], 0.5, 1e-6);
  EXPECT_NEAR(scores[2], 1, 1e-6);
  for (const float score : scores_of({-9, -6, -3})) EXPECT_LT(score, 0.06F);  // no sky
  for (const float score : scores_of({3, 200})) EXPECT_GT(score, 0.9F);       // all sky
  EXPECT_TRUE(scores_of({}).empty());
}

class SkyNetworkTest : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& content) const {
    write_content(folder_ / "sky.onnx", content);
    return folder_ / "sky.onnx";
  }
  void expect_refusal(const std::string& content, const testing::Matcher<std::string>& line) const {
    expect_error(
        ErrorCode::input, [&] { SkyNetwork network(file(content)); }, AllOf(HasSubstr("sky.onnx"), line));
  }
  TemporaryFolder folder_;
};

TEST_F(SkyNetworkTest, MasksWhatItsNetworkFinds) {
  const DrawnScene scene = drawn_scene({.weather = Weather::clear, .trees = false});
  for (const bool logistic : {true, false}) {
    SkyNetwork network(file(onnx_file({.bias = -3.8F, .logistic = logistic})));
    const SkyMask mask = network.mask_of(scene.image);
    EXPECT_EQ(mask.width, scene.image.width);
    EXPECT_EQ(mask.height, scene.image.height);
    EXPECT_GT(overlap(mask, scene.truth), 0.97);
    EXPECT_EQ(network.sha256().size(), 64U);
  }
}

TEST_F(SkyNetworkTest, SeesRedGreenAndBlueAsTheNetworkWasTrained) {
  // (0.7 - 0.485) / 0.229 is 0.939: red alone decides, at a level of 178.5
  SkyNetwork network(file(onnx_file({.weights = {100, 0, 0}, .bias = -93.9F})));
  Image image(4, 1);
  image.pixels = {178, 255, 255, 179, 0, 0, 20, 255, 200, 255, 9, 9};
  image = [&] {  // as wide as the network's input, so that nothing is interpolated
    Image wide(320, 320);
    for (std::size_t i = 0; i < wide.pixels.size(); ++i) wide.pixels[i] = image.pixels[3 * (i / 3 % 4) + i % 3];
    return wide;
  }();
  const SkyMask mask = network.mask_of(image);
  EXPECT_THAT(std::vector<bool>({mask.is_sky(0), mask.is_sky(1), mask.is_sky(2), mask.is_sky(3)}),
              ElementsAre(false, true, false, true));
}

TEST_F(SkyNetworkTest, TakesTheFormsThatSuchFilesHave) {
  EXPECT_NO_THROW(SkyNetwork(file(onnx_file({.second_output = true, .node_names = true}))));
  EXPECT_NO_THROW(SkyNetwork(file(onnx_file({.weights_among_inputs = true}))));
  EXPECT_NO_THROW(SkyNetwork(file(onnx_file({.input = {-1, 3, 320, 320}}))));
  EXPECT_NO_THROW(SkyNetwork(file(onnx_file({.input = {-1, 3, -1, -1}}))));
}

TEST_F(SkyNetworkTest, RefusesOtherNetworks) {
  expect_refusal("no model", HasSubstr("not an ONNX model"));
  expect_refusal(onnx_file({.input = {1, 3, 512, 512}}), AllOf(HasSubstr("1x3x512x512"), HasSubstr("1x3x320x320")));
  expect_refusal(onnx_file({.input = {8, 3, 320, 320}}), HasSubstr("8x3x320x320"));
  expect_refusal(onnx_file({.input = {1, 3, 320}}), HasSubstr("1x3x320,"));
  expect_refusal(onnx_file({.second_input = true}),
                 AllOf(HasSubstr("2 inputs: image, other"), HasSubstr("expected one")));
  expect_refusal(onnx_file({.element_type = 10}), AllOf(HasSubstr("element type 10"), HasSubstr("float32")));
  expect_refusal(onnx_file({.channels = 2}), HasSubstr("1x2x320x320"));
  expect_refusal(onnx_file({.weights = {std::nanf(""), 0, 0}}), HasSubstr("not finite"));
  expect_error(
      ErrorCode::input, [&] { SkyNetwork network(folder_ / "none.onnx"); }, HasSubstr("none.onnx"));
}

TEST_F(SkyNetworkTest, MasksAreTheSameWhateverTheThreads) {
  const DrawnScene scene = drawn_scene({});
  SkyNetwork one(file(onnx_file()), 1);
  const SkyMask mask = one.mask_of(scene.image);
  SkyNetwork two(file(onnx_file()), 2);
  EXPECT_EQ(two.mask_of(scene.image), mask);
}

}  // namespace
}  // namespace lingbot_map::test
