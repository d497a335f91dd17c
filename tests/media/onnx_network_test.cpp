#include "media/onnx_network.hpp"

#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "onnx_file.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OnnxNetworkTest : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& content) const {
    test::write_content(folder_ / "net.onnx", content);
    return folder_ / "net.onnx";
  }
  test::TemporaryFolder folder_;
};

TEST_F(OnnxNetworkTest, ComputesTheFirstOutput) {
  OnnxNetwork network(file(test::onnx_file(
      {.input = {1, 3, 2, 3}, .weights = {1, 10, 100}, .bias = 0.5F, .logistic = false, .second_output = true})));
  std::vector<float> input(18);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i);
  const FloatMap map = network.run(input, 3, 2);
  EXPECT_EQ(map.width, 3);
  EXPECT_EQ(map.height, 2);
  ASSERT_EQ(map.values.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(map.values[i], static_cast<float>(i + 10 * (6 + i) + 100 * (12 + i)) + 0.5F);
  EXPECT_EQ(network.sha256().size(), 64U);
  EXPECT_EQ(network.interface().outputs.size(), 2U);
}

TEST_F(OnnxNetworkTest, FindsTheFirstOutputWhateverItsNodesAreCalled) {
  for (const bool node_names : {false, true}) {
    OnnxNetwork network(file(test::onnx_file(
        {.input = {1, 3, 1, 1}, .weights = {1, 0, 0}, .second_output = true, .node_names = node_names})));
    EXPECT_FLOAT_EQ(network.run(std::vector<float>(3), 1, 1).values.at(0), 0.5F);
  }
}

TEST_F(OnnxNetworkTest, RefusesFilesThatAreNoneAndNetworksThatCannotRun) {
  test::expect_error(
      ErrorCode::input, [&] { OnnxNetwork(folder_ / "missing.onnx"); }, HasSubstr("missing.onnx"));
  test::expect_error(
      ErrorCode::input, [&] { OnnxNetwork(file("not a model")); },
      AllOf(HasSubstr("net.onnx"), HasSubstr("not an ONNX model")));
  const std::string graph = test::onnx_bytes(1, test::onnx_node("NoSuchOperation", {"image"}, "map")) +
                            test::onnx_bytes(11, test::onnx_value("image", {1, 3, 4, 4})) +
                            test::onnx_bytes(12, test::onnx_value("map", {1}));
  testing::internal::CaptureStderr();
  test::expect_error(
      ErrorCode::input,
      [&] {
        OnnxNetwork network(file(test::onnx_number(1, 6) + test::onnx_bytes(7, graph)));
        static_cast<void>(network.run(std::vector<float>(48), 4, 4));
      },
      AllOf(HasSubstr("net.onnx"), HasSubstr("OpenCV cannot")));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(OnnxNetworkTest, RefusesAnOutputThatIsNoMap) {
  OnnxNetwork network(file(test::onnx_file({.input = {1, 3, 4, 4}, .channels = 2})));
  test::expect_error(
      ErrorCode::input, [&] { static_cast<void>(network.run(std::vector<float>(48), 4, 4)); },
      AllOf(HasSubstr("net.onnx"), HasSubstr("1x2x4x4"), HasSubstr("expected one map")));
}

}  // namespace
}  // namespace lingbot_map
