"""Rotary positions: 2D inside a frame (half-split pairs), 3D across frames (interleaved pairs)."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

SPATIAL_BASE = 100.0
TEMPORAL_BASE = 10000.0


def _angles(positions: Tensor, dim: int, base: float) -> Tensor:
    """float64 [len(positions), dim / 2]."""
    steps = torch.arange(0, dim, 2, dtype=torch.float64, device=positions.device)
    return positions.double()[:, None] * base ** (-steps / dim)


def _as_cos_sin(angles: Tensor) -> Tensor:
    """float32 [2, ...]"""
    return torch.stack([angles.cos(), angles.sin()]).float()


def _grid(rows: int, columns: int, device: torch.device) -> tuple[Tensor, Tensor]:
    row = torch.arange(rows, device=device).repeat_interleave(columns)
    return row, torch.arange(columns, device=device).repeat(rows)


@functools.lru_cache(maxsize=16)
def frame_table(rows: int, columns: int, special: int, device: torch.device) -> Tensor:
    """[2, special + rows * columns, 2 (y, x), 16]: special tokens at (0, 0), patch (r, c) at (r + 1, c + 1)."""
    row, column = _grid(rows, columns, device)
    none = torch.zeros(special, dtype=torch.long, device=device)
    axes = [_angles(torch.cat([none, axis + 1]), 32, SPATIAL_BASE) for axis in (row, column)]
    return _as_cos_sin(torch.stack(axes, dim=1))


def stream_table(rotary_index: Tensor, rows: int, columns: int, special: int) -> Tensor:
    """[2, T, tokens, 32]: special token s at (f, s, s), patch (r, c) at (f, special + r, special + c)."""
    row, column = _grid(rows, columns, rotary_index.device)
    own = torch.arange(special, device=rotary_index.device)
    y = _angles(torch.cat([own, special + row]), 22, TEMPORAL_BASE)
    x = _angles(torch.cat([own, special + column]), 22, TEMPORAL_BASE)
    time = _angles(rotary_index, 20, TEMPORAL_BASE)
    frames, tokens = time.shape[0], y.shape[0]
    parts = [
        time[:, None].expand(frames, tokens, 10),
        y[None].expand(frames, tokens, 11),
        x[None].expand(frames, tokens, 11),
    ]
    return _as_cos_sin(torch.cat(parts, dim=-1))


def camera_table(frame_index: Tensor) -> Tensor:
    """[2, T, 64] for heads of 128 at (f, 0, 0): 20 pairs turn with time, 44 stand still."""
    time = _angles(frame_index, 40, TEMPORAL_BASE)
    still = torch.zeros(time.shape[0], 44, dtype=torch.float64, device=time.device)
    return _as_cos_sin(torch.cat([time, still], dim=-1))


def rotate_halves(x: Tensor, table: Tensor) -> Tensor:
    """x [..., tokens, 64]; element i of each half of 32 pairs with i + 16."""
    cos, sin = table
    first, second = x.unflatten(-1, (2, 2, 16)).unbind(-2)
    return torch.stack([first * cos - second * sin, second * cos + first * sin], dim=-2).flatten(-3)


def rotate_pairs(x: Tensor, table: Tensor) -> Tensor:
    """x [..., tokens, 2 n]; elements 2 j and 2 j + 1 are a pair."""
    cos, sin = table
    first, second = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2)
