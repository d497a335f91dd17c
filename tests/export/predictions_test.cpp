#include "export/predictions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "export/predictions_reader.hpp"
#include "file_size_limit.hpp"
#include "readers.hpp"
#include "small_frame.hpp"

namespace lingbot_map {
namespace {

using test::Array;
using test::expect_error;
using test::read_npz;
using test::small_frame;
using test::small_image;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::IsNan;
using testing::Pointwise;

void write(PredictionsWriter& writer, const FrameResult& frame, const Image& image) {
  FrameMeta meta;
  meta.image = image;
  writer.write(pose_frame(frame, meta));
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(PredictionsWriter, WritesThePublicNamesAndShapes) {
  const test::TemporaryFolder folder;
  PredictionsWriter writer(folder / "predictions");
  const FrameResult frame = small_frame();
  write(writer, frame, small_image());
  const auto arrays = read_npz(folder / "predictions/frame_000000.npz");

  std::vector<std::string> shapes;
  for (const auto& [name, array] : arrays) {
    EXPECT_EQ(array.type, "<f4") << name;
    shapes.push_back(name + " " + array.shape);
  }
  EXPECT_THAT(shapes, ElementsAre("depth 2,4,1", "depth_conf 2,4", "extrinsic 3,4", "images 3,2,4", "intrinsic 3,3",
                                  "pose_enc 9"));
  EXPECT_THAT(arrays.at("pose_enc").values<float>(), testing::ElementsAreArray(frame.pose_enc));
  EXPECT_EQ(arrays.at("depth").values<float>(), frame.depth);
  EXPECT_EQ(arrays.at("depth_conf").values<float>(), frame.depth_conf);
}

TEST(PredictionsWriter, ExtrinsicIsWorldToCamera) {
  const test::TemporaryFolder folder;
  PredictionsWriter writer(folder.path());
  write(writer, small_frame(), small_image());
  const auto arrays = read_npz(folder / "frame_000000.npz");
  // The camera stands at (10, 20, 30), its axes along -z, y and x of the world.
  EXPECT_THAT(arrays.at("extrinsic").values<float>(),
              Pointwise(FloatNear(1e-5F), {0, 0, -1, 30, 0, 1, 0, -20, 1, 0, 0, -10}));
  EXPECT_THAT(arrays.at("intrinsic").values<float>(), Pointwise(FloatNear(1e-6F), {2, 0, 2, 0, 1, 1, 0, 0, 1}));
}

TEST(PredictionsWriter, ImagesArePlanesInUnitRange) {
  const test::TemporaryFolder folder;
  PredictionsWriter writer(folder.path());
  Image image = small_image();
  image.pixels[3 * 7 + 2] = 255;
  write(writer, small_frame(), image);
  const auto planes = read_npz(folder / "frame_000000.npz").at("images").values<float>();
  EXPECT_EQ(planes[0], 0);
  EXPECT_EQ(planes[5], 5 / 255.0F);
  EXPECT_EQ(planes[8], 100 / 255.0F);
  EXPECT_EQ(planes[23], 1);
}

TEST(PredictionsWriter, WorldPointsAreThereWithAPointHead) {
  const test::TemporaryFolder folder;
  PredictionsWriter writer(folder.path());
  FrameResult frame = small_frame();
  for (int i = 0; i < 24; ++i) frame.world_points.push_back(static_cast<float>(i));
  frame.world_points_conf = std::vector<float>(8, 2);
  write(writer, frame, small_image());
  const auto arrays = read_npz(folder / "frame_000000.npz");
  EXPECT_EQ(arrays.at("world_points").shape, "2,4,3");
  EXPECT_EQ(arrays.at("world_points").values<float>(), frame.world_points);
  EXPECT_EQ(arrays.at("world_points_conf").shape, "2,4");
}

TEST(PredictionsWriter, WithoutAPoseTheExtrinsicIsNan) {
  const test::TemporaryFolder folder;
  PredictionsWriter writer(folder.path());
  FrameResult frame = small_frame();
  std::fill_n(frame.pose_enc.begin() + 3, 4, 0.0F);
  write(writer, frame, small_image());
  EXPECT_THAT(read_npz(folder / "frame_000000.npz").at("extrinsic").values<float>(), testing::Each(IsNan()));
}

TEST(PredictionsWriter, MetaTellsTheRoleOfEveryFrame) {
  const test::TemporaryFolder folder;
  PredictionsWriter writer(folder.path());
  for (const FrameType type : {FrameType::scale, FrameType::keyframe, FrameType::non_keyframe}) {
    FrameResult frame = small_frame(static_cast<int>(type));
    frame.type = type;
    write(writer, frame, small_image());
  }
  writer.finish();
  EXPECT_THAT(names_in(folder.path()),
              ElementsAre("frame_000000.npz", "frame_000001.npz", "frame_000002.npz", "frames.jsonl", "meta.npz"));
  const auto meta = read_npz(folder / "meta.npz");
  EXPECT_EQ(meta.at("frame_type").type, "|u1");
  EXPECT_EQ(meta.at("frame_type").shape, "1,3");
  EXPECT_THAT(meta.at("frame_type").values<std::uint8_t>(), ElementsAre(0, 1, 2));
  EXPECT_EQ(meta.at("is_keyframe").type, "|b1");
  EXPECT_EQ(meta.at("is_keyframe").shape, "1,3");
  EXPECT_THAT(meta.at("is_keyframe").values<std::uint8_t>(), ElementsAre(1, 1, 0));
}

TEST(PredictionsWriter, MetaTellsTheWindows) {
  const test::TemporaryFolder folder;
  PredictionsWriter writer(folder.path());
  write(writer, small_frame(0), small_image());
  const WindowRecord second{.scale = 1.5, .transform = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 1}};
  writer.finish(std::vector<WindowRecord>{{}, second});
  const auto meta = read_npz(folder / "meta.npz");
  EXPECT_EQ(meta.at("chunk_scales").type, "<f4");
  EXPECT_EQ(meta.at("chunk_scales").shape, "2");
  EXPECT_THAT(meta.at("chunk_scales").values<float>(), ElementsAre(1, 1.5));
  EXPECT_EQ(meta.at("chunk_transforms").shape, "2,4,4");
  const std::vector<float> transforms = meta.at("chunk_transforms").values<float>();
  EXPECT_EQ(transforms[0], 1);
  EXPECT_EQ(transforms[1], 0);
  EXPECT_EQ(transforms[16 + 6], 7);
}

TEST(PredictionsWriter, WindowsAreInTheUnitsOfTheRestAndComeBack) {
  const WindowRecord turned{.scale = 1.5, .transform = {0, -1, 0, 4, 1, 0, 0, 8, 0, 0, 1, 12, 0, 0, 0, 1}};
  const std::vector<WindowRecord> windows = {{}, turned};
  const test::TemporaryFolder own;
  const test::TemporaryFolder doubled;
  for (const auto& [folder, units] :
       {std::pair<const test::TemporaryFolder&, Units>{own, {}}, {doubled, Units::scaled(2)}}) {
    PredictionsWriter writer(folder.path(), units);
    write(writer, small_frame(0), small_image());
    writer.finish(windows);
  }
  const std::vector<WindowRecord> back = PredictionsReader(own.path(), 10).windows();
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[1].scale, 1.5);
  EXPECT_EQ(back[1].transform, turned.transform);
  const std::vector<WindowRecord> in_units = PredictionsReader(doubled.path(), 10).windows();
  EXPECT_EQ(in_units[0].scale, 2);
  EXPECT_EQ(in_units[1].scale, 3);
  EXPECT_THAT(in_units[1].transform, ElementsAre(0, -1, 0, 8, 1, 0, 0, 16, 0, 0, 1, 24, 0, 0, 0, 1));
}

TEST(PredictionsWriter, MetaOfASingleWindowHasNoTransform) {
  const test::TemporaryFolder folder;
  PredictionsWriter writer(folder.path());
  writer.finish(std::vector<WindowRecord>(1));
  const auto meta = read_npz(folder / "meta.npz");
  EXPECT_THAT(meta.at("chunk_scales").values<float>(), ElementsAre(1));
  EXPECT_FALSE(meta.contains("chunk_transforms"));
}

TEST(PredictionsWriter, RemovesWhatAnEarlierRunLeftAndNothingElse) {
  const test::TemporaryFolder folder;
  for (const char* name :
       {"frame_000007.npz", "frame_000008.npz.part", "meta.npz", "frames.jsonl", "frame_000001.png", "notes.npz"})
    test::write_content(folder / name, "old");
  const PredictionsWriter writer(folder.path());
  EXPECT_THAT(names_in(folder.path()), ElementsAre("frame_000001.png", "frames.jsonl", "notes.npz"));
}

TEST(PredictionsWriter, AFullDiskLeavesEarlierArchivesAndNoPart) {
  const test::TemporaryFolder folder;
  PredictionsWriter writer(folder.path());
  write(writer, small_frame(0), small_image());
  {
    const test::FileSizeLimit limit(500);
    expect_error(
        ErrorCode::output, [&] { write(writer, small_frame(1), small_image()); }, HasSubstr("frame_000001.npz"));
  }
  EXPECT_THAT(names_in(folder.path()), ElementsAre("frame_000000.npz", "frames.jsonl"));
  EXPECT_EQ(read_npz(folder / "frame_000000.npz").size(), 6);
}

TEST(PredictionsWriter, RefusesSizesThatDiffer) {
  const test::TemporaryFolder folder;
  PredictionsWriter writer(folder.path());
  expect_error(
      ErrorCode::internal, [&] { write(writer, small_frame(), Image(2, 4)); }, HasSubstr("are not 4 x 2"));
  FrameResult frame = small_frame();
  frame.depth_conf.pop_back();
  expect_error(
      ErrorCode::internal, [&] { write(writer, frame, small_image()); }, HasSubstr("are not 4 x 2"));
}

TEST(PredictionsWriter, NamesAFolderThatCannotBeMade) {
  const test::TemporaryFolder folder;
  test::write_content(folder / "predictions", "a file");
  expect_error(
      ErrorCode::output, [&] { PredictionsWriter(folder / "predictions"); }, HasSubstr("is not a folder"));
}

}  // namespace
}  // namespace lingbot_map
