"""Transformer blocks of encoder, trunk and camera head."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Rotation = Callable[[Tensor], Tensor]
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


class Mlp(nn.Module):
    def __init__(self, width: int, hidden: int, out: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, out)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(F.gelu(self.fc1(x)))


class LayerScale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.empty(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gamma


class HeadProjections(nn.Module):
    """Names and parameters of an attention layer; `heads` and `merge` are its two ends."""

    def __init__(self, width: int, head: int, *, head_norm: bool) -> None:
        super().__init__()
        self.head = head
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.q_norm = nn.LayerNorm(head, eps=1e-5) if head_norm else nn.Identity()
        self.k_norm = nn.LayerNorm(head, eps=1e-5) if head_norm else nn.Identity()

    def heads(self, x: Tensor, rotation: Rotation | None) -> tuple[Tensor, Tensor, Tensor]:
        """[batch, tokens, width] -> q, k, v [batch, heads, tokens, head], of v's type."""
        q, k, v = self.qkv(x).unflatten(-1, (3, -1, self.head)).permute(2, 0, 3, 1, 4).unbind(0)
        q, k = self.q_norm(q), self.k_norm(k)
        if rotation is not None:
            q, k = rotation(q), rotation(k)
        return q.to(v.dtype), k.to(v.dtype), v

    def merge(self, x: Tensor) -> Tensor:
        return self.proj(x.transpose(1, 2).flatten(-2))


class Block(nn.Module):
    """x + ls1(attention(norm1(x))), then the same with the MLP. The residual stream keeps x's type."""

    def __init__(self, width: int, *, head: int = 64, eps: float = 1e-5, head_norm: bool = False) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=eps)
        self.attn = HeadProjections(width, head, head_norm=head_norm)
        self.ls1 = LayerScale(width)
        self.norm2 = nn.LayerNorm(width, eps=eps)
        self.mlp = Mlp(width, 4 * width, width)
        self.ls2 = LayerScale(width)

    def forward(self, x: Tensor, attend: Attend, rotation: Rotation | None = None) -> Tensor:
        x = x + self.ls1(self.attn.merge(attend(*self.attn.heads(self.norm1(x), rotation))))
        return x + self.ls2(self.mlp(self.norm2(x)))
