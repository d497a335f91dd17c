#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

namespace lingbot_map {

/// Bytes of a page-aligned block that are backed by real memory.
inline std::size_t resident_bytes(void* data, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  if (bytes == 0 || mincore(data, bytes, pages.data()) != 0) return 0;
  std::size_t resident = 0;
  for (const unsigned char flags : pages) resident += (flags & 1U) * page;
  return resident;
}

}  // namespace lingbot_map
