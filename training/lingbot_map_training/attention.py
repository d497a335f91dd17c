"""Attention over a clip under a plan's mask, by FlexAttention (skips what is hidden) or by PyTorch's masked kernel."""

from __future__ import annotations

import dataclasses

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from .streaming import StreamPlan, token_mask

BLOCK = 128
# The forward kernel's own choice for Hopper, 128 keys at a time in four warps, spills 4.7 kB a thread and takes 13
# times as long as the backward one; with 64 keys it spills nothing.
FORWARD_OPTIONS = {"fwd_BLOCK_M": 128, "fwd_BLOCK_N": 64, "fwd_num_warps": 4, "fwd_num_stages": 3}


@dataclasses.dataclass(frozen=True)
class ClipMask:
    """One of the two is set."""

    dense: Tensor | None = None
    blocks: BlockMask | None = None


def clip_mask(plan: StreamPlan, tokens: int, special: int, *, flex: bool) -> ClipMask:
    if flex:
        return ClipMask(blocks=block_mask(plan, tokens, special))
    return ClipMask(dense=token_mask(plan.visible, tokens, special))


def attend(q: Tensor, k: Tensor, v: Tensor, mask: ClipMask | None) -> Tensor:
    """softmax(q k^T / sqrt(head)) v on [batch, heads, tokens, head], all of v's type."""
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v)
    if mask.blocks is not None:
        # Compiled for the CPU, FlexAttention of PyTorch 2.15 is wrong for views of a joint product.
        options = FORWARD_OPTIONS if q.is_cuda else None
        return flex_attention(
            q.contiguous(), k.contiguous(), v.contiguous(), block_mask=mask.blocks, kernel_options=options
        )
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.dense)


def _ordered(present: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers and indices of the set blocks of each row, [1, 1, rows] and [1, 1, rows, columns]."""
    count = present.sum(dim=-1, dtype=torch.int32)
    order = torch.argsort(present.to(torch.int8), dim=-1, descending=True, stable=True).to(torch.int32)
    return count[None, None], order[None, None].contiguous()


def block_mask(plan: StreamPlan, tokens: int, special: int) -> BlockMask:
    """The mask of `token_mask` for FlexAttention. Blocks are judged by frames of queries, T times cheaper than by
    queries."""
    frames, device = plan.frames, plan.visible.device
    length = frames * tokens
    blocks = -(-length // BLOCK)
    position = torch.arange(length, dtype=torch.int32, device=device)
    frame_of = position // tokens

    # What the kernel reads is by query or by key, never by both: for each pair it compares registers.
    before, whole_from = plan.seen_before[frame_of], plan.whole_from[frame_of]
    kept_frame = torch.where(plan.kept[frame_of], frame_of, frames)
    remembered = (frame_of < plan.scale_frames) | (position % tokens < special)

    def sees(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        number = kept_frame[key]
        past = (number < before[query]) & (remembered[key] | (number >= whole_from[query]))
        return past | (frame_of[query] == frame_of[key])

    start = tokens * torch.arange(frames, device=device)
    padded = F.pad(sees(position, position, start[:, None], position[None]), (0, blocks * BLOCK - length))
    padded = padded.view(frames, blocks, BLOCK)
    any_key, every_key = padded.any(dim=-1).float(), padded.all(dim=-1).float()
    first = BLOCK * torch.arange(blocks, device=device)[:, None]
    in_block = ((start < first + BLOCK) & (start + tokens > first)).float()
    some = in_block @ any_key > 0
    whole = in_block @ (1 - every_key) == 0
    if length % BLOCK:  # queries past the end see nothing
        whole[-1] = False

    partial_count, partial_order = _ordered(some & ~whole)
    whole_count, whole_order = _ordered(whole)
    return BlockMask.from_kv_blocks(
        partial_count,
        partial_order,
        whole_count,
        whole_order,
        BLOCK_SIZE=BLOCK,
        mask_mod=sees,
        seq_lengths=(length, length),
    )
