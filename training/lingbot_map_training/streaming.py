"""Which frame sees what in a stream, written as one mask over a whole clip.

A stream keeps the patches of its first `scale_frames` frames and of the last `window` kept frames, and the special
tokens of every kept frame. A scale frame sees all scale frames. A later frame sees what is kept before it, and itself.
Frames that are not kept are seen by nobody else.
"""

from __future__ import annotations

import dataclasses
import random

import torch
from torch import Tensor

from .transfer import send

HIDDEN, SPECIAL, WHOLE = 0, 1, 2


@dataclasses.dataclass(frozen=True)
class StreamSettings:
    scale_frames: int = 8
    window: int = 64
    keyframe_interval: int = 1

    def keeps(self, frame: int | Tensor) -> bool | Tensor:
        """Of a number or of a tensor of numbers."""
        late = frame - self.scale_frames
        return (late < 0) | (late % self.keyframe_interval == 0)


@dataclasses.dataclass(frozen=True)
class Gap:
    """Numbers left out before frame `at`, as if so many kept frames had gone by unseen: positions of long streams in
    a short clip."""

    at: int
    length: int


@dataclasses.dataclass(frozen=True)
class StreamPlan:
    """For T frames, all on the CPU until `to`.

    visible         uint8 [T, T]: what row's frame sees of column's, HIDDEN, SPECIAL (its special tokens) or WHOLE
    seen_before     int32 [T], whole_from int32 [T], scale_frames int32 []: the same in numbers. Beside itself a frame
                    sees the kept frames before `seen_before`: all tokens of scale frames and since `whole_from`, the
                    special tokens of those between
    rotary_index    int64 [T]: frame coordinate of the rotary positions in global blocks
    camera_index    int64 [T]: the same in the camera head, which counts frames that are not kept too
    first_variant   int64 [T]: variant of camera and register tokens, 0 for frame 0
    scale_variant   int64 [T]: variant of the scale token, 0 for scale frames
    kept            bool [T]
    previous        int64 [T]: the last kept frame before each (frame 0: itself)
    """

    visible: Tensor
    seen_before: Tensor
    whole_from: Tensor
    scale_frames: Tensor
    rotary_index: Tensor
    camera_index: Tensor
    first_variant: Tensor
    scale_variant: Tensor
    kept: Tensor
    previous: Tensor

    @property
    def frames(self) -> int:
        return self.visible.shape[0]

    def to(self, device: torch.device) -> StreamPlan:
        return StreamPlan(*(send(getattr(self, field.name), device) for field in dataclasses.fields(self)))

    @staticmethod
    def make(frames: int, settings: StreamSettings, gap: Gap | None = None) -> StreamPlan:
        scale = min(settings.scale_frames, frames)
        index = torch.arange(frames)
        is_scale = index < scale
        kept = settings.keeps(index)
        kept_before = kept.cumsum(0) - kept.long()
        kept_frames = kept.nonzero().flatten()
        # A keyframe is itself the newest of the window. The window starts at one of the kept frames, or at the frame.
        oldest = (kept_before - settings.window + kept.long()).clamp(min=scale)
        whole_from = torch.where(oldest < kept_before, kept_frames[oldest.clamp(max=len(kept_frames) - 1)], index)
        whole_from[:scale] = 0

        row, column = index[:, None], index
        past = kept & (column < row)
        visible = torch.where(past, SPECIAL, HIDDEN)
        visible[past & (is_scale | (column >= whole_from[:, None]))] = WHOLE
        visible[:scale, :scale] = WHOLE
        visible[index, index] = WHOLE
        left_out = torch.zeros_like(index) if gap is None else gap.length * (index >= max(gap.at, scale))
        return StreamPlan(
            visible=visible.to(torch.uint8),
            seen_before=index.clamp(min=scale).int(),
            whole_from=whole_from.int(),
            scale_frames=torch.tensor(scale, dtype=torch.int32),
            rotary_index=kept_before + left_out,
            camera_index=index + left_out,
            first_variant=(index > 0).long(),
            scale_variant=(~is_scale).long(),
            kept=kept,
            previous=kept_frames[(kept_before - 1).clamp(min=0)],
        )


def random_settings(frames: int, rng: random.Random, largest_interval: int = 3) -> StreamSettings:
    """Settings of a training clip: window and scale frames small enough that eviction happens in most clips."""
    most_scale = max(1, min(8, frames // 2))
    scale = rng.choice([1, most_scale, most_scale, rng.randint(1, most_scale)])
    rest = frames - scale
    window = rng.choice([max(1, rest // 4), max(1, rest // 2), rng.randint(1, max(rest, 1)), rest + 1])
    interval = rng.choices(range(1, largest_interval + 1), weights=[4] + [1] * (largest_interval - 1))[0]
    return StreamSettings(scale, min(window, 64), interval)


def random_gap(frames: int, rng: random.Random, share: float, most: int = 2000) -> Gap | None:
    """In a share of the clips, of lengths whose logarithm is even."""
    if rng.random() >= share:
        return None
    return Gap(rng.randrange(1, frames), round(most ** rng.random()))


def token_mask(visible: Tensor, tokens: int, special: int) -> Tensor:
    """bool [T * tokens, T * tokens] of a plan's `visible`, true where a query sees a key."""
    frames = visible.shape[0]
    is_special = torch.arange(tokens, device=visible.device) < special
    keys = (visible[:, :, None] == WHOLE) | ((visible[:, :, None] == SPECIAL) & is_special)
    keys = keys.reshape(frames, 1, frames * tokens)
    return keys.expand(frames, tokens, frames * tokens).reshape(frames * tokens, frames * tokens)
