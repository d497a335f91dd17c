"""The dense head: depth and its confidence from the patch tokens of four taps."""

from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .config import ModelConfig


@functools.lru_cache(maxsize=32)
def position_code(channels: int, rows: int, columns: int, aspect: float, device: torch.device) -> Tensor:
    """float32 [channels, rows, columns], times 0.1; `aspect` is the image's width over its height."""
    diagonal = math.sqrt(aspect**2 + 1)

    def code(span: float, count: int) -> Tensor:
        edge = span * (count - 1) / count
        place = torch.linspace(-edge, edge, count, dtype=torch.float32).double()
        order = torch.arange(channels // 4, dtype=torch.float64) / (channels / 4)
        angle = place[:, None] * 100.0**-order
        return torch.cat([angle.sin(), angle.cos()], dim=-1)

    x = code(aspect / diagonal, columns)[None].expand(rows, -1, -1)
    y = code(1 / diagonal, rows)[:, None].expand(-1, columns, -1)
    return (0.1 * torch.cat([x, y], dim=-1).float()).permute(2, 0, 1).contiguous().to(device)


class ResidualUnit(nn.Module):
    """The skip carries relu(x), as the public network's does."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(features, features, 3, padding=1)
        self.conv2 = nn.Conv2d(features, features, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(x)
        return x + self.conv2(F.relu(self.conv1(x)))


class Fusion(nn.Module):
    def __init__(self, features: int, *, merges: bool) -> None:
        super().__init__()
        self.out_conv = nn.Conv2d(features, features, 1)
        if merges:
            self.resConfUnit1 = ResidualUnit(features)
        self.resConfUnit2 = ResidualUnit(features)

    def forward(self, x: Tensor, skip: Tensor | None, size: tuple[int, int]) -> Tensor:
        if skip is not None:
            x = x + self.resConfUnit1(skip)
        # The 1x1 convolution and the resize commute; before it there are fewer pixels.
        return _resize(self.out_conv(self.resConfUnit2(x)), size)


def _resize(x: Tensor, size: tuple[int, int]) -> Tensor:
    return F.interpolate(x, size=size, mode="bilinear", align_corners=True)


class Scratch(nn.Module):
    def __init__(self, config: ModelConfig, outputs: int) -> None:
        super().__init__()
        features = config.dpt_features
        for index, channels in enumerate(config.dpt_out_channels, start=1):
            setattr(self, f"layer{index}_rn", nn.Conv2d(channels, features, 3, padding=1, bias=False))
            setattr(self, f"refinenet{index}", Fusion(features, merges=index < 4))
        self.output_conv1 = nn.Conv2d(features, features // 2, 3, padding=1)
        self.output_conv2 = nn.Sequential(
            nn.Conv2d(features // 2, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, outputs, 1)
        )


class DptHead(nn.Module):
    def __init__(self, config: ModelConfig, outputs: int) -> None:
        super().__init__()
        self.special = config.special_tokens
        self.patch_size = config.patch_size
        width, channels = 2 * config.embed_dim, config.dpt_out_channels
        self.norm = nn.LayerNorm(width, eps=1e-5)
        self.projects = nn.ModuleList(nn.Conv2d(width, out, 1) for out in channels)
        self.resize_layers = nn.ModuleList(
            [
                nn.ConvTranspose2d(channels[0], channels[0], 4, stride=4),
                nn.ConvTranspose2d(channels[1], channels[1], 2, stride=2),
                nn.Identity(),
                nn.Conv2d(channels[3], channels[3], 3, stride=2, padding=1),
            ]
        )
        self.scratch = Scratch(config, outputs)

    def forward(self, taps: list[Tensor], height: int, width: int) -> Tensor:
        """Four taps [n, tokens, 2C] -> [n, outputs, height, width] before activations."""
        aspect = width / height
        levels = [self._level(index, tap, height, width) for index, tap in enumerate(taps)]
        scratch = self.scratch
        x = scratch.refinenet4(levels[3], None, _size(levels[2]))
        x = scratch.refinenet3(x, levels[2], _size(levels[1]))
        x = scratch.refinenet2(x, levels[1], _size(levels[0]))
        rows, columns = _size(levels[0])
        x = scratch.refinenet1(x, levels[0], (2 * rows, 2 * columns))
        x = _resize(scratch.output_conv1(x), (height, width))
        x = x + position_code(x.shape[1], height, width, aspect, x.device).to(x.dtype)
        first, relu, last = scratch.output_conv2
        x = relu(first(x))
        with torch.autocast(x.device.type, enabled=False):  # steps of bfloat16 would show in depth
            return last(x.float())

    def _level(self, index: int, tap: Tensor, height: int, width: int) -> Tensor:
        rows, columns = height // self.patch_size, width // self.patch_size
        x = self.norm(tap[:, self.special :]).transpose(1, 2).unflatten(2, (rows, columns))
        x = self.projects[index](x)
        x = x + position_code(x.shape[1], rows, columns, width / height, x.device).to(x.dtype)
        return getattr(self.scratch, f"layer{index + 1}_rn")(self.resize_layers[index](x))


def _size(x: Tensor) -> tuple[int, int]:
    return x.shape[-2], x.shape[-1]
