#include "sky/mask_store.hpp"

#include <gtest/gtest.h>

#include "expect_error.hpp"
#include "media/write_png.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using State = MaskStore::State;

class MaskStoreTest : public testing::Test {
 protected:
  static SkyMask checkered(int width, int height) {
    SkyMask mask{.width = width, .height = height, .pixels = {}};
    for (int i = 0; i < width * height; ++i) mask.pixels.push_back(i % 3 == 0 ? SkyMask::kSky : SkyMask::kKeep);
    return mask;
  }
  test::TemporaryFolder folder_;
  MaskStore store_{folder_.path(), "model a"};
  MaskStore::Key key_{.file = "img_1.jpg.png", .frame = std::string(64, 'a')};
};

TEST_F(MaskStoreTest, NamesMasksAfterTheirFrames) {
  EXPECT_EQ(MaskStore::file_name("img 1.JPG", std::nullopt), "img 1.JPG.png");
  EXPECT_EQ(MaskStore::file_name("walk.mp4 at 0.500 s", 0.5), "at_000000.500000.png");
  EXPECT_EQ(MaskStore::file_name("rtsp://user:secret@host/x at 12345.5 s", 12345.5), "at_012345.500000.png");
}

TEST_F(MaskStoreTest, GivesBackWhatItGot) {
  EXPECT_EQ(store_.find(key_, 7, 5).state, State::missing);
  const SkyMask mask = checkered(7, 5);
  store_.put(key_, mask);
  const auto found = store_.find(key_, 7, 5);
  EXPECT_EQ(found.state, State::usable);
  EXPECT_EQ(found.mask, mask);
  EXPECT_EQ(store_.path_of(key_), folder_ / "img_1.jpg.png");
}

TEST_F(MaskStoreTest, GivesNothingForAnotherFrameModelOrSize) {
  store_.put(key_, checkered(7, 5));
  MaskStore::Key other = key_;
  other.frame[10] = 'b';
  EXPECT_EQ(store_.find(other, 7, 5).state, State::stale);
  EXPECT_EQ(MaskStore(folder_.path(), "model b").find(key_, 7, 5).state, State::stale);
  EXPECT_EQ(store_.find(key_, 5, 7).state, State::stale);
  store_.put(other, checkered(7, 5));
  EXPECT_EQ(store_.find(other, 7, 5).state, State::usable);
  EXPECT_EQ(store_.find(key_, 7, 5).state, State::stale);
}

TEST_F(MaskStoreTest, LeavesForeignFilesAlone) {
  for (const char* content : {"", "text", "\x89PNG\r\n\x1a\n"}) {
    test::write_content(store_.path_of(key_), content);
    EXPECT_EQ(store_.find(key_, 7, 5).state, State::foreign);
  }
  write_png(store_.path_of(key_), Image(7, 5));
  EXPECT_EQ(store_.find(key_, 7, 5).state, State::foreign);
  std::filesystem::remove(store_.path_of(key_));
  std::filesystem::create_directory(store_.path_of(key_));
  EXPECT_EQ(store_.find(key_, 7, 5).state, State::foreign);
}

TEST_F(MaskStoreTest, TakesNoDamagedMask) {
  store_.put(key_, checkered(70, 50));
  const std::string whole = test::content_of(store_.path_of(key_));
  for (std::size_t place = 0; place < whole.size(); place += 3) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x11);
    test::write_content(store_.path_of(key_), damaged);
    const auto found = store_.find(key_, 70, 50);
    if (found.state == State::usable) {
      EXPECT_EQ(found.mask, checkered(70, 50)) << place;
    }
  }
  test::write_content(store_.path_of(key_), whole.substr(0, whole.size() - 20));
  EXPECT_EQ(store_.find(key_, 70, 50).state, State::stale);
  SkyMask gray = checkered(70, 50);
  gray.pixels[100] = 128;
  store_.put(key_, gray);
  EXPECT_EQ(store_.find(key_, 70, 50).state, State::stale);
}

TEST_F(MaskStoreTest, SaysWhereItCannotWrite) {
  const MaskStore store(folder_ / "missing", "model a");
  test::expect_error(
      ErrorCode::output, [&] { store.put(key_, checkered(2, 2)); }, testing::HasSubstr("missing/img_1.jpg.png"));
}

}  // namespace
}  // namespace lingbot_map
