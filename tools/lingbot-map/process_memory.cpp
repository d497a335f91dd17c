#include "process_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <string>

namespace lingbot_map::tool {

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return statm ? resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

std::size_t peak_resident_bytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

std::optional<std::size_t> available_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::size_t kibibytes = 0;
  bool found = false;
  std::string key;
  std::size_t value = 0;
  while (meminfo >> key >> value) {
    if (key == "MemAvailable:" || key == "SwapFree:") kibibytes += value;
    found = found || key == "MemAvailable:";
    meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  if (!found) return std::nullopt;
  return kibibytes * 1024;
}

}  // namespace lingbot_map::tool
