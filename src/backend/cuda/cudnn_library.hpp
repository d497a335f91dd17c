#pragma once

#include <memory>
#include <string>

namespace lingbot_map::cuda {

struct CudnnFunctions;

/// cuDNN 9, opened at run time by its soname, so that a program built with its headers starts without it. Searched in
/// the order of the dynamic loader (LD_LIBRARY_PATH, ld.so.cache), then beside the cuBLASLt that the process has loaded
/// and in `../../cudnn/lib` of it, where Python packages keep theirs. That it is missing is not an error: available()
/// says no, and reason() why.
class CudnnLibrary {
 public:
  [[nodiscard]] static std::shared_ptr<const CudnnLibrary> open();
  ~CudnnLibrary();
  CudnnLibrary(const CudnnLibrary&) = delete;
  CudnnLibrary& operator=(const CudnnLibrary&) = delete;

  [[nodiscard]] bool available() const noexcept { return functions_ != nullptr; }
  /// Why it is not available, as part of a sentence; empty when it is.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  /// "9.19.0"; empty when it is not available.
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  /// Throws Error(unsupported) with the reason when cuDNN is not available.
  [[nodiscard]] const CudnnFunctions& functions() const;

 private:
  CudnnLibrary();

  std::unique_ptr<CudnnFunctions> functions_;
  std::string reason_;
  std::string version_;
};

}  // namespace lingbot_map::cuda
