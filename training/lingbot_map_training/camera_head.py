"""The camera head: pose encodings from camera tokens, refined in several passes, causal along the stream."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .blocks import Attend, Block, Mlp, Rotation
from .config import ModelConfig

POSE = 9


class CameraHead(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = 2 * config.embed_dim
        self.token_norm = nn.LayerNorm(width, eps=1e-5)
        self.empty_pose_tokens = nn.Parameter(torch.empty(1, 1, POSE))
        self.embed_pose = nn.Linear(POSE, width)
        self.poseLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 3 * width))
        self.trunk = nn.ModuleList(Block(width, head=128) for _ in range(config.camera_trunk_depth))
        self.trunk_norm = nn.LayerNorm(width, eps=1e-5)
        self.pose_branch = Mlp(width, width // 2, POSE)

    def forward(
        self,
        tokens: Tensor,
        iterations: int,
        attend: Callable[[int, int], Attend],
        rotation: Rotation | None,
    ) -> list[Tensor]:
        """Camera tokens [B, T, 2C] of the last tap -> pose encodings [B, T, 9] of every pass. `attend(pass, block)`
        gives the attention of one block in one pass. A pass learns to correct the one before, so no gradient flows
        back through its input."""
        normed = self.token_norm(tokens)
        pose = None
        results = []
        for i in range(iterations):
            given = self.empty_pose_tokens.expand(*tokens.shape[:2], POSE) if pose is None else pose.detach()
            shift, scale, gate = self.poseLN_modulation(self.embed_pose(given)).chunk(3, dim=-1)
            x = F.layer_norm(normed, normed.shape[-1:], eps=1e-6)
            x = normed + gate * (x * (1 + scale) + shift)
            for index, block in enumerate(self.trunk):
                x = block(x, attend(i, index), rotation)
            change = self.pose_branch(self.trunk_norm(x))
            pose = change if pose is None else pose.detach() + change
            results.append(torch.cat([pose[..., :7], F.relu(pose[..., 7:])], dim=-1))
        return results
