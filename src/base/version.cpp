#include "lingbot_map/version.hpp"

#include "base/build_info.hpp"

namespace lingbot_map {

std::string version() { return kVersion; }
std::string commit() { return kCommit; }
std::string build_features() { return kFeatures; }

}  // namespace lingbot_map
