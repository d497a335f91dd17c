#include "lingbot_map/device_info.hpp"

#include "expect_error.hpp"

namespace lingbot_map {
namespace {

TEST(DeviceInfo, TellsOfTheCpu) {
  const DeviceInfo info = device_info(Device::cpu());
  EXPECT_NE(info.name, "");
  EXPECT_EQ(info.driver, "");
  EXPECT_EQ(info.compute_capability, 0);
  EXPECT_GT(info.allocated_bytes, 100'000U);
  EXPECT_GE(info.peak_bytes, 100'000U);
  EXPECT_GT(info.total_bytes, info.allocated_bytes);
  EXPECT_GT(info.free_bytes, 0U);
}

TEST(DeviceInfo, SaysWhyThereIsNone) {
  test::expect_error(
      ErrorCode::unsupported, [] { static_cast<void>(device_info(Device::cuda(1000))); },
      testing::HasSubstr("cuda:1000"));
}

TEST(DefaultDevice, IsOneThatIsThere) { EXPECT_NO_THROW(static_cast<void>(device_info(default_device()))); }

}  // namespace
}  // namespace lingbot_map
