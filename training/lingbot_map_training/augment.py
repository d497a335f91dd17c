"""What cameras do to pictures: colour, exposure, blur, noise; fixed for a sequence, with some flicker."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import Tensor

LUMA = (0.299, 0.587, 0.114)


def augment(images: Tensor, strength: float, generator: torch.Generator | None = None) -> Tensor:
    """[B, T, 3, H, W] in 0..1, of the same range and shape; strength 0 changes nothing, 1 is the most."""
    if strength == 0:
        return images
    batch, frames = images.shape[:2]

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, 1, 1, 1, device=images.device, generator=generator) * 2 - 1

    def sequence(spread: float, flicker: float) -> Tensor:
        """One number a frame."""
        return strength * (spread * uniform(batch, 1) + flicker * uniform(batch, frames))

    x = _blur(images, (uniform(batch, 1) * 0.5).clamp(min=0).expand(batch, frames, 1, 1, 1) * strength)
    gamma = (0.4 * sequence(1, 0)).exp()
    x = x.clamp(min=1e-4) ** gamma
    gains = (0.15 * strength * (torch.rand(batch, 1, 3, 1, 1, device=x.device, generator=generator) * 2 - 1)).exp()
    x = x * gains * (0.3 * sequence(1, 0.25)).exp()
    gray = sum(share * x[:, :, i : i + 1] for i, share in enumerate(LUMA))
    saturation = (1 + 0.5 * sequence(1, 0)) * (uniform(batch, 1) > -1 + 0.2 * strength)
    x = gray + (x - gray) * saturation
    x = 0.5 + (x - 0.5) * (0.25 * sequence(1, 0.1)).exp()
    deviation = 0.04 * strength * uniform(batch, 1).clamp(min=0) ** 2
    noise = torch.randn(x.shape, device=x.device, dtype=x.dtype, generator=generator)
    return (x + deviation * noise).clamp(0, 1)


@functools.lru_cache
def _binomial(device: torch.device) -> Tensor:
    return torch.tensor([1.0, 4, 6, 4, 1], device=device) / 16


def _blur(images: Tensor, share: Tensor) -> Tensor:
    """A mixture of the picture and its 5x5 binomial blur; share [B, T, 1, 1, 1] in 0..1."""
    row = _binomial(images.device)
    flat = images.flatten(0, 1).flatten(0, 1)[:, None]
    blurred = F.pad(flat, (2, 2, 2, 2), mode="replicate")
    blurred = F.conv2d(F.conv2d(blurred, row.view(1, 1, 1, 5)), row.view(1, 1, 5, 1))
    return images + 2 * share * (blurred.view_as(images) - images)
