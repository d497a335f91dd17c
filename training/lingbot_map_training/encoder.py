"""The per-frame encoder: a vision transformer with a class token and registers."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .blocks import Block
from .config import ModelConfig

MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


def _cubic(t: Tensor) -> Tensor:
    """The cubic kernel with a = -1/2."""
    t = t.abs()
    inner = 1.5 * t**3 - 2.5 * t**2 + 1
    outer = -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2
    return torch.where(t < 1, inner, torch.where(t < 2, outer, torch.zeros_like(t)))


@functools.lru_cache(maxsize=16)
def resize_matrix(size: int, new_size: int, device: torch.device) -> Tensor:
    """float32 [new_size, size]: bicubic resize of one axis with antialiasing."""
    if size == new_size:
        return torch.eye(size, device=device)
    ratio = size / new_size
    stretch = max(ratio, 1.0)
    centre = ratio * (torch.arange(new_size, dtype=torch.float64) + 0.5)
    tap = torch.arange(size, dtype=torch.float64)
    first = (centre - 2 * stretch + 0.5).floor().clamp(min=0)[:, None]
    end = (centre + 2 * stretch + 0.5).floor().clamp(max=size)[:, None]
    weight = _cubic((tap - centre[:, None] + 0.5) / stretch) * ((tap >= first) & (tap < end))
    return (weight / weight.sum(dim=1, keepdim=True)).float().to(device)


class PatchEmbed(nn.Module):
    def __init__(self, width: int, patch: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, width, patch, stride=patch)

    def forward(self, images: Tensor) -> Tensor:
        """[n, 3, H, W] -> [n, patches, width]; the patches' pixels times a matrix, which is what the convolution is."""
        patch = self.proj.kernel_size[0]
        rows, columns = images.shape[-2] // patch, images.shape[-1] // patch
        pixels = images.reshape(-1, 3, rows, patch, columns, patch).permute(0, 2, 4, 1, 3, 5)
        return F.linear(
            pixels.reshape(-1, rows * columns, 3 * patch * patch), self.proj.weight.flatten(1), self.proj.bias
        )


class Encoder(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.embed_dim
        self.grid = config.grid_size
        self.patch_size = config.patch_size
        self.cls_token = nn.Parameter(torch.empty(1, 1, width))
        self.pos_embed = nn.Parameter(torch.empty(1, self.grid**2 + 1, width))
        self.register_tokens = nn.Parameter(torch.empty(1, config.num_register_tokens, width))
        # In the files, but no part of the computation.
        self.mask_token = nn.Parameter(torch.zeros(1, width), requires_grad=False)
        self.patch_embed = PatchEmbed(width, config.patch_size)
        self.blocks = nn.ModuleList(Block(width, eps=1e-6) for _ in range(config.encoder_depth))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.register_buffer("mean", torch.tensor(MEAN).view(3, 1, 1), persistent=False)
        self.register_buffer("deviation", torch.tensor(DEVIATION).view(3, 1, 1), persistent=False)

    def positions(self, rows: int, columns: int) -> Tensor:
        """[1, rows * columns, width]: the trained grid, resized."""
        stored = self.pos_embed[0, 1:].unflatten(0, (self.grid, self.grid))
        device = self.pos_embed.device
        with torch.autocast(device.type, enabled=False):
            resized = torch.einsum("ra,abc->rbc", resize_matrix(self.grid, rows, device), stored)
            resized = torch.einsum("sb,rbc->rsc", resize_matrix(self.grid, columns, device), resized)
        return resized.flatten(0, 1)[None]

    def forward(self, images: Tensor) -> Tensor:
        """[n, 3, H, W] in 0..1 -> normalised patch tokens [n, patches, width]."""
        count, _, height, width = images.shape
        patches = self.patch_embed((images - self.mean) / self.deviation)
        patches = patches + self.positions(height // self.patch_size, width // self.patch_size)
        front = torch.cat([self.cls_token + self.pos_embed[:, :1], self.register_tokens], dim=1)
        x = torch.cat([front.expand(count, -1, -1), patches], dim=1)
        for block in self.blocks:
            x = block(x, F.scaled_dot_product_attention)
        return self.norm(x[:, front.shape[1] :])
