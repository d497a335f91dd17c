#include <gtest/gtest.h>

#include "backend/make_backend.hpp"
#include "checkpoint/synthetic.hpp"
#include "config/manifest.hpp"
#include "golden.hpp"
#include "model/aggregator.hpp"
#include "model/encoder.hpp"
#include "model/network.hpp"
#include "model/weight_loader.hpp"

namespace lingbot_map {
namespace {

using test::Golden;
using test::relative_error;

constexpr double kBound = 1e-5;

/// The pieces of a session, so that the network's inner stages can be seen: the tiny model, three scale frames,
/// window 4.
class StagesTest : public testing::Test {
 protected:
  StagesTest()
      : config_(Config::tiny()),
        backend_(make_backend(Device::cpu(), 0)),
        network_(config_, load_weights(*synthetic_checkpoint(manifest(config_), 1, config_.to_json()), config_,
                                       *backend_, DType::f32, false)),
        grid_(config_, 84, 56),
        tables_(network_.make_tables(*backend_, grid_)),
        attention_(make_attention(*backend_, AttentionKind::automatic, DType::f32, config_.num_heads)),
        cache_({.scale_frames = 3,
                .window = 4,
                .patches_per_frame = static_cast<int>(grid_.patches()),
                .special_tokens = static_cast<int>(grid_.specials)}),
        store_({.layers = config_.depth, .slot_tokens = cache_.slot_tokens(), .width = config_.embed_dim}),
        camera_cache_(4, config_.camera_trunk_depth, 2 * config_.embed_dim),
        arena_(backend_->allocate(std::size_t{64} << 20)),
        golden_(LINGBOT_MAP_TEST_DATA "/tiny.safetensors"),
        images_(golden_.images("images")) {}

  Pass pass(std::size_t first, std::size_t frames, std::span<const TokenVariant> variants,
            std::span<const FrameSpan> spans) {
    const auto count = static_cast<std::int64_t>(frames);
    std::vector<std::byte> host(PassInputs::bytes(count, grid_));
    const Tensor block(host.data(), DType::u8, {static_cast<std::int64_t>(host.size())});
    const PassInputs inputs = PassInputs::in(block, count, grid_);
    write_position({.spans = spans, .first_frame = static_cast<std::int64_t>(first)}, inputs);
    auto* pixels = inputs.images.data<std::uint8_t>();
    for (std::size_t i = 0; i < frames; ++i) pixels = std::ranges::copy(images_[first + i].pixels, pixels).out;
    const Tensor on_device = arena_.allocate(DType::u8, {block.dim(0)});
    backend_->upload(host, on_device);
    store_.prepare(cache_.visible());
    attention_->plan(cache_, count * grid_.tokens());
    return {.backend = *backend_,
            .attention = *attention_,
            .store = store_,
            .camera_cache = camera_cache_,
            .arena = arena_,
            .tables = tables_,
            .times = times_,
            .inputs = PassInputs::in(on_device, count, grid_),
            .variants = variants};
  }

  void expect_taps(Pass& pass, const std::string& prefix) {
    std::array<Tensor, 4> taps;
    for (Tensor& tap : taps) {
      tap = arena_.allocate(DType::f32, {pass.frames() * grid_.tokens(), 2 * std::int64_t{config_.embed_dim}});
    }
    aggregate(pass, config_, network_.weights().aggregator, taps);
    for (std::size_t i = 0; i < taps.size(); ++i) {
      const float* data = taps[i].data<float>();
      const std::string name = prefix + std::to_string(i);
      EXPECT_LE(relative_error({data, data + taps[i].elements()}, golden_.floats(name)), kBound) << name;
    }
  }

  Config config_;
  std::unique_ptr<Backend> backend_;
  Network network_;
  FrameGrid grid_;
  SizeTables tables_;
  std::unique_ptr<Attention> attention_;
  TwoStreamCache cache_;
  KvStore store_;
  CameraCache camera_cache_;
  Arena arena_;
  StageTimes times_;
  Golden golden_;
  std::vector<Image> images_;
};

constexpr std::array kScaleVariants = {TokenVariant::first, TokenVariant::scale, TokenVariant::scale};
constexpr std::array kStreamedVariant = {TokenVariant::streamed};

TEST_F(StagesTest, EncoderPatchTokens) {
  const auto spans = cache_.append_scale_frames(3);
  Pass scale = pass(0, 3, kScaleVariants, spans);
  const Tensor tokens = arena_.allocate(DType::f32, {3, grid_.patches(), config_.embed_dim});
  encode(scale, config_, network_.weights().aggregator.encoder, 0, tokens);
  const float* data = tokens.data<float>();
  EXPECT_LE(relative_error({data, data + tokens.elements()}, golden_.floats("stage.dino_patchtokens")), kBound);
}

TEST_F(StagesTest, AggregatedLayersOfTheScalePassAndOfTheNextFrame) {
  const auto scale_spans = cache_.append_scale_frames(3);
  Pass scale = pass(0, 3, kScaleVariants, scale_spans);
  expect_taps(scale, "stage.aggregated_");

  const std::array span = {cache_.begin_frame(FrameRole::keyframe)};
  Pass next = pass(3, 1, kStreamedVariant, span);
  expect_taps(next, "stage.frame3_aggregated_");
}

}  // namespace
}  // namespace lingbot_map
