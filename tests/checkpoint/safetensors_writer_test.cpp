#include "checkpoint/safetensors_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/bf16.hpp"
#include "checkpoint/synthetic.hpp"
#include "expect_error.hpp"
#include "file_size_limit.hpp"
#include "safetensors_file.hpp"
#include "temporary_folder.hpp"

namespace lingbot_map {
namespace {

using test::expect_error;
using testing::AllOf;
using testing::HasSubstr;

/// Two tensors, of which the second is longer than the writer's buffer.
class SafetensorsWriter : public testing::Test {
 protected:
  std::vector<float> read(const Checkpoint& checkpoint, std::string_view name) {
    std::vector<float> values(static_cast<std::size_t>(checkpoint.find(name)->elements()));
    checkpoint.read(*checkpoint.find(name), values);
    return values;
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "model.safetensors";
  std::vector<TensorInfo> tensors_ = {{.name = "z.weight", .shape = {3}}, {.name = "a", .shape = {600, 1001}}};
  std::unique_ptr<Checkpoint> source_ = synthetic_checkpoint(tensors_, 3, "{\"depth\":4}");
};

TEST_F(SafetensorsWriter, WritesFloat32AsItIs) {
  write_safetensors(*source_, tensors_, DType::f32, *source_->config_json(), path_);
  const auto written = Checkpoint::open(path_);
  EXPECT_EQ(written->config_json(), "{\"depth\":4}");
  ASSERT_EQ(written->tensors().size(), 2);
  for (const TensorInfo& tensor : tensors_) {
    EXPECT_EQ(written->find(tensor.name)->dtype, DType::f32);
    EXPECT_EQ(written->find(tensor.name)->shape, tensor.shape);
    EXPECT_EQ(read(*written, tensor.name), read(*source_, tensor.name));
  }
}

TEST_F(SafetensorsWriter, RoundsToTheTypesOfTwoBytes) {
  write_safetensors(*source_, tensors_, DType::bf16, "{}", path_);
  std::vector<float> expected = read(*source_, "a");
  for (float& value : expected) value = static_cast<float>(bf16(value));
  EXPECT_EQ(read(*Checkpoint::open(path_), "a"), expected);
  write_safetensors(*source_, tensors_, DType::f16, "{}", path_);
  expected = read(*source_, "a");
  for (float& value : expected) value = half_to_float(float_to_half(value));
  EXPECT_EQ(read(*Checkpoint::open(path_), "a"), expected);
}

TEST_F(SafetensorsWriter, ElementsBeginAligned) {
  write_safetensors(*source_, tensors_, DType::f32, "{}", path_);
  EXPECT_EQ(load_le<std::uint64_t>(test::content_of(path_)) % 8, 0);
}

TEST_F(SafetensorsWriter, AFullDiskLeavesWhatWasThere) {
  test::write_content(path_, "old");
  {
    const test::FileSizeLimit limit(100'000);
    expect_error(
        ErrorCode::output, [&] { write_safetensors(*source_, tensors_, DType::f32, "{}", path_); },
        HasSubstr("cannot be written past byte"));
  }
  EXPECT_EQ(test::content_of(path_), "old");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.safetensors.part"));
}

TEST_F(SafetensorsWriter, ValuesThatFp16CannotHoldAreRefused) {
  const auto write = [&](float value) {
    const std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
    test::write_content(folder_ / "in",
                        test::safetensors_file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", bytes));
    const auto source = Checkpoint::open(folder_ / "in");
    write_safetensors(*source, source->tensors(), DType::f16, "{}", path_);
  };
  write(65519.0F);
  write(std::numeric_limits<float>::infinity());
  expect_error(
      ErrorCode::input, [&] { write(-65520.0F); },
      AllOf(HasSubstr("tensor w"), HasSubstr("-65520"), HasSubstr("bf16")));
}

}  // namespace
}  // namespace lingbot_map
