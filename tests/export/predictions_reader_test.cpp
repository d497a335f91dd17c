#include "export/predictions_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/npy.hpp"
#include "base/zip.hpp"
#include "expect_error.hpp"
#include "export/predictions.hpp"
#include "readers.hpp"
#include "small_frame.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using test::small_frame;
using test::small_meta;
using testing::AllOf;
using testing::HasSubstr;

/// A folder with the predictions of some small frames.
class PredictionsReaderTest : public testing::Test {
 protected:
  void write(int frames, PredictionsWriter::Images images = PredictionsWriter::Images::unit_float) {
    PredictionsWriter writer(path(), {}, images);
    for (int i = 0; i < frames; ++i) {
      FrameResult frame = small_frame(i);
      if (i == 2) frame.type = FrameType::non_keyframe;
      FrameMeta meta = small_meta(i);
      meta.timestamp = 0.1 + i;  // 0.1 has no exact text of nine digits
      meta.file = "/pictures/" + meta.name;
      meta.camera = i == 1 ? std::optional(Intrinsics{3, 3, 2, 1}) : std::nullopt;
      writer.write(pose_frame(frame, meta));
    }
    writer.finish();
  }
  std::filesystem::path path() const { return folder_ / "predictions"; }
  std::vector<PredictedFrame> read() const {
    PredictionsReader reader(path(), 10);
    std::vector<PredictedFrame> frames;
    while (auto frame = reader.next()) frames.push_back(*std::move(frame));
    return frames;
  }
  void expect_refused(const testing::Matcher<std::string>& message) const {
    expect_error(
        ErrorCode::input, [&] { (void)read(); }, message);
  }

  test::TemporaryFolder folder_;
};

TEST_F(PredictionsReaderTest, GivesBackWhatWasWritten) {
  for (const auto images : {PredictionsWriter::Images::unit_float, PredictionsWriter::Images::bytes}) {
    write(3, images);
    const auto frames = read();
    ASSERT_EQ(frames.size(), 3);
    for (int i = 0; i < 3; ++i) {
      const auto& [result, meta] = frames[static_cast<std::size_t>(i)];
      EXPECT_EQ(result.index, i);
      EXPECT_EQ(result.pose_enc, small_frame(i).pose_enc);
      EXPECT_EQ(result.depth, small_frame(i).depth);
      EXPECT_EQ(result.depth_conf, small_frame(i).depth_conf);
      EXPECT_EQ(meta.image.pixels, small_meta(i).image.pixels);
      EXPECT_EQ(meta.timestamp, 0.1 + i);
      EXPECT_EQ(meta.name, small_meta(i).name);
      EXPECT_EQ(meta.file, "/pictures/" + small_meta(i).name);
      EXPECT_EQ(meta.original.width, 8);
      EXPECT_EQ(meta.original.scale_y, 2);
      EXPECT_EQ(meta.camera.has_value(), i == 1);
    }
    EXPECT_EQ(frames[1].meta.camera->fx, 3);
    EXPECT_EQ(frames[0].result.type, FrameType::scale);
    EXPECT_EQ(frames[2].result.type, FrameType::non_keyframe);
  }
}

