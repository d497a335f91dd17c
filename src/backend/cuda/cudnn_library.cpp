#include "backend/cuda/cudnn_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <climits>
#include <vector>

#include "backend/cuda/cudnn_functions.hpp"
#include "base/message.hpp"

namespace lingbot_map::cuda {
namespace {

constexpr const char* kSoname = "libcudnn.so.9";
constexpr std::size_t kOldestVersion = 91000;

std::string loader_message() {
  const char* text = dlerror();
  return text == nullptr ? "unknown reason" : text;
}

/// The folder of a library that is already loaded; empty when it is not.
std::string folder_of_loaded(const char* soname) {
  void* library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return {};
  std::vector<char> origin(PATH_MAX, '\0');
  const bool known = dlinfo(library, RTLD_DI_ORIGIN, origin.data()) == 0;
  dlclose(library);
  return known ? std::string(origin.data()) : std::string();
}

void* open_library(std::string& reason) {
  if (void* library = dlopen(kSoname, RTLD_NOW | RTLD_LOCAL)) return library;
  reason = loader_message();
  for (const char* blas : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
    const std::string folder = folder_of_loaded(blas);
    if (folder.empty()) continue;
    for (const char* place : {"/", "/../../cudnn/lib/"}) {
      if (void* library = dlopen((folder + place + kSoname).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  return nullptr;
}

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// The name of the first function that is missing; null when all are there.
const char* find_all(CudnnFunctions& f) {
  if (!find(f.library, "cudnnGetVersion", f.get_version)) return "cudnnGetVersion";
  if (!find(f.library, "cudnnGetErrorString", f.error_string)) return "cudnnGetErrorString";
  if (!find(f.library, "cudnnGetLastErrorString", f.last_error_string)) return "cudnnGetLastErrorString";
  if (!find(f.library, "cudnnCreate", f.create)) return "cudnnCreate";
  if (!find(f.library, "cudnnDestroy", f.destroy)) return "cudnnDestroy";
  if (!find(f.library, "cudnnSetStream", f.set_stream)) return "cudnnSetStream";
  if (!find(f.library, "cudnnBackendCreateDescriptor", f.create_descriptor)) return "cudnnBackendCreateDescriptor";
  if (!find(f.library, "cudnnBackendDestroyDescriptor", f.destroy_descriptor)) return "cudnnBackendDestroyDescriptor";
  if (!find(f.library, "cudnnBackendSetAttribute", f.set_attribute)) return "cudnnBackendSetAttribute";
  if (!find(f.library, "cudnnBackendGetAttribute", f.get_attribute)) return "cudnnBackendGetAttribute";
  if (!find(f.library, "cudnnBackendFinalize", f.finalize)) return "cudnnBackendFinalize";
  if (!find(f.library, "cudnnBackendExecute", f.execute)) return "cudnnBackendExecute";
  return nullptr;
}

std::string version_text(std::size_t version) {
  return message(version / 10000, '.', version / 100 % 100, '.', version % 100);
}

}  // namespace

std::shared_ptr<const CudnnLibrary> CudnnLibrary::open() {
  return std::shared_ptr<const CudnnLibrary>(new CudnnLibrary());
}

CudnnLibrary::CudnnLibrary() {
  auto functions = std::make_unique<CudnnFunctions>();
  functions->library = open_library(reason_);
  if (functions->library == nullptr) {
    reason_ = message(kSoname, " was not found (", reason_, "); install cuDNN 9 or put its folder in LD_LIBRARY_PATH");
    return;
  }
  reason_.clear();
  if (const char* missing = find_all(*functions)) {
    reason_ = message(kSoname, " has no ", missing, "; install cuDNN ", version_text(kOldestVersion), " or newer");
  } else if (const std::size_t version = functions->get_version(); version < kOldestVersion) {
    reason_ = message("cuDNN ", version_text(version), " was found, expected ", version_text(kOldestVersion),
                      " or newer; install it or put its folder first in LD_LIBRARY_PATH");
  } else {
    version_ = version_text(version);
    functions_ = std::move(functions);
    return;
  }
  dlclose(functions->library);
}

/// The library stays loaded: CUDA graphs may hold kernels of it for longer than this object lives.
CudnnLibrary::~CudnnLibrary() = default;

const CudnnFunctions& CudnnLibrary::functions() const {
  if (!available()) fail(ErrorCode::unsupported, "cuDNN is not available: ", reason_);
  return *functions_;
}

}  // namespace lingbot_map::cuda
