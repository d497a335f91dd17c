#include <gtest/gtest.h>

#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>

#include "export/readers.hpp"
#include "run_fixture.hpp"

namespace lingbot_map::test {
namespace {

class RunVideoTest : public RunTest {
 protected:
  std::vector<std::string> video_words(const std::string& video, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"run",       "--model_path", model(), "--video_path", video, "--output",
                                      path("out"), "--image_size", "84"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(RunVideoTest, HasTheTimesOfTheVideo) {
  {
    cv::VideoWriter writer(path("v.avi"), cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 30, {96, 64});
    ASSERT_TRUE(writer.isOpened());
    for (int i = 0; i < 30; ++i) writer.write(cv::Mat(64, 96, CV_8UC3, cv::Scalar::all(2 * i)));
  }
  const Outcome outcome = run_program(video_words(path("v.avi"), {"--fps", "10"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto trajectory = table_of(folder_ / "out/trajectory.txt");
  ASSERT_EQ(trajectory.size(), 10U);
  EXPECT_NEAR(trajectory[9][0], 0.9, 1e-3);
  const auto intrinsics = table_of(folder_ / "out/intrinsics.txt");
  EXPECT_EQ(intrinsics[0][9], 96);
  EXPECT_EQ(report("out")["settings"]["image_folder"], nullptr);
}

TEST_F(RunVideoTest, MustBeThere) {
  expect_refusal(run_program(video_words(path("missing.mp4"))), 1, testing::HasSubstr("missing.mp4"));
  write_content(folder_ / "text.mp4", "no video");
  expect_refusal(run_program(video_words(path("text.mp4"))), 1, testing::HasSubstr("text.mp4"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

}  // namespace
}  // namespace lingbot_map::test
