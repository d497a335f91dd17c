"""What a training says of itself while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .train import Trainer

LOG_SECONDS = 4.0


class ProgressLog:
    """A line every few seconds: rates since the last line, and the terms of the newest step."""

    def __init__(self, trainer: Trainer, since: float) -> None:
        self.trainer = trainer
        self.time = since
        self.seen = trainer.frames_seen
        self.rendered = trainer.pool.rendered_frames

    def write(self, progress: float, terms: dict[str, Tensor]) -> None:
        trainer = self.trainer
        # The clock here runs ahead of the GPU by the steps that are queued: few, since clips wait for memory.
        now = trainer.elapsed()
        passed = now - self.time
        if passed < LOG_SECONDS:
            return
        numbers = {name: round(float(value), 5) for name, value in terms.items()}
        entry: dict[str, object] = {"step": trainer.step, "progress": round(progress, 4), "seconds": round(now, 1)}
        entry["frames"] = trainer.schedule.stage(progress, 0).frames
        size = trainer.group.size
        entry["frames_per_second"] = round((trainer.frames_seen - self.seen) * size / passed)
        entry["rendered_per_second"] = round((trainer.pool.rendered_frames - self.rendered) * size / passed)
        if trainer.device.type == "cuda":
            entry["gigabytes"] = round(torch.cuda.max_memory_allocated() / 1e9, 1)
        trainer.log(entry | numbers)
        self.time, self.seen, self.rendered = now, trainer.frames_seen, trainer.pool.rendered_frames
