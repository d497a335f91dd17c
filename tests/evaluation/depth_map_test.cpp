#include "evaluation/depth_map.hpp"

#include <gtest/gtest.h>

#include <span>

#include "base/npy.hpp"
#include "base/zip.hpp"
#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using test::write_content;
using testing::AllOf;
using testing::HasSubstr;

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

const std::vector<float> kValues = {1, 2, 3, 4, 5, 6};

class DepthMaps : public testing::Test {
 protected:
  DepthMap read(const std::string& content) const {
    write_content(folder_ / "depth.npy", content);
    return read_depth_array(folder_ / "depth.npy");
  }
  void refuses(const std::string& content, const char* text) const {
    expect_error(
        ErrorCode::input, [&] { (void)read(content); }, AllOf(HasSubstr("depth.npy: "), HasSubstr(text)));
  }
  test::TemporaryFolder folder_;
};

TEST_F(DepthMaps, ReadsEveryShapeOfAPicture) {
  for (const std::string& header :
       {npy_header("<f4", {2, 3}), npy_header("<f4", {2, 3, 1}), npy_header("<f4", {1, 2, 3})}) {
    const DepthMap found = read(header + bytes_of(kValues));
    EXPECT_EQ(found.width, 3);
    EXPECT_EQ(found.height, 2);
    EXPECT_EQ(found.values, kValues);
  }
}

TEST_F(DepthMaps, ReadsDoubles) {
  EXPECT_EQ(read(npy_header("<f8", {2, 1}) + bytes_of(std::vector<double>{0.5, 8})).values,
            (std::vector<float>{0.5, 8}));
}

TEST_F(DepthMaps, ReadsTheDepthOfAnArchive) {
  {
    ZipWriter archive(folder_ / "frame.npz");
    archive.add("other.npy", "no array");
    archive.add("depth.npy", npy_header("<f4", {3, 2, 1}) + bytes_of(kValues));
    archive.finish();
    ZipWriter without(folder_ / "without.npz");
    without.add("other.npy", "no array");
    without.finish();
  }
  EXPECT_EQ(read_depth_array(folder_ / "frame.npz").height, 3);
  expect_error(
      ErrorCode::input, [&] { (void)read_depth_array(folder_ / "without.npz"); },
      HasSubstr("without.npz: found no array \"depth\""));
}

TEST_F(DepthMaps, RefusesWhatIsNoDepthMap) {
  const std::string good = npy_header("<f4", {2, 3}) + bytes_of(kValues);
  refuses("", "is no NumPy array");
  refuses("hello, this is text", "is no NumPy array");
  refuses(good.substr(0, 40), "is cut off");
  refuses(good.substr(0, good.size() - 1), "expected 152 for 3 x 2 pixels; is the file cut off?");
  refuses(good + "x", "is the file cut off?");
  refuses(npy_header("<i4", {2, 3}) + bytes_of(kValues), "found values of type <i4, expected float32 or float64");
  refuses(npy_header("<f4", {6}) + bytes_of(kValues), "found an array of shape (6), expected a depth map");
  refuses(npy_header("<f4", {2, 3, 3}), "found an array of shape (2, 3, 3)");
  refuses(npy_header("<f4", {0, 3}), "found an array of shape (0, 3)");
  refuses(npy_header("<f4", {1LL << 62, 1LL << 62}), "expected a depth map");
  refuses(npy_header("<f4", {20000, 10000}), "is the file cut off?");
  expect_error(
      ErrorCode::input, [&] { (void)read_depth_array(folder_ / "absent.npy"); }, HasSubstr("absent.npy"));
}

}  // namespace
}  // namespace lingbot_map
