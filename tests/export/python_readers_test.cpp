#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "export/result_writer.hpp"
#include "readers.hpp"
#include "wall_frames.hpp"

/// What other people's programs make of our files, where Python has them: pycolmap, trimesh, evo and numpy.
/// LINGBOT_MAP_EXPORT_PYTHON names another Python than python3.
namespace lingbot_map {
namespace {

std::string python() {
  const char* named = std::getenv("LINGBOT_MAP_EXPORT_PYTHON");
  return named == nullptr ? "python3" : named;
}

int exit_code_of(const std::string& command) { return std::system(command.c_str()); }

/// Writes the header of a PNG file, which is what readers of the folder look at.
void write_picture(const std::filesystem::path& path, const Image&) { test::write_content(path, "\x89PNG\r\n"); }

TEST(PythonReaders, ReadWhatWeWrite) {
  if (exit_code_of(python() + " -c 'import pycolmap, trimesh, evo, numpy' >/dev/null 2>&1") != 0)
    GTEST_SKIP() << python() << " has no pycolmap, trimesh, evo and numpy (LINGBOT_MAP_EXPORT_PYTHON names another)";
  const test::TemporaryFolder folder;
  ResultOptions options;
  options.formats = ExportFormats::parse("formats", "ply,glb,colmap,nerfstudio,tum,kitti,npz");
  options.write_png = write_picture;
  ResultWriter writer(folder.path(), options);
  for (int i = 0; i < 10; ++i) writer.write(test::wall_frame(i), test::wall_meta(i));
  writer.finish();
  EXPECT_EQ(exit_code_of(python() + " " LINGBOT_MAP_TEST_DATA "/../export/read_exports.py " + folder.path().string()),
            0);
}

}  // namespace
}  // namespace lingbot_map