TEST_F(PredictionsReaderTest, EveryByteOfAPictureComesBack) {
  Image image(4, 2);
  std::vector<std::uint8_t> seen;
  for (int start = 0; start < 256; start += 24) {
    for (int i = 0; i < 24; ++i) image.pixels[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(start + i);
    PredictionsWriter writer(path());
    FrameMeta meta = small_meta();
    meta.image = image;
    const FrameResult frame = small_frame();
    writer.write(pose_frame(frame, meta));
    EXPECT_EQ(read().at(0).meta.image.pixels, image.pixels);
  }
}

TEST_F(PredictionsReaderTest, ThePublicProgramsFolderHasNoSidecar) {
  write(3);
  std::filesystem::remove(path() / "frames.jsonl");
  PredictionsReader reader(path(), 5);
  EXPECT_FALSE(reader.has_sidecar());
  const auto frame = reader.next();
  EXPECT_EQ(frame->meta.timestamp, 0);
  EXPECT_EQ(frame->result.type, FrameType::scale);  // from meta.npz
  EXPECT_EQ(reader.next()->meta.timestamp, 0.2);
  const auto last = reader.next();
  EXPECT_EQ(last->result.type, FrameType::non_keyframe);
  EXPECT_EQ(last->meta.original.width, 4);
  EXPECT_TRUE(last->meta.file.empty());
  EXPECT_FALSE(reader.next());
}

TEST_F(PredictionsReaderTest, AKilledRunHasWhatItFinished) {
  write(3);
  std::filesystem::remove(path() / "meta.npz");
  std::ofstream(path() / "frames.jsonl", std::ios::app) << "{\"index\": 3, \"ty";
  test::write_content(path() / "frame_000003.npz.part", "PK");
  EXPECT_EQ(read().size(), 3);
}

/// Arrays as other programs store them.
TEST_F(PredictionsReaderTest, TakesTheOtherWaysToStoreTheSame) {
  std::filesystem::create_directory(path());
  ZipWriter archive(path() / "frame_000000.npz");
  const auto add = [&](const std::string& name, std::string_view type, std::initializer_list<std::int64_t> shape,
                       std::span<const std::byte> values) {
    const std::string header = npy_header(type, shape);
    archive.add(name + ".npy", {std::as_bytes(std::span(header)), values});
  };
  const std::vector<double> depth = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> k = {2, 0, 2, 0, 1, 1, 0, 0, 1};
  const std::vector<float> e = {0, 0, -1, 30, 0, 1, 0, -20, 1, 0, 0, -10};
  const Image image = test::small_image();
  add("depth", "<f8", {2, 4}, std::as_bytes(std::span(depth)));
  add("confidence", "<f8", {2, 4}, std::as_bytes(std::span(depth)));
  add("intrinsic", "<f4", {3, 3}, std::as_bytes(std::span(k)));
  add("extrinsic", "<f4", {3, 4}, std::as_bytes(std::span(e)));
  add("images", "|u1", {2, 4, 3}, std::as_bytes(std::span(image.pixels)));
  archive.finish();
  const auto frames = read();
  ASSERT_EQ(frames.size(), 1);
  EXPECT_THAT(frames[0].result.pose_enc, testing::Pointwise(testing::FloatNear(1e-5F), small_frame().pose_enc));
  EXPECT_EQ(frames[0].meta.image.pixels, image.pixels);
  EXPECT_EQ(frames[0].result.depth_conf[7], 8);
}

TEST_F(PredictionsReaderTest, NamesAFolderThatHasNone) {
  expect_refused(AllOf(HasSubstr("predictions"), HasSubstr("cannot be read as a folder")));
  std::filesystem::create_directory(path());
  expect_refused(HasSubstr("found no frame_000000.npz"));
  std::filesystem::remove(path());
  test::write_content(path(), "a file");
  expect_refused(HasSubstr("cannot be read as a folder"));
}

TEST_F(PredictionsReaderTest, NamesAFrameThatIsMissing) {
  write(3);
  std::filesystem::remove(path() / "frame_000001.npz");
  expect_refused(AllOf(HasSubstr("up to frame_000002.npz"), HasSubstr("no frame_000001.npz")));
}

TEST_F(PredictionsReaderTest, NamesAnArchiveThatIsDamaged) {
  write(2);
  const std::string whole = test::content_of(path() / "frame_000001.npz");
  test::write_content(path() / "frame_000001.npz", whole.substr(0, whole.size() / 2));
  expect_refused(HasSubstr("frame_000001.npz"));
  test::write_content(path() / "frame_000001.npz", "");
  expect_refused(HasSubstr("frame_000001.npz"));
  // Whatever byte is changed: an error, or values.
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    test::write_content(path() / "frame_000001.npz", changed);
    try {
      (void)read();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("frame_000001.npz"));
    }
  }
}

TEST_F(PredictionsReaderTest, NamesASidecarThatIsIncomplete) {
  write(3);
  const std::string whole = test::content_of(path() / "frames.jsonl");
  test::write_content(path() / "frames.jsonl", whole.substr(0, whole.size() - 30));
  expect_refused(AllOf(HasSubstr("frames.jsonl"), HasSubstr("frame 2")));
  test::write_content(path() / "frames.jsonl", "");
  expect_refused(AllOf(HasSubstr("frames.jsonl"), HasSubstr("first line")));
  test::write_content(path() / "frames.jsonl", "{\"units\":null}\n{\"index\":5}\n");
  expect_refused(HasSubstr("found frame 5, expected 0"));
  test::write_content(path() / "frames.jsonl", "{\"units\":null}\n{\"index\":0}\n");
  expect_refused(HasSubstr("frame 0"));
  test::write_content(
      path() / "frames.jsonl",
      "{}\n{\"index\":0,\"type\":0,\"timestamp\":0,\"name\":\"\",\"file\":\"\",\"original\":[0,4,1,1,0,0]}\n");
  expect_refused(HasSubstr("0 x 4"));
}

}  // namespace
}  // namespace lingbot_map
