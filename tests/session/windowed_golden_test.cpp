#include <gtest/gtest.h>

#include "golden.hpp"
#include "lingbot_map/lingbot_map.hpp"
#include "usable_gpu.hpp"

namespace lingbot_map {
namespace {

using test::Golden;
using test::relative_error;

/// Whole sequences of the public system's windowed mode, whose window arguments are in the file.
class GoldenWindows : public testing::TestWithParam<const char*> {
 protected:
  static WindowedOptions options_of(const nlohmann::json& arguments) {
    WindowedOptions options{
        .session = {.scale_frames = arguments.at("num_scale_frames"),
                    .window = 4,
                    .keyframe_interval = arguments.at("keyframe_interval")},
        .window_size = arguments.at("window_size"),
    };
    if (arguments.contains("overlap_size")) options.overlap_size = arguments.at("overlap_size");
    if (arguments.contains("overlap_keyframes"))
      options.overlap_keyframes = arguments.at("overlap_keyframes").get<int>();
    return options;
  }

  static void compare(Device device, DType dtype, double bound) {
    Golden golden(LINGBOT_MAP_TEST_DATA "/tiny.safetensors");
    const std::string name = GetParam();
    const Model model = Model::synthetic(Config::tiny(), 1, {.device = device, .dtype = dtype});
    WindowedSession session(model, options_of(golden.metadata().at(name)));
    std::vector<float> pose;
    std::vector<float> depth;
    std::vector<float> depth_conf;
    std::vector<std::uint8_t> frame_type;
    std::vector<float> is_keyframe;
    const auto take = [&](const std::vector<FrameResult>& results) {
      for (const FrameResult& result : results) {
        EXPECT_EQ(result.index, static_cast<std::int64_t>(frame_type.size()));
        pose.insert(pose.end(), result.pose_enc.begin(), result.pose_enc.end());
        depth.insert(depth.end(), result.depth.begin(), result.depth.end());
        depth_conf.insert(depth_conf.end(), result.depth_conf.begin(), result.depth_conf.end());
        frame_type.push_back(static_cast<std::uint8_t>(result.type));
        is_keyframe.push_back(result.type == FrameType::non_keyframe ? 0.0F : 1.0F);
      }
    };
    for (const Image& image : golden.images("images")) {
      session.submit(image);
      while (session.in_flight() > 1) take(session.collect());
    }
    take(session.finish());
    std::vector<float> scales;
    std::vector<float> transforms;
    for (const WindowRecord& window : session.windows()) {
      scales.push_back(static_cast<float>(window.scale));
      for (const double value : window.transform) transforms.push_back(static_cast<float>(value));
    }

    EXPECT_EQ(frame_type, golden.bytes(name + ".frame_type"));
    EXPECT_EQ(is_keyframe, golden.floats(name + ".is_keyframe"));
    const std::pair<const char*, const std::vector<float>&> outputs[] = {{".pose_enc", pose},
                                                                         {".depth", depth},
                                                                         {".depth_conf", depth_conf},
                                                                         {".chunk_scales", scales},
                                                                         {".chunk_transforms", transforms}};
    for (const auto& [output, values] : outputs) {
      const double error = relative_error(values, golden.floats(name + output));
      std::printf("%-24s %s %.2e\n", (name + output).c_str(), std::string(name_of(dtype)).c_str(), error);
      EXPECT_LE(error, bound) << name << output;
    }
  }
};

TEST_P(GoldenWindows, AreThoseOfThePublicSystem) { compare(Device::cpu(), DType::f32, 1e-5); }

TEST_P(GoldenWindows, AreTheSameOnTheGpu) {
  if (!test::usable_gpu()) GTEST_SKIP() << "no usable GPU here";
  compare(Device::cuda(), DType::f32, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Tiny, GoldenWindows, testing::Values("win_a", "win_b"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lingbot_map
