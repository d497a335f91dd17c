#include "lingbot_map/device_info.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <limits>

#include "base/message.hpp"
#ifdef LINGBOT_MAP_HAS_CUDA
#include "backend/cuda/cuda_device_info.hpp"
#endif

namespace lingbot_map {
namespace {

constexpr std::size_t kKibibyte = 1024;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t start = line.find_first_not_of(" \t:", line.find(':'));
    if (start != std::string::npos) return line.substr(start);
  }
  return "CPU";
}

/// Adds up the named rows of /proc/meminfo; 0 where it is missing.
std::size_t memory_rows(std::initializer_list<std::string_view> names) {
  std::ifstream file("/proc/meminfo");
  std::size_t kibibytes = 0;
  std::string key;
  std::size_t value = 0;
  while (file >> key >> value) {
    for (const std::string_view name : names) kibibytes += key == name ? value : 0;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return kibibytes * kKibibyte;
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return file ? resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

std::size_t peak_resident_bytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * kKibibyte;
}

}  // namespace

DeviceInfo device_info(Device device) {
  if (device.kind == Device::Kind::cpu) {
    return {.name = processor_name(),
            .driver = {},
            .total_bytes = memory_rows({"MemTotal:"}),
            .free_bytes = memory_rows({"MemAvailable:", "SwapFree:"}),
            .allocated_bytes = resident_bytes(),
            .peak_bytes = peak_resident_bytes()};
  }
#ifdef LINGBOT_MAP_HAS_CUDA
  return cuda::cuda_device_info(device.index);
#else
  fail(ErrorCode::unsupported, "device ", device.to_string(), ": this build has no CUDA back end; take --device cpu");
#endif
}

Device default_device() {
  try {
    static_cast<void>(device_info(Device::cuda()));
    return Device::cuda();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) return Device::cpu();
    throw;
  }
}

}  // namespace lingbot_map
