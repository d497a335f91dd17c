#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::test {

/// A folder for a run of the program with a tiny synthetic model, and small pictures for it.
class RunTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    models_ = new TemporaryFolder();
    const Outcome made = run_program({"synth", "--config", "tiny", "--seed", "6", "--output", model()});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  static void TearDownTestSuite() {
    delete models_;
    models_ = nullptr;
  }
  static std::string model() { return (*models_ / "tiny.safetensors").string(); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// A picture of 84 x 56 pixels, different for each number.
  static std::string picture(int number) {
    std::string content = "P6 84 56 255\n";
    for (int y = 0; y < 56; ++y)
      for (int x = 0; x < 84; ++x)
        for (int c = 0; c < 3; ++c) content += static_cast<char>((3 * x + 5 * y + 40 * c + 7 * number) % 256);
    return content;
  }
  /// img_0.ppm, img_1.ppm, ... in the folder frames.
  void make_frames(int count) const {
    std::filesystem::create_directory(folder_ / "frames");
    for (int i = 0; i < count; ++i) write_content(folder_ / ("frames/img_" + std::to_string(i) + ".ppm"), picture(i));
  }

  /// Makes 40 frames, and a model with which the reconstruction jumps at frame 30, where the pictures change, by many
  /// times what counts as a jump, and does so again in a new window. Returns the model.
  std::string make_jumping_run() const {
    std::filesystem::create_directory(folder_ / "frames");
    for (int i = 0; i < 40; ++i) {
      std::string content = "P6 84 56 255\n";
      for (int y = 0; y < 56; ++y)
        for (int x = 0; x < 84; ++x)
          for (int c = 0; c < 3; ++c)
            content += static_cast<char>(i < 30 ? 255 * (1 - (x / 7 + y / 7) % 2) : (7 * x * y + 31 * c + i) % 256);
      write_content(folder_ / ("frames/img_" + std::to_string(i) + ".ppm"), content);
    }
    const Outcome made =
        run_program({"synth", "--config", "tiny", "--seed", "17", "--output", path("jumping.safetensors")});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return path("jumping.safetensors");
  }

  /// The words of a run over `frames` at the pictures' own size, and more words.
  std::vector<std::string> words(const std::string& output, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {
        "run",        "--model_path", model(), "--image_folder", path("frames"), "--output",
        path(output), "--image_size", "84"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  nlohmann::json report(const std::string& output) const {
    return nlohmann::json::parse(content_of(folder_ / (output + "/run.json")));
  }

  TemporaryFolder folder_;

 private:
  static inline TemporaryFolder* models_ = nullptr;
};

/// Expects the one line with which the program gives up.
inline void expect_refusal(const Outcome& outcome, int exit_code, const testing::Matcher<std::string>& line) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const std::string mark = "lingbot-map: error: ";
  const std::size_t start = outcome.err.find(mark);
  ASSERT_NE(start, std::string::npos) << outcome.err;
  const std::string text = outcome.err.substr(start + mark.size());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_THAT(text, line);
}

}  // namespace lingbot_map::test
