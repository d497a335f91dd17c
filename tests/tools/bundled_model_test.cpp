#include <array>

#include "export/readers.hpp"
#include "run_fixture.hpp"

namespace lingbot_map::test {
namespace {

/// The model that comes with the program, on a generated room that training never saw.
class BundledModel : public testing::Test {
 protected:
  void reconstruct(int frames) {
    const Outcome scene = run_program({"scene", "--kind", "room", "--seed", "42", "--frames", std::to_string(frames),
                                       "--size", "168x126", "--output", path("scene")});
    ASSERT_EQ(scene.exit_code, 0) << scene.err;
    const Outcome run = run_program({"run", "--image_folder", path("scene/images"), "--output", path("out"), "--device",
                                     "cpu", "--image_size", "168", "--dtype", "fp32", "--save_predictions"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.err, testing::HasSubstr("lingbot-map-mini.safetensors, which comes with the program"));
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  TemporaryFolder folder_;
};

// What training/ computes in float32 for the same 12 pictures: a frame of the first pass and the last streamed one.
struct Reference {
  const char* frame;
  std::array<float, 9> pose_enc;
  std::array<float, 9> depth;  ///< at rows 0, 50, 100 and columns 0, 60, 120
  std::array<float, 9> confidence;
};
constexpr Reference kReferences[] = {
    {"000005",
     {0.018245978F, -0.000922814F, 0.010141703F, -0.002227515F, 0.017416999F, 0.004805595F, 1.001201272F, 0.820552111F,
      1.041673660F},
     {0.778362095F, 0.715428472F, 0.710109055F, 0.837374806F, 7.721776962F, 0.713459432F, 0.723018348F, 0.745938003F,
      0.740500271F},
     {4.771743298F, 6.433821678F, 6.386990547F, 1.000854731F, 1.002194762F, 7.340425491F, 4.222148418F, 8.608249664F,
      7.585066795F}},
    {"000011",
     {0.035013508F, -0.004222469F, 0.034158610F, 0.001653195F, 0.038270243F, 0.007059819F, 0.982983589F, 0.804763913F,
      1.023800373F},
     {0.709475219F, 0.687570512F, 0.596654177F, 1.062492609F, 1.434812784F, 0.644565463F, 0.783715606F, 0.777496457F,
      0.646389663F},
     {4.793298721F, 6.861938000F, 6.073146343F, 4.545755386F, 1.105648279F, 1.664619446F, 5.010340691F, 8.697059631F,
      7.607536316F}},
};

TEST_F(BundledModel, GivesTheNumbersOfItsTraining) {
  ASSERT_NO_FATAL_FAILURE(reconstruct(12));
  for (const Reference& reference : kReferences) {
    const auto frame = read_npz(folder_ / ("out/predictions/frame_" + std::string(reference.frame) + ".npz"));
    const auto pose = frame.at("pose_enc").values<float>();
    const auto depth = frame.at("depth").values<float>();
    const auto confidence = frame.at("depth_conf").values<float>();
    ASSERT_EQ(pose.size(), 9U);
    ASSERT_EQ(depth.size(), 126U * 168U);
    for (std::size_t i = 0; i < 9; ++i) {
      const std::size_t pixel = (i / 3) * 50 * 168 + (i % 3) * 60;
      EXPECT_NEAR(pose[i], reference.pose_enc[i], 1e-4) << reference.frame << " " << i;
      EXPECT_NEAR(depth[pixel], reference.depth[i], 1e-4 * reference.depth[i]) << reference.frame << " " << i;
      EXPECT_NEAR(confidence[pixel], reference.confidence[i], 1e-4 * reference.confidence[i]) << reference.frame;
    }
  }
}

TEST_F(BundledModel, ReconstructsARoomItHasNotSeen) {
  ASSERT_NO_FATAL_FAILURE(reconstruct(32));
  const Outcome eval =
      run_program({"eval", "--estimate", path("out"), "--truth", path("scene"), "--json", path("eval.json")});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  const auto found = nlohmann::json::parse(content_of(folder_ / "eval.json"));
  // Found: 2.4 % of the path, 1.5 degrees, 8.8 % of depth.
  EXPECT_LT(found.at("trajectory").at("ate_percent").get<double>(), 3);
  EXPECT_LT(found.at("trajectory").at("orientation_degrees").at("mean").get<double>(), 2);
  EXPECT_LT(found.at("depth").at("abs_rel").get<double>(), 0.1);
}

TEST_F(BundledModel, AdvisesWindowsForLongStreams) {
  std::filesystem::create_directory(folder_ / "frames");
  const std::string picture = "P6 14 14 255\n" + std::string(3 * 14 * 14, 'x');
  for (int i = 0; i < 201; ++i) write_content(folder_ / ("frames/" + std::to_string(i) + ".ppm"), picture);
  const auto said = [this](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run", "--image_folder", path("frames"), "--output", path("out"), "--plan"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.err;
  };
  const std::string advice = "for some 200 frames in one stream; for more take --mode windowed";
  EXPECT_THAT(said({}), testing::HasSubstr(advice));
  EXPECT_THAT(said({"--first_k", "200"}), testing::Not(testing::HasSubstr(advice)));
  EXPECT_THAT(said({"--mode", "windowed"}), testing::Not(testing::HasSubstr(advice)));
}

}  // namespace
}  // namespace lingbot_map::test
