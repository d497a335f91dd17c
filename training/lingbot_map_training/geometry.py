"""Cameras: camera to world, OpenCV axes, quaternions x y z w, principal point in the middle, whole pixels."""

from __future__ import annotations

import torch
from torch import Tensor


def matrix_from_quaternion(q: Tensor) -> Tensor:
    """[..., 4] of any length but zero -> rotation [..., 3, 3]."""
    x, y, z, w = (q / q.norm(dim=-1, keepdim=True).clamp(min=1e-8)).unbind(-1)
    rows = [
        1 - 2 * (y * y + z * z),
        2 * (x * y - z * w),
        2 * (x * z + y * w),
        2 * (x * y + z * w),
        1 - 2 * (x * x + z * z),
        2 * (y * z - x * w),
        2 * (x * z - y * w),
        2 * (y * z + x * w),
        1 - 2 * (x * x + y * y),
    ]
    return torch.stack(rows, dim=-1).unflatten(-1, (3, 3))


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Quaternion product, the rotation b and then a."""
    ax, ay, az, aw = a.unbind(-1)
    bx, by, bz, bw = b.unbind(-1)
    return torch.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        dim=-1,
    )


def conjugate(q: Tensor) -> Tensor:
    return torch.cat([-q[..., :3], q[..., 3:]], dim=-1)


def rotate(q: Tensor, v: Tensor) -> Tensor:
    """Unit quaternions [..., 4] on vectors [..., 3]."""
    axis, w = q[..., :3], q[..., 3:]
    axis, v = torch.broadcast_tensors(axis, v)
    twice = 2 * torch.linalg.cross(axis, v)
    return v + w * twice + torch.linalg.cross(axis, twice)


def rotation_vector(q: Tensor) -> Tensor:
    """Unit quaternions [..., 4] -> axis times angle [..., 3]; the shorter way round."""
    q = torch.where(q[..., 3:] < 0, -q, q)
    sine = q[..., :3].norm(dim=-1, keepdim=True)
    angle = 2 * torch.atan2(sine, q[..., 3:])
    return q[..., :3] * torch.where(sine > 1e-6, angle / sine.clamp(min=1e-6), torch.full_like(sine, 2.0))


def angle_between(a: Tensor, b: Tensor) -> Tensor:
    """Radians between the rotations of unit quaternions."""
    difference = multiply(conjugate(a), b)
    return 2 * torch.atan2(difference[..., :3].norm(dim=-1), difference[..., 3].abs())


def rays(fov: Tensor, height: int, width: int, step: int = 1, start: int = 0) -> Tensor:
    """Camera-frame points at depth 1 of the pixels start, start + step, ...: fov (vertical, horizontal) [..., 2] ->
    [..., rows, columns, 3]."""
    v = torch.arange(start, height, step, device=fov.device, dtype=fov.dtype) - height / 2
    u = torch.arange(start, width, step, device=fov.device, dtype=fov.dtype) - width / 2
    tangent = (fov / 2).tan()
    y = v * (tangent[..., :1] / (height / 2))
    x = u * (tangent[..., 1:] / (width / 2))
    shape = (*fov.shape[:-1], len(v), len(u))
    return torch.stack([x[..., None, :].expand(shape), y[..., :, None].expand(shape), x.new_ones(shape)], dim=-1)


def project(points: Tensor, fov: Tensor, height: int, width: int) -> Tensor:
    """Camera-frame points [..., n, 3] -> pixels (u, v) [..., n, 2]; fov [..., 2]. Points behind it go far out."""
    tangent = (fov / 2).tan()
    depth = points[..., 2].clamp(min=1e-3)
    u = points[..., 0] / depth * (width / 2) / tangent[..., 1:] + width / 2
    v = points[..., 1] / depth * (height / 2) / tangent[..., :1] + height / 2
    return torch.stack([u, v], dim=-1)
