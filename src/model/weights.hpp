#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.hpp"

namespace lingbot_map {

/// A pre-norm transformer block. LayerScale is folded into `projection` and `fc2`.
struct BlockWeights {
  Norm norm1;
  Linear qkv;                  ///< [3C, C]: rows q, k, v, each head after head
  std::optional<Norm> q_norm;  ///< over one head, shared by all
  std::optional<Norm> k_norm;
  Linear projection;
  Norm norm2;
  Linear fc1;
  Linear fc2;
};

/// DINOv2: every frame for itself.
struct EncoderWeights {
  Linear patch;                      ///< [C, patch * patch * 3], columns row, column, channel
  Buffer prefix;                     ///< [1 + registers, C] float32: class token with its position, then the registers
  std::vector<float> position_grid;  ///< host, [grid * grid, C]: the trained positions of the patches
  std::vector<BlockWeights> blocks;
  Norm norm;
};

/// Which learned special tokens a frame gets.
enum class TokenVariant : std::uint8_t {
  first,     ///< frame 0 of a sequence
  scale,     ///< every other scale frame
  streamed,  ///< every frame after them
};
inline constexpr int kTokenVariants = 3;

struct AggregatorWeights {
  EncoderWeights encoder;
  std::vector<BlockWeights> frame_blocks;
  std::vector<BlockWeights> global_blocks;
  Buffer special_tokens;  ///< [variants, camera + registers + scale, C] float32
};

struct CameraWeights {
  Norm token_norm;
  Buffer empty_pose;  ///< [1, 9] float32
  Linear embed_pose;  ///< [2C, 9]
  Linear modulation;  ///< [6C, 2C]: shift, scale, gate
  std::vector<BlockWeights> blocks;
  Norm trunk_norm;
  Linear fc1;
  Linear fc2;  ///< [9, C]
};

/// x -> relu(x) + conv2(relu(conv1(relu(x)))).
struct ResidualUnit {
  Convolution conv1;
  Convolution conv2;
};

/// One step of the fusion from coarse to fine.
struct FusionWeights {
  std::optional<ResidualUnit> skip;  ///< absent at the coarsest level
  ResidualUnit merge;
  Linear out;  ///< 1x1
};

/// DPT: dense maps from the tokens of four block groups.
struct DptWeights {
  Norm norm;
  std::array<Linear, 4> projects;  ///< 1x1 to dpt_out_channels
  Linear expand4;                  ///< transposed convolution 4x4 stride 4 of level 0, as a product of [16 c, c]
  Linear expand2;                  ///< transposed convolution 2x2 stride 2 of level 1, as a product of [4 c, c]
  Convolution reduce;              ///< 3x3 stride 2 of level 3
  std::array<Convolution, 4> adapt;
  std::array<FusionWeights, 4> fusion;
  Convolution out1;
  Convolution out2;  ///< to 32 channels, relu
  Linear out3;       ///< 1x1 to the output channels, float32
};

struct NetworkWeights {
  AggregatorWeights aggregator;
  CameraWeights camera;
  DptWeights depth;
  std::optional<DptWeights> points;
  std::size_t bytes = 0;  ///< on the device
  std::string fingerprint;
};

}  // namespace lingbot_map
