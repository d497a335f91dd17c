"""Readouts of the trunk that exist in training alone. They ask every global block for what a camera follows from: where
each patch lay in the frame before, how deep it is, and how the camera moved. The network finds matches much sooner."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import geometry
from .clips import Clips
from .losses import motion_between
from .model import Prediction
from .streaming import StreamPlan

OCCLUSION = 0.05  # relative difference of depth above which a patch is hidden in the frame before
MOTION_FLOOR = 0.05


class Auxiliary(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.patch = nn.ModuleList(nn.Linear(width, 3) for _ in range(depth))
        self.motion = nn.ModuleList(nn.Linear(width, 6) for _ in range(depth))
        for linear in [*self.patch, *self.motion]:
            nn.init.normal_(linear.weight, std=0.1 * width**-0.5)
            nn.init.zeros_(linear.bias)

    def forward(self, prediction: Prediction, truth: Clips, plan: StreamPlan, special: int, patch: int) -> Tensor:
        """The mean loss over all global blocks but the first, which has only begun to compare."""
        flow, seen, depth = patch_truth(truth, plan.previous, patch)
        step, turn = motion_between(truth.quaternion, truth.centre, plan.previous)
        motion = torch.cat([step, geometry.rotation_vector(turn)], dim=-1)[:, 1:]
        # As in the main loss: a step counts relative to its length, a turn ten times its radians.
        relative = 1 / (step.norm(dim=-1, keepdim=True) + MOTION_FLOOR).expand_as(step)
        weight = torch.cat([relative, torch.full_like(relative, 10.0)], dim=-1)[:, 1:]
        total = flow.new_zeros(())
        for index, tokens in enumerate(prediction.global_tokens[1:], start=1):
            x = self.norms[index](tokens)
            read = self.patch[index](x[:, :, special:]).float()
            flow_error = F.smooth_l1_loss(read[..., :2], flow, reduction="none", beta=0.01).sum(-1)
            depth_error = (read[..., 2] - depth.clamp(min=1e-4).log()).abs()
            moved = self.motion[index](x[:, 1:, 0]).float()
            total = total + 10 * (flow_error * seen).sum() / seen.sum().clamp(min=1)
            total = total + 0.3 * (depth_error * (depth > 0)).sum() / (depth > 0).sum().clamp(min=1)
            total = total + 0.1 * ((moved - motion).abs() * weight).sum(-1).mean()
        return total / (len(prediction.global_tokens) - 1)


def patch_truth(truth: Clips, previous: Tensor, patch: int) -> tuple[Tensor, Tensor, Tensor]:
    """At the middle pixel of every patch, [B, T, patches, ...]: its way to the frame `previous[t]` in parts of the
    picture's width and height; whether it is seen there; its depth."""
    height, width = truth.size
    depth = truth.depth[:, :, patch // 2 :: patch, patch // 2 :: patch]
    rays = geometry.rays(truth.fov, height, width, patch, patch // 2)[:, None]
    points = (rays * depth[..., None]).flatten(2, 3)
    step, turn = motion_between(truth.quaternion, truth.centre, previous)
    moved = torch.einsum("btij,btnj->btni", geometry.matrix_from_quaternion(turn), points) + step[:, :, None]
    pixel = geometry.project(moved, truth.fov[:, None], height, width)
    own = geometry.project(rays.flatten(2, 3), truth.fov[:, None], height, width)
    flow = torch.stack([(pixel - own)[..., 0] / width, (pixel - own)[..., 1] / height], dim=-1)

    depth = depth.flatten(2)
    column, row = pixel.round().long().unbind(-1)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height) & (moved[..., 2] > 1e-2) & (depth > 0)
    place = row.clamp(0, height - 1) * width + column.clamp(0, width - 1)
    there = truth.depth[:, previous].flatten(2).gather(2, place)
    hidden = (there - moved[..., 2]).abs() > OCCLUSION * moved[..., 2]
    seen = inside & ~hidden & (torch.arange(truth.frames, device=flow.device) > 0)[:, None]
    return flow.where(seen[..., None], torch.zeros_like(flow)), seen, depth
