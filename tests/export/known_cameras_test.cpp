#include "export/known_cameras.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

constexpr OriginalPixels kHalf{640, 480, 2, 2.5, 0, 10};

/// A file of this content, read.
class KnownCamerasFile : public testing::Test {
 protected:
  KnownCameras read(const std::string& content) {
    test::write_content(folder_ / "cameras.txt", content);
    return KnownCameras((folder_ / "cameras.txt").string());
  }
  void expect_refused(const std::string& content, const testing::Matcher<std::string>& message) {
    expect_error(
        ErrorCode::input, [&] { (void)read(content); }, AllOf(HasSubstr("cameras.txt"), message));
  }

 private:
  test::TemporaryFolder folder_;
};

TEST(KnownCameras, FourNumbersAreOneCameraForAllFrames) {
  KnownCameras cameras("500,510,320,240.5");
  EXPECT_FALSE(cameras.frames());
  for (int i = 0; i < 3; ++i) {
    const Intrinsics camera = cameras.next(kHalf);
    EXPECT_EQ(camera.fx, 250);
    EXPECT_EQ(camera.fy, 204);
    EXPECT_EQ(camera.cx, 160);
    EXPECT_EQ(camera.cy, 230.5 / 2.5);
  }
}

TEST(KnownCameras, TheWayToTheNetworksInputIsTheWayBack) {
  KnownCameras cameras("500,510,320,240.5");
  const Intrinsics there_and_back = in_original_pixels(cameras.next(kHalf), kHalf);
  EXPECT_NEAR(there_and_back.fx, 500, 1e-9);
  EXPECT_NEAR(there_and_back.fy, 510, 1e-9);
  EXPECT_NEAR(there_and_back.cx, 320, 1e-9);
  EXPECT_NEAR(there_and_back.cy, 240.5, 1e-9);
}

TEST(KnownCameras, RefuseNumbersThatAreNoCamera) {
  for (const char* text : {"1,2,3", "1,2,3,4,5", "500,a,320,240", "500,,320,240", "nan,500,320,240", "500,inf,320,240",
                           "-500,500,320,240", "500,0,320,240", ",,,", "1,2,3,"})
    expect_error(
        ErrorCode::usage, [&] { KnownCameras{text}; }, AllOf(HasSubstr("--intrinsics: found \""), HasSubstr(text)));
}

TEST(KnownCameras, NameAFileThatIsNotThere) {
  expect_error(
      ErrorCode::input, [] { KnownCameras("nowhere.txt"); }, HasSubstr("nowhere.txt"));
}

TEST_F(KnownCamerasFile, OfOneLineIsForAllFrames) {
  KnownCameras cameras = read("# a camera\n\n500 500 320 240\n");
  EXPECT_FALSE(cameras.frames());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cameras.next(kHalf).fx, 250);
}

TEST_F(KnownCamerasFile, OfSeveralLinesHasOneForEachFrame) {
  KnownCameras cameras = read("500 500 320 240\r\n600, 500, 320, 240\n700\t500\t320\t240");
  EXPECT_EQ(cameras.frames(), 3);
  for (const double fx : {250, 300, 350}) EXPECT_EQ(cameras.next(kHalf).fx, fx);
  expect_error(
      ErrorCode::input, [&] { (void)cameras.next(kHalf); },
      AllOf(HasSubstr("cameras for 3 frames"), HasSubstr("frame 3")));
}

TEST_F(KnownCamerasFile, MayBeARunsIntrinsics) {
  KnownCameras cameras = read("# index ...\n0 1 2 3 4 500 500 320 240 640 480\n1 1 2 3 4 600 500 320 240 64 48\n");
  EXPECT_EQ(cameras.frames(), 2);
  EXPECT_EQ(cameras.next(kHalf).fx, 250);
  expect_error(
      ErrorCode::input, [&] { (void)cameras.next(kHalf); },
      AllOf(HasSubstr("line 3"), HasSubstr("64 x 48"), HasSubstr("expected 640 x 480 for frame 1")));
  // A run of one frame still is for that frame alone.
  EXPECT_EQ(read("0 1 2 3 4 500 500 320 240 640 480\n").frames(), 1);
}

TEST_F(KnownCamerasFile, HasAFingerprintOfItsNumbers) {
  const std::string one = read("500 500 320 240\n").fingerprint();
  EXPECT_EQ(one.size(), 64U);
  EXPECT_EQ(read("# another way\n\n500.0,5e2\t320, 240").fingerprint(), one);
  EXPECT_EQ(KnownCameras("500,500,320,240").fingerprint(), one);
  std::set<std::string> different = {one};
  for (const char* other : {"500 500 320 240.5\n", "500 500 240 320\n", "500 500 320 240\n500 500 320 240\n",
                            "0 1 2 3 4 500 500 320 240 640 480\n", "0 1 2 3 4 500 500 320 240 640 481\n"})
    EXPECT_TRUE(different.insert(read(other).fingerprint()).second) << other;
}

TEST_F(KnownCamerasFile, IsRefusedWhereItIsWrong) {
  expect_refused("", HasSubstr("found no camera"));
  expect_refused("# nothing\n", HasSubstr("found no camera"));
  expect_refused("500 500 320\n", HasSubstr("line 1: found \"500 500 320\", expected fx fy cx cy"));
  expect_refused("500 500 320 240\n# x\n500 500 wide 240\n", HasSubstr("line 3"));
  expect_refused("500 500 320 nan\n", HasSubstr("finite"));
  expect_refused("500 -1 320 240\n", HasSubstr("focal lengths above 0"));
  expect_refused("0 1 2 3 4 inf 500 320 240 640 480\n", HasSubstr("finite"));
  expect_refused("0 1 2 3 4 500 500 320 240 -640 480\n", HasSubstr("width and height"));
  expect_refused("0 1 2 3 4 500 500 320 240 1e99 480\n", HasSubstr("width and height"));
  expect_refused(std::string(100000, '7'), HasSubstr("line 1"));
  expect_refused(std::string("\0\1\2\3", 4), HasSubstr("line 1"));
}

}  // namespace
}  // namespace lingbot_map
