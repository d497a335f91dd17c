#include "bench/operation_cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "backend/cpu/cpu_backend.hpp"
#include "bench/device_time.hpp"
#include "bench/peak.hpp"

namespace lingbot_map::tool {
namespace {

std::vector<OperationCase> tiny_cases(DType dtype) {
  static const Config config = Config::tiny();
  static const FrameGrid grid(config, 84, 56);
  static const SessionOptions session{.scale_frames = 2, .window = 3};
  return operation_cases(config, grid, session, dtype, {AttentionKind::sdpa});
}

TEST(OperationCases, RunOnTheCpuAndGiveFiniteNumbers) {
  CpuBackend backend(1);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const OperationCase& operation : tiny_cases(dtype)) {
      Operands operands(backend);
      const PreparedOperation prepared = operation.prepare(backend, operands);
      prepared.step();
      ASSERT_FALSE(prepared.outputs.empty()) << operation.name;
      EXPECT_GT(operation.bytes, 0) << operation.name;
      for (const Tensor& output : prepared.outputs) {
        EXPECT_TRUE(output.contiguous()) << operation.name;
        for (std::int64_t i = 0; i < output.elements(); ++i) {
          const float value =
              output.dtype() == DType::bf16 ? static_cast<float>(output.data<bf16>()[i]) : output.data<float>()[i];
          ASSERT_TRUE(std::isfinite(value)) << operation.name << " " << i;
        }
      }
    }
  }
}

TEST(OperationCases, HaveDifferentNames) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    std::set<std::string> names;
    for (const OperationCase& operation : tiny_cases(dtype))
      EXPECT_TRUE(names.insert(operation.name).second) << operation.name;
  }
}

TEST(OperationCases, AreThoseOfTheOfficialModel) {
  const Config config;
  const FrameGrid grid(config, 518, 378);
  const std::vector<OperationCase> cases = operation_cases(config, grid, {}, DType::bf16, {AttentionKind::automatic});
  const auto shape_of = [&cases](const std::string& name) {
    for (const OperationCase& operation : cases)
      if (operation.name == name) return operation.shape;
    return std::string("none");
  };
  EXPECT_EQ(shape_of("product/fc1"), "1005x1024x4096");
  EXPECT_EQ(shape_of("attention/cache/auto"), "1005x72360");
  EXPECT_EQ(shape_of("convolve/out1"), "216x296x256x128");
  EXPECT_EQ(shape_of("convolve/out2"), "378x518x128x32");
}

TEST(Operands, AreTheSameEveryTime) {
  CpuBackend backend(1);
  Operands one(backend);
  Operands two(backend);
  const Tensor a = one.tensor(DType::f32, {3, 5}, 2);
  const Tensor b = two.tensor(DType::f32, {3, 5}, 2);
  const Tensor c = two.tensor(DType::f32, {3, 5}, 2);
  EXPECT_TRUE(std::equal(a.data<float>(), a.data<float>() + 15, b.data<float>()));
  EXPECT_FALSE(std::equal(a.data<float>(), a.data<float>() + 15, c.data<float>()));
  for (int i = 0; i < 15; ++i) EXPECT_LE(std::abs(a.data<float>()[i]), 2);
}

TEST(DeviceSeconds, AreOneForEachRepeat) {
  CpuBackend backend(1);
  int steps = 0;
  const std::vector<double> seconds =
      device_seconds(backend, [&steps] { ++steps; }, {.repeats = 5, .warmup = 1, .least_seconds = 0});
  EXPECT_EQ(seconds.size(), 5U);
  EXPECT_EQ(steps, 1 + 1 + 5);
}

TEST(Peak, IsMeasuredOnce) {
  CpuBackend backend(1);
  Peak peak(backend);
  EXPECT_GT(peak.flops(Precision::f32), 1e8);
  EXPECT_EQ(peak.flops(Precision::f32), peak.flops(Precision::f32));
  EXPECT_GT(peak.bandwidth(), 1e8);
}

}  // namespace
}  // namespace lingbot_map::tool
