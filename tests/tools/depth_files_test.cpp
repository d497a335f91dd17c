#include "eval/depth_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map::tool {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class DepthFiles : public testing::Test {
 protected:
  std::vector<DepthFile> list(const std::string& folder, const std::vector<std::string>& names) const {
    std::filesystem::create_directory(folder_ / folder);
    for (const std::string& name : names) test::write_content(folder_ / (folder + "/" + name), "");
    return list_depth_files(folder_ / folder);
  }
  static std::vector<std::string> names_of(const std::vector<DepthFile>& files) {
    std::vector<std::string> names;
    for (const DepthFile& file : files) names.push_back(file.path.filename().string());
    return names;
  }
  static std::vector<std::pair<double, double>> numbers_of(const std::vector<DepthFilePair>& pairs) {
    std::vector<std::pair<double, double>> numbers;
    for (const DepthFilePair& pair : pairs) numbers.emplace_back(pair.estimate.number, pair.truth.number);
    return numbers;
  }
  static Trajectory every(double seconds, int frames) {
    Trajectory trajectory;
    for (int i = 0; i < frames; ++i) trajectory.frame_times.push_back(seconds * i);
    return trajectory;
  }

  test::TemporaryFolder folder_;
};

TEST_F(DepthFiles, AreOrderedByNumber) {
  EXPECT_THAT(
      names_of(list("a", {"frame_10.npz", "frame_9.npz", "meta.npz", "notes.txt", "frame_11.npz.part", "v2.npz"})),
      ElementsAre("v2.npz", "frame_9.npz", "frame_10.npz"));
}

TEST_F(DepthFiles, TheMoreExactOfTwoIsTaken) {
  EXPECT_THAT(names_of(list("a", {"000001.png", "000001.npy", "000002.png", "000003.npz", "000003.png"})),
              ElementsAre("000001.npy", "000002.png", "000003.npz"));
}

TEST_F(DepthFiles, BelongTogetherByNumber) {
  const auto estimate = list("a", {"frame_000001.npz", "frame_000002.npz", "frame_000009.npz"});
  const auto truth = list("b", {"000000.npy", "000001.npy", "000002.npy"});
  EXPECT_THAT(numbers_of(pair_depth_files(estimate, nullptr, truth, nullptr, 0.01)),
              ElementsAre(Pair(1, 1), Pair(2, 2)));
}

TEST_F(DepthFiles, OfARunOverEverySecondFrameFindTheirOwn) {
  const auto estimate = list("a", {"frame_000000.npz", "frame_000001.npz", "frame_000002.npz"});
  const auto truth = list("b", {"000000.npy", "000001.npy", "000002.npy", "000003.npy", "000004.npy"});
  const Trajectory run = every(0.2, 3);
  const Trajectory scene = every(0.1, 5);
  EXPECT_THAT(numbers_of(pair_depth_files(estimate, &run, truth, &scene, 0.01)),
              ElementsAre(Pair(0, 0), Pair(1, 2), Pair(2, 4)));
  // A trajectory of another number of frames says nothing about files.
  const Trajectory other = every(0.1, 7);
  EXPECT_THAT(numbers_of(pair_depth_files(estimate, &run, truth, &other, 0.01)),
              ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 2)));
}

TEST_F(DepthFiles, WithTimesForNamesAreFoundByTime) {
  const auto estimate = list("a", {"frame_000000.npz", "frame_000001.npz"});
  const auto truth = list("b", {"0.004.png", "0.11.png", "0.198000.png"});
  const Trajectory run = every(0.2, 2);
  EXPECT_THAT(numbers_of(pair_depth_files(estimate, &run, truth, nullptr, 0.01)),
              ElementsAre(Pair(0, 0.004), Pair(1, 0.198)));
}

TEST_F(DepthFiles, ThatAreNotThereAreSaidSo) {
  expect_error(
      ErrorCode::input, [&] { (void)list_depth_files(folder_ / "absent"); }, HasSubstr("absent: the folder cannot be"));
  expect_error(
      ErrorCode::input, [&] { (void)list("a", {"notes.txt"}); }, HasSubstr("a: found no depth map, expected"));
  const auto estimate = list("b", {"frame_7.npz"});
  const auto truth = list("c", {"8.npy"});
  expect_error(
      ErrorCode::input, [&] { (void)pair_depth_files(estimate, nullptr, truth, nullptr, 0.01); },
      AllOf(HasSubstr("b: found no depth map of the same number as one in"), HasSubstr("frame_7.npz and 8.npy")));
}

}  // namespace
}  // namespace lingbot_map::tool
