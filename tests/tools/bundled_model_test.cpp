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
     {0.019294409F, -0.000570627F, 0.009324918F, -0.001989820F, 0.017742274F, 0.004560829F, 1.015498281F, 0.830234587F,
      1.047579169F},
     {0.763574183F, 0.694369316F, 0.703764915F, 0.893566787F, 6.657032967F, 0.698526144F, 0.722018600F, 0.725519061F,
      0.714561641F},
     {2.116689682F, 5.777963161F, 1.877511978F, 1.003653526F, 1.005624652F, 6.749771118F, 4.568493843F, 8.863910675F,
      7.419338226F}},
    {"000011",
     {0.036264103F, -0.005363591F, 0.039281383F, 0.003149883F, 0.040467653F, 0.004989671F, 1.008277297F, 0.817204416F,
      1.033229232F},
     {0.685824811F, 0.674359977F, 0.595073283F, 1.016025662F, 1.365627646F, 0.614298224F, 0.759762049F, 0.757419527F,
      0.627852321F},
     {5.036920547F, 6.509555340F, 2.822985649F, 5.053043365F, 2.335274935F, 3.362032652F, 5.639843941F, 8.818597794F,
      8.167618752F}},
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
  // Found: 3.1 % of the path, 1.6 degrees, 7.8 % of depth.
  EXPECT_LT(found.at("trajectory").at("ate_percent").get<double>(), 4);
  EXPECT_LT(found.at("trajectory").at("orientation_degrees").at("mean").get<double>(), 2);
  EXPECT_LT(found.at("depth").at("abs_rel").get<double>(), 0.09);
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
  const std::string advice =
      "of more than some 200 frames the model that comes with the program drifts; --mode windowed";
  EXPECT_THAT(said({}), testing::HasSubstr(advice));
  EXPECT_THAT(said({"--first_k", "200"}), testing::Not(testing::HasSubstr(advice)));
  EXPECT_THAT(said({"--mode", "windowed"}), testing::Not(testing::HasSubstr(advice)));
}

}  // namespace
}  // namespace lingbot_map::test
