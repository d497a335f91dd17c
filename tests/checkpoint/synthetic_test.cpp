#include "checkpoint/synthetic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/bf16.hpp"
#include "lingbot_map/error.hpp"

namespace lingbot_map {
namespace {

std::vector<float> weights(std::string_view name, std::vector<std::int64_t> shape, std::uint64_t seed) {
  std::size_t elements = 1;
  for (const std::int64_t extent : shape) elements *= static_cast<std::size_t>(extent);
  std::vector<float> out(elements);
  synthetic_weights(name, shape, seed, out);
  return out;
}

/// The rule, word for word, one element at a time.
float by_the_rule(std::string_view name, std::uint64_t seed, std::uint64_t index, float a, float b) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : name) {
    h ^= static_cast<unsigned char>(c);
    h *= 0x100000001b3U;
  }
  std::uint64_t z = h + seed * 0x9E3779B97F4A7C15U + index + 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  z = z ^ (z >> 31);
  const volatile float product = static_cast<float>(static_cast<double>(z >> 40) / 8388608.0 - 1.0) * a;
  return product + b;
}

TEST(Synthetic, EveryKindOfTensorHasItsRange) {
  const struct {
    const char* name;
    std::vector<std::int64_t> shape;
    float a, b;
  } cases[] = {
      {"aggregator.frame_blocks.0.ls1.gamma", {7}, 0.1F, 0.2F},
      {"camera_head.token_norm.weight", {7}, 0.2F, 1.0F},
      {"camera_head.token_norm.bias", {7}, 0.1F, 0.0F},
      {"aggregator.camera_token", {1, 2, 1, 3}, 0.5F, 0.0F},
      {"aggregator.patch_embed.register_tokens", {1, 4, 2}, 0.5F, 0.0F},
      {"camera_head.empty_pose_tokens", {1, 1, 9}, 0.5F, 0.0F},
      {"aggregator.patch_embed.pos_embed", {1, 5, 2}, 0.5F, 0.0F},
      {"camera_head.token_projection.weight", {2, 3}, 1.0F, 0.0F},  // "token" counts in the last part alone
      {"attn.qkv.weight", {5, 12}, 0.5F, 0.0F},
      {"patch_embed.proj.weight", {2, 3, 2, 2}, 0.5F, 0.0F},
      {"odd.weight", {2, 7}, static_cast<float>(std::sqrt(3.0 / 7.0)), 0.0F},
  };
  for (const auto& [name, shape, a, b] : cases) {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      const std::vector<float> found = weights(name, shape, seed);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const float expected = by_the_rule(name, seed, i, a, b);
        EXPECT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected)) << name << " " << i;
      }
    }
  }
}

TEST(Synthetic, ACheckpointMakesWeightsAsTheyAreRead) {
  const auto checkpoint =
      synthetic_checkpoint({{.name = "a.weight", .shape = {3}}, {.name = "b", .shape = {2, 2}}}, 5, "{}");
  EXPECT_EQ(checkpoint->format(), "synthetic");
  EXPECT_EQ(checkpoint->source(), "synthetic model");
  EXPECT_EQ(checkpoint->config_json(), "{}");
  ASSERT_EQ(checkpoint->tensors().size(), 2);
  ASSERT_NE(checkpoint->find("b"), nullptr);
  std::vector<float> values(4);
  checkpoint->read(*checkpoint->find("b"), values);
  EXPECT_EQ(values, weights("b", {2, 2}, 5));
  EXPECT_THROW(checkpoint->read(*checkpoint->find("a.weight"), values), Error);
}

TEST(Synthetic, TheGoldenArchiveHoldsTheRuleRoundedToBfloat16) {
  const auto golden = Checkpoint::open(LINGBOT_MAP_TEST_DATA "/tiny_bf16.pt");
  EXPECT_EQ(golden->format(), "PyTorch zip");
  EXPECT_THAT(golden->ignored_entries(), testing::UnorderedElementsAre("epoch", "args", "best"));
  EXPECT_EQ(golden->tensors().size(), 286);
  for (const TensorInfo& tensor : golden->tensors()) {
    EXPECT_EQ(tensor.dtype, DType::bf16);
    const std::vector<float> expected = weights(tensor.name, tensor.shape, 1);
    std::vector<float> found(expected.size());
    golden->read(tensor, found);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]),
                std::bit_cast<std::uint32_t>(static_cast<float>(bf16(expected[i]))))
          << tensor.name << " " << i;
    }
  }
}

}  // namespace
}  // namespace lingbot_map
