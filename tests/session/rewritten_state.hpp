#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.hpp"
#include "base/zip.hpp"

namespace lingbot_map::test {

/// Writes a saved session anew, with valid check sums, after `from` became `to` among its numbers and texts.
inline void rewrite_state(const std::filesystem::path& path, const std::string& from, const std::string& to) {
  const std::filesystem::path changed = path.string() + ".changed";
  const ZipReader old(File::open(path));
  ZipWriter archive(changed);
  for (const ZipEntry& entry : old.entries()) {
    std::string text = old.read_text(entry, std::size_t{1} << 30);
    if (entry.name == "state.json") {
      const std::size_t at = text.find(from);
      ASSERT_NE(at, std::string::npos) << from << " in " << text;
      text.replace(at, from.size(), to);
    }
    archive.add(entry.name, text);
  }
  archive.finish();
  std::filesystem::rename(changed, path);
}

}  // namespace lingbot_map::test
