"""A batch of clips with its truth, and the frame and unit in which the network is asked for it."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from . import geometry

SCALE_STEP = 6  # pixels between the points that fix the unit


@dataclasses.dataclass
class Clips:
    """images [B, T, 3, H, W] in 0..1; depth [B, T, H, W] along z, 0 in the sky; centre [B, T, 3] and unit quaternion
    [B, T, 4] camera to world; fov [B, 2], vertical and horizontal, radians. Float32 all."""

    images: Tensor
    depth: Tensor
    centre: Tensor
    quaternion: Tensor
    fov: Tensor

    @property
    def frames(self) -> int:
        return self.images.shape[1]

    @property
    def size(self) -> tuple[int, int]:
        return self.images.shape[-2], self.images.shape[-1]

    def normalised(self, scale_frames: int) -> Clips:
        """The world of the first camera, in which the points of the first `scale_frames` frames have the geometric mean
        distance 1 from it: what a stream knows when it has to choose a unit."""
        to_first = geometry.conjugate(self.quaternion[:, :1])
        quaternion = geometry.multiply(to_first.expand_as(self.quaternion), self.quaternion)
        centre = geometry.rotate(to_first, self.centre - self.centre[:, :1])
        unit = self._unit(quaternion[:, :scale_frames], centre[:, :scale_frames])
        return Clips(
            self.images, self.depth / unit[:, None, None, None], centre / unit[:, None, None], quaternion, self.fov
        )

    def _unit(self, quaternion: Tensor, centre: Tensor) -> Tensor:
        frames = centre.shape[1]
        depth = self.depth[:, :frames, ::SCALE_STEP, ::SCALE_STEP]
        points = world_points(depth, quaternion, centre, self.fov, self.size, SCALE_STEP)
        valid = (depth > 0).flatten(1)
        distance = points.norm(dim=-1).clamp(min=1e-3).log().flatten(1)
        return ((distance * valid).sum(1) / valid.sum(1).clamp(min=1)).exp()


def world_points(
    depth: Tensor, quaternion: Tensor, centre: Tensor, fov: Tensor, size: tuple[int, int], step: int
) -> Tensor:
    """World points [B, T, h, w, 3] of each `step`-th pixel; depth is [B, T, h, w] of these, fov [B, 2] or [B, T, 2]."""
    rays = geometry.rays(fov, *size, step)
    if fov.dim() == 2:
        rays = rays[:, None]
    matrix = geometry.matrix_from_quaternion(quaternion)
    return torch.einsum("btij,bthwj->bthwi", matrix, rays * depth[..., None]) + centre[:, :, None, None]
