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
    """dense, or blocks with the layout of the tokens that they are of: `special` of the `tokens` of a frame."""

    dense: Tensor | None = None
    blocks: BlockMask | None = None
    tokens: int = 0
    special: int = 0


def clip_mask(plan: StreamPlan, tokens: int, special: int, *, flex: bool) -> ClipMask:
    if flex:
        return ClipMask(blocks=block_mask(plan, tokens, special), tokens=tokens, special=special)
    return ClipMask(dense=token_mask(plan.visible, tokens, special))


def attend(q: Tensor, k: Tensor, v: Tensor, mask: ClipMask | None) -> Tensor:
    """softmax(q k^T / sqrt(head)) v on [batch, heads, tokens, head], all of v's type."""
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v)
    if mask.blocks is not None:
        # Compiled for the CPU, FlexAttention of PyTorch 2.15 is wrong for views of a joint product.
        options = FORWARD_OPTIONS if q.is_cuda else None
        k, v = (specials_first(x, mask.tokens, mask.special) for x in (k, v))
        return flex_attention(q.contiguous(), k, v, block_mask=mask.blocks, kernel_options=options)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.dense)


def specials_first(x: Tensor, tokens: int, special: int) -> Tensor:
    """[..., T * tokens, head] -> the special tokens of all frames, then all patches. What is remembered of old frames
    stands together, and the blocks of their patches are skipped: a long clip costs what a long stream does."""
    frames = x.unflatten(-2, (-1, tokens))
    return torch.cat([frames[..., :special, :].flatten(-3, -2), frames[..., special:, :].flatten(-3, -2)], dim=-2)


def _ordered(present: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers and indices of the set blocks of each row, [1, 1, rows] and [1, 1, rows, columns]."""
    count = present.sum(dim=-1, dtype=torch.int32)
    order = torch.argsort(present.to(torch.int8), dim=-1, descending=True, stable=True).to(torch.int32)
    return count[None, None], order[None, None].contiguous()


def block_mask(plan: StreamPlan, tokens: int, special: int) -> BlockMask:
    """The mask of `token_mask` for FlexAttention, keys in the order of `specials_first`. Blocks are judged by frames of
    queries, T times cheaper than by queries."""
    frames, device = plan.frames, plan.visible.device
    length = frames * tokens
    blocks = -(-length // BLOCK)
    position = torch.arange(length, dtype=torch.int32, device=device)
    query_frame = position // tokens
    is_special = position < frames * special
    key_frame = torch.where(is_special, position // special, (position - frames * special) // (tokens - special))

    # What the kernel reads is by query or by key, never by both: for each pair it compares registers.
    before, whole_from = plan.seen_before[query_frame], plan.whole_from[query_frame]
    kept_frame = torch.where(plan.kept[key_frame], key_frame, frames)
    remembered = (key_frame < plan.scale_frames) | is_special

    def sees(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        number = kept_frame[key]
        past = (number < before[query]) & (remembered[key] | (number >= whole_from[query]))
        return past | (query_frame[query] == key_frame[key])

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
