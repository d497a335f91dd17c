#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.hpp"
#include "test_tensor.hpp"

namespace lingbot_map::test {

/// A test that runs once with every kernel set of this processor.
class KernelSets : public testing::TestWithParam<const cpu::Kernels*> {
 protected:
  [[nodiscard]] static const cpu::Kernels& kernels() { return *GetParam(); }
  CpuBackend backend{2, GetParam()};
};

inline std::vector<const cpu::Kernels*> every_kernel_set() {
  return {cpu::available_kernels().begin(), cpu::available_kernels().end()};
}

inline std::string kernel_set_name(const testing::TestParamInfo<const cpu::Kernels*>& info) {
  return std::string(info.param->name);
}

}  // namespace lingbot_map::test
