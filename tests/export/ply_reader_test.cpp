#include "export/ply_reader.hpp"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "expect_error.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kAll = 1'000'000;

class PlyReader : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "a.ply"; }
  void write(const std::string& content) const { test::write_content(file(), content); }
  void expect_refusal(const std::string& content, const std::string& words) const {
    write(content);
    expect_error(
        ErrorCode::input, [this] { static_cast<void>(read_ply_points(file(), kAll)); },
        AllOf(HasSubstr("a.ply: found"), HasSubstr(words)));
  }

  test::TemporaryFolder folder_;
};

std::string bytes_of(float value) {
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &value, 4);
  return bytes;
}

const std::string kProperties =
    "property float x\nproperty float y\nproperty float z\nproperty uchar red\nproperty uchar green\nproperty uchar "
    "blue\n";

TEST_F(PlyReader, GivesBackWhatTheWriterWrote) {
  std::vector<ColouredPoint> points;
  for (int i = 0; i < 100'000; ++i) {
    const auto shade = static_cast<std::uint8_t>(i);
    points.push_back({{0.5F * static_cast<float>(i), -1.F, 3.F}, {shade, 7, 255}});
  }
  PlyWriter writer(file());
  writer.append(points);
  EXPECT_EQ(read_ply_points(file(), kAll), points) << "while it is being written";
  writer.close();
  EXPECT_EQ(read_ply_points(file(), kAll), points);

  const std::vector<ColouredPoint> some = read_ply_points(file(), 30'000);
  ASSERT_EQ(some.size(), 25'000U);  // every fourth
  EXPECT_EQ(some[1], points[4]);
  EXPECT_EQ(some.back(), points[99'996]);
}

TEST_F(PlyReader, LeavesOutWhatItDoesNotKnow) {
  write(
      "ply\nformat binary_little_endian 1.0\ncomment x\nelement vertex 2\nproperty uchar red\nproperty double time\n"
      "property float x\nproperty uchar green\nproperty float z\nproperty uchar blue\nproperty float y\n"
      "element face 1\nproperty list uchar int vertex_indices\nend_header\n" +
      std::string("\1") + std::string(8, 't') + bytes_of(1) + "\2" + bytes_of(3) + "\3" + bytes_of(2) +  //
      std::string("\4") + std::string(8, 't') + bytes_of(4) + "\5" + bytes_of(6) + "\6" + bytes_of(5) + "faces");
  const std::vector<ColouredPoint> expected = {{{1, 2, 3}, {1, 2, 3}}, {{4, 5, 6}, {4, 5, 6}}};
  EXPECT_EQ(read_ply_points(file(), kAll), expected);
}

TEST_F(PlyReader, LeavesOutWhatIsNotFinite) {
  const ColouredPoint point{{1, 2, 3}, {4, 5, 6}};
  ColouredPoint nowhere = point;
  nowhere.position[1] = std::numeric_limits<float>::quiet_NaN();
  ColouredPoint far_away = point;
  far_away.position[2] = std::numeric_limits<float>::infinity();
  PlyWriter writer(file());
  writer.append(std::vector{nowhere, point, far_away});
  writer.close();
  EXPECT_EQ(read_ply_points(file(), kAll), std::vector{point});
}

TEST_F(PlyReader, TakesAnEmptyCloud) {
  PlyWriter(file()).close();
  EXPECT_TRUE(read_ply_points(file(), kAll).empty());
}

TEST_F(PlyReader, RefusesWhatIsNotSuchAFile) {
  const std::string start = "ply\nformat binary_little_endian 1.0\n";
  const std::string end = "end_header\n";
  expect_refusal("", "no PLY header");
  expect_refusal("solid", "no PLY header");
  expect_refusal(start + "element vertex 1\n" + kProperties, "no PLY header");
  expect_refusal("ply\nformat ascii 1.0\nelement vertex 0\n" + kProperties + end, "expected binary_little_endian");
  expect_refusal(start + "element face 1\n" + kProperties + end, "\"element vertex N\" first");
  expect_refusal(start + "element vertex -1\n" + kProperties + end, "\"element vertex N\" first");
  expect_refusal(start + "element vertex 99999999999999999999\n" + kProperties + end, "\"element vertex N\" first");
  expect_refusal(start + "element vertex 1\nproperty list uchar int x\n" + end, "type \"list\"");
  expect_refusal(start + "element vertex 1\nproperty double x\n" + end, "expected one float x");
  expect_refusal(start + "element vertex 1\n" + kProperties + "property float x\n" + end, "expected one float x");
  expect_refusal(start + "element vertex 1\nproperty float x\n" + end, "no vertex property y");
  expect_refusal(start + "element vertex 0\n" + end, "no vertex property x");
  expect_refusal(start + "element vertex 900000000000000000\n" + kProperties + end, "expected 900000000000000000");
  expect_refusal(start + "element vertex 2\n" + kProperties + end + std::string(29, 'x'),
                 "found 1 vertices, expected 2");
}

TEST_F(PlyReader, NamesAMissingFile) {
  expect_error(
      ErrorCode::input, [] { static_cast<void>(read_ply_points("/none/a.ply", kAll)); }, HasSubstr("/none/a.ply"));
}

}  // namespace
}  // namespace lingbot_map
