"""What is trained when, as a function of progress: 0 at the start of the first piece, 1 at the end of the last."""

from __future__ import annotations

import dataclasses
import math

from .pool import ClipShape

# For clips of so many frames and fewer: stride, interval and gaps of their Stage.
DETAILS = ((8, 5, 1, 0.0), (24, 3, 2, 0.1), (64, 2, 3, 0.25), (math.inf, 1, 3, 0.25))


@dataclasses.dataclass(frozen=True)
class Stage:
    """until: progress at its end. stride: the most between frames of a clip. interval: the most between keyframes.
    gaps: the share of clips with a gap in the numbers of their frames."""

    until: float
    frames: int
    stride: int
    interval: int
    gaps: float


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A step has about `frames_per_step` frames at every stage."""

    stages: tuple[Stage, ...]
    frames_per_step: int
    warm_up_steps: int = 100
    decay_from: float = 0.6
    last_factor: float = 0.02

    def stage(self, progress: float, step: int) -> Stage:
        """Every third step repeats the stage before, so that what it taught stays."""
        current = next((i for i, stage in enumerate(self.stages) if progress < stage.until), len(self.stages) - 1)
        return self.stages[max(current - 1, 0) if step % 3 == 2 else current]

    def clip_shape(self, stage: Stage) -> ClipShape:
        return ClipShape(max(1, self.frames_per_step // stage.frames), stage.frames, stage.stride)

    def rate(self, progress: float, steps_in_piece: int) -> float:
        """Factor of the learning rate: a warm-up in every piece, since its moments are new; then level; then down."""
        warm = min(1.0, (steps_in_piece + 1) / self.warm_up_steps)
        left = (1 - min(progress, 1.0)) / (1 - self.decay_from)
        return warm * max(self.last_factor, min(1.0, left))

    def auxiliary_weight(self, progress: float) -> float:
        return 0.1 + 0.9 * (0.5 + 0.5 * math.cos(math.pi * min(1.0, progress / 0.8)))


def make_schedule(frames_per_step: int, lengths: tuple[int, ...], decay_from: float = 0.6) -> Schedule:
    """Clips of the given numbers of frames, each for an equal share of the training: from two-view geometry to whole
    sequences, where the window is full and special tokens are memory. Shorter clips have wider strides. The learning
    rate falls from progress `decay_from` on."""
    stages = [
        Stage((i + 1) / len(lengths), frames, *next(detail for most, *detail in DETAILS if frames <= most))
        for i, frames in enumerate(lengths)
    ]
    return Schedule(tuple(stages), frames_per_step, decay_from=decay_from)
