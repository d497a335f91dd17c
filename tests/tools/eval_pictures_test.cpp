#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>

#include "run_fixture.hpp"

namespace lingbot_map::test {
namespace {

using testing::HasSubstr;

/// `lingbot-map eval` where it reads and draws pictures.
class EvalPictures : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// A folder with one picture of 16 bits, of this value all over.
  std::string depth(const std::string& name, std::uint16_t value) const {
    std::filesystem::create_directory(folder_ / name);
    cv::imwrite(path(name + "/0.png"), cv::Mat(4, 6, CV_16UC1, cv::Scalar(value)));
    return path(name);
  }
  TemporaryFolder folder_;
};

TEST_F(EvalPictures, DepthIsReadInTheUnitsAskedFor) {
  const std::vector<std::string> words = {"eval",          "--depth_estimate", depth("a", 3000),
                                          "--depth_truth", depth("b", 10000),  "--depth_scale",
                                          "none",          "--json",           "-"};
  const auto abs_rel = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    const Outcome outcome = run_program(all);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["depth"]["abs_rel"].get<double>();
  };
  EXPECT_NEAR(abs_rel({}), 0.7, 1e-6) << "3 and 10";
  EXPECT_NEAR(abs_rel({"--depth_truth_factor", "5000"}), 0.5, 1e-6) << "3 and 2";
  EXPECT_NEAR(abs_rel({"--depth_estimate_factor", "300"}), 0, 1e-6) << "10 and 10";
}

TEST_F(EvalPictures, DrawsWhatItJudged) {
  const std::string data = LINGBOT_MAP_TEST_DATA "/evaluation/tum_";
  const Outcome outcome = run_program(
      {"eval", "--estimate", data + "estimate.txt", "--truth", data + "truth.txt", "--plot", path("new/plots")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* name : {"trajectory.png", "errors.png"})
    EXPECT_FALSE(cv::imread(path("new/plots/") + name).empty()) << name;
  write_content(folder_ / "file", "");
  expect_refusal(run_program({"eval", "--estimate", data + "estimate.txt", "--truth", data + "truth.txt",
                              "--depth_estimate", depth("a", 1), "--depth_truth", path("file")}),
                 1, HasSubstr("file"));
}

}  // namespace
}  // namespace lingbot_map::test
