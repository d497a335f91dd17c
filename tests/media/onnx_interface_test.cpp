#include "media/onnx_interface.hpp"

#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "onnx_file.hpp"

namespace lingbot_map {
namespace {

OnnxInterface parse(const std::string& file) {
  return parse_onnx_interface(std::as_bytes(std::span(file)), "sky.onnx");
}

TEST(OnnxInterface, TellsInputsAndOutputs) {
  const OnnxInterface interface = parse(test::onnx_file({.second_input = true, .second_output = true}));
  ASSERT_EQ(interface.inputs.size(), 2U);
  EXPECT_EQ(interface.inputs[0].name, "image");
  EXPECT_EQ(interface.inputs[0].element_type, OnnxValue::kFloat32);
  EXPECT_EQ(interface.inputs[0].shape, (std::vector<std::int64_t>{1, 3, 320, 320}));
  EXPECT_EQ(interface.inputs[1].name, "other");
  ASSERT_EQ(interface.outputs.size(), 2U);
  EXPECT_EQ(interface.outputs[0].name, "map");
}

TEST(OnnxInterface, LeavesWeightsOut) {
  const OnnxInterface interface = parse(test::onnx_file({.weights_among_inputs = true}));
  ASSERT_EQ(interface.inputs.size(), 1U);
  EXPECT_EQ(interface.inputs[0].name, "image");
}

TEST(OnnxInterface, KnowsOpenSizes) {
  const OnnxInterface interface = parse(test::onnx_file({.input = {-1, 3, -1, 0}}));
  const auto any = OnnxValue::kAnySize;
  EXPECT_EQ(interface.inputs[0].shape, (std::vector<std::int64_t>{any, 3, any, any}));
  EXPECT_EQ(shape_text(interface.inputs[0].shape), "?x3x?x?");
  EXPECT_EQ(shape_text({}), "no shape");
}

TEST(OnnxInterface, RefusesWhatIsNoModel) {
  const std::string whole = test::onnx_file();
  std::vector<std::string> files = {"",
                                    "x",
                                    "<html>not found</html>",
                                    std::string(100, '\0'),
                                    std::string(100, '\xff'),
                                    test::onnx_number(1, 6),
                                    test::onnx_bytes(7, "")};
  files.push_back("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");  // a graph of 2^64 bytes
  for (std::size_t length = 1; length < whole.size() - 8; length += 7) files.push_back(whole.substr(0, length));
  for (const std::string& file : files)
    test::expect_error(
        ErrorCode::input, [&] { static_cast<void>(parse(file)); },
        testing::AllOf(testing::StartsWith("sky.onnx: not an ONNX model"),
                       testing::HasSubstr(std::to_string(file.size()) + " bytes")));
}

TEST(OnnxInterface, SurvivesEveryChangedByte) {
  const std::string whole = test::onnx_file({.second_output = true});
  for (std::size_t place = 0; place < whole.size(); ++place) {
    for (const char byte : {'\0', '\x7f', '\xff'}) {
      std::string changed = whole;
      changed[place] = byte;
      try {
        static_cast<void>(parse(changed));
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::input);
      }
    }
  }
}

}  // namespace
}  // namespace lingbot_map
