"""The network: encoder, alternating frame and global blocks, camera head, depth head. Parameter names are the engine's.

Two ways through it give the same numbers: `forward` takes a whole clip in one masked pass, which is how it is trained;
`stream.Stream` takes frame after frame with caches, which is how it is used.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import rotary
from .attention import attend, clip_mask
from .blocks import Block
from .camera_head import CameraHead
from .config import ModelConfig
from .dpt_head import DptHead
from .encoder import Encoder
from .streaming import HIDDEN, StreamPlan

CAMERA_ITERATIONS = 4


@dataclasses.dataclass
class Prediction:
    """poses: of every pass [B, T, 9]. dense: [n, 2, H, W], log depth and log(confidence - 1), of the frames asked for.
    points: the point head's output, if there is one. global_tokens: [B, T, tokens, C] after every global block."""

    poses: list[Tensor]
    dense: Tensor
    points: Tensor | None = None
    global_tokens: list[Tensor] = dataclasses.field(default_factory=list)

    @property
    def log_depth(self) -> Tensor:
        return self.dense[:, 0]

    @property
    def confidence(self) -> Tensor:
        return 1 + self.dense[:, 1].exp()


class Aggregator(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.embed_dim
        self.patch_embed = Encoder(config)
        self.camera_token = nn.Parameter(torch.empty(1, 2, 1, width))
        self.register_token = nn.Parameter(torch.empty(1, 2, config.num_register_tokens, width))
        self.scale_token = nn.Parameter(torch.empty(1, 2, 1, width))
        self.frame_blocks = nn.ModuleList(Block(width, head_norm=True) for _ in range(config.depth))
        self.global_blocks = nn.ModuleList(Block(width, head_norm=True) for _ in range(config.depth))

    def special_tokens(self, first_variant: Tensor, scale_variant: Tensor) -> Tensor:
        """[T, special tokens, C]"""
        parts = [
            self.camera_token[0, first_variant],
            self.register_token[0, first_variant],
            self.scale_token[0, scale_variant],
        ]
        return torch.cat(parts, dim=1)


class Network(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.aggregator = Aggregator(config)
        self.camera_head = CameraHead(config)
        self.depth_head = DptHead(config, 2)
        if config.has_point_head:
            self.point_head = DptHead(config, 4)
        self.initialise()

    def forward(
        self,
        images: Tensor,
        plan: StreamPlan,
        *,
        iterations: int = CAMERA_ITERATIONS,
        dense_frames: Tensor | None = None,
        flex: bool = False,
    ) -> Prediction:
        """Images [B, T, 3, H, W] in 0..1. dense_frames: indices into B * T of the frames whose depth is wanted, all if
        None. `plan` is on the images' device and one for the whole batch."""
        batch, frames, _, height, width = images.shape
        rows, columns = height // self.config.patch_size, width // self.config.patch_size
        special = self.config.special_tokens
        x = self.frame_tokens(images.flatten(0, 1), plan.first_variant.repeat(batch), plan.scale_variant.repeat(batch))
        tokens = x.shape[1]
        table = rotary.stream_table(plan.rotary_index, rows, columns, special).flatten(1, 2)
        mask = clip_mask(plan, tokens, special, flex=flex)
        global_rotation = functools.partial(rotary.rotate_pairs, table=table)
        global_attend = functools.partial(attend, mask=mask)
        frame_rotation = self.frame_rotation(rows, columns, x.device)

        taps, global_tokens = [], []
        for index in range(self.config.depth):
            x = self.aggregator.frame_blocks[index](x, F.scaled_dot_product_attention, frame_rotation)
            in_frame = x
            x = x.view(batch, frames * tokens, -1)
            x = self.aggregator.global_blocks[index](x, global_attend, global_rotation)
            x = x.view(batch * frames, tokens, -1)
            global_tokens.append(x.view(batch, frames, tokens, -1))
            if index in self.config.selected_layers:
                taps.append((in_frame, x))

        camera_tokens = torch.cat([part[:, 0] for part in taps[-1]], dim=-1).view(batch, frames, -1)
        poses = self.estimate_cameras(camera_tokens, plan, iterations)
        dense, points = self.estimate_dense(taps, dense_frames, height, width)
        return Prediction(poses, dense, points, global_tokens)

    def frame_tokens(self, images: Tensor, first_variant: Tensor, scale_variant: Tensor) -> Tensor:
        """[n, 3, H, W] -> float32 [n, special tokens + patches, C]"""
        patches = self.aggregator.patch_embed(images)
        return torch.cat([self.aggregator.special_tokens(first_variant, scale_variant), patches], dim=1)

    def frame_rotation(self, rows: int, columns: int, device: torch.device) -> functools.partial[Tensor]:
        table = rotary.frame_table(rows, columns, self.config.special_tokens, device)
        return functools.partial(rotary.rotate_halves, table=table)

    def camera_rotation(self, frame_index: Tensor) -> functools.partial[Tensor] | None:
        if not self.config.camera_rope:
            return None
        return functools.partial(rotary.rotate_pairs, table=rotary.camera_table(frame_index))

    def estimate_cameras(self, tokens: Tensor, plan: StreamPlan, iterations: int) -> list[Tensor]:
        """In float32: the passes amplify rounding."""
        masked = functools.partial(F.scaled_dot_product_attention, attn_mask=plan.visible != HIDDEN)
        rotation = self.camera_rotation(plan.camera_index)
        with torch.autocast(tokens.device.type, enabled=False):
            return self.camera_head(tokens.float(), iterations, lambda *_: masked, rotation)

    def estimate_dense(
        self, taps: list[tuple[Tensor, Tensor]], chosen: Tensor | None, height: int, width: int
    ) -> tuple[Tensor, Tensor | None]:
        if chosen is not None:
            taps = [(in_frame[chosen], whole[chosen]) for in_frame, whole in taps]
        joined = [torch.cat(parts, dim=-1) for parts in taps]
        points = self.point_head(joined, height, width).float() if self.config.has_point_head else None
        return self.depth_head(joined, height, width).float(), points

    @torch.no_grad()
    def initialise(self) -> None:
        """A start that learns: blocks that matter from the first step, poses near the identity, depth near one."""
        for name, parameter in self.named_parameters():
            if name.endswith("gamma"):
                parameter.fill_(0.3)
            elif name.endswith(("pos_embed", "_token", "_tokens", "pose_tokens")):
                parameter.normal_(std=0.02 if "patch_embed" in name else 0.1)
            elif name.endswith("bias"):
                parameter.zero_()
            elif parameter.dim() in (2, 4):
                parameter.normal_(std=parameter[0].numel() ** -0.5)
        self.aggregator.patch_embed.mask_token.zero_()
        # The passes add up, so each starts with its share of the quaternion and the field of view, 46 and 60 degrees.
        last = self.camera_head.pose_branch.fc2
        last.weight.mul_(0.1)
        last.bias.copy_(torch.tensor([0, 0, 0, 0, 0, 0, 1, math.radians(46), math.radians(60)]) / CAMERA_ITERATIONS)
        self.camera_head.poseLN_modulation[1].weight.mul_(0.3)
        for name, module in self.named_modules():
            if name.endswith("output_conv2.2"):
                module.weight.mul_(0.1)
