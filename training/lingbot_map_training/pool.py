"""Rendered sequences on the training device, replaced one by one, from which clips are drawn."""

from __future__ import annotations

import dataclasses
import random
import time

import torch
from torch import Tensor

from .clips import Clips
from .feeder import Feeder, SequenceSlot
from .transfer import send

FRAME_BYTES_PER_PIXEL = 5  # three of colour, two of depth


@dataclasses.dataclass(frozen=True)
class ClipShape:
    clips: int
    frames: int
    most_stride: int = 1


class Pool:
    def __init__(self, feeder: Feeder, capacity: int, device: torch.device) -> None:
        f, h, w = feeder.shape.frames, feeder.shape.height, feeder.shape.width
        self.feeder = feeder
        self.capacity = capacity
        self.received = 0
        self.rgb = torch.empty(capacity, f, h, w, 3, dtype=torch.uint8, device=device)
        self.depth = torch.empty(capacity, f, h, w, dtype=torch.float16, device=device)
        self.centre = torch.empty(capacity, f, 3, device=device)
        self.quaternion = torch.empty(capacity, f, 4, device=device)
        self.fov = torch.empty(capacity, 2, device=device)
        self.device = device
        self._copying: list[tuple[int, torch.cuda.Event]] = []
        if device.type == "cuda":
            _pin(feeder)

    @property
    def filled(self) -> int:
        return min(self.received, self.capacity)

    @property
    def rendered_frames(self) -> int:
        return self.received * self.feeder.shape.frames

    def fill(self, sequences: int, timeout: float = 300.0) -> None:
        """Waits until so many are there."""
        end = time.monotonic() + timeout
        while self.filled < min(sequences, self.capacity):
            self.refresh()
            if time.monotonic() > end:
                raise TimeoutError(
                    f"found {self.filled} rendered sequences after {timeout:.0f} s, expected {sequences}"
                )
            time.sleep(0.01)

    def refresh(self) -> None:
        """Takes what has been rendered since the last call."""
        while self._copying and self._copying[0][1].query():
            self.feeder.release(self._copying.pop(0)[0])
        while (number := self.feeder.ready()) is not None:
            self._take(self.feeder.slots[number])
            if self.device.type == "cuda":
                event = torch.cuda.Event()
                event.record()
                self._copying.append((number, event))
            else:
                self.feeder.release(number)

    def _take(self, slot: SequenceSlot) -> None:
        place = self.received % self.capacity
        self.received += 1
        poses = torch.from_numpy(slot.poses - [*slot.poses[0, :3], 0, 0, 0, 0]).float()
        poses = send(poses, self.device)
        self.centre[place], self.quaternion[place] = poses[:, :3], poses[:, 3:]
        self.fov[place] = send(torch.from_numpy(slot.fov.copy()), self.device)
        self.depth[place].copy_(torch.from_numpy(slot.depth), non_blocking=True)
        self.rgb[place].copy_(torch.from_numpy(slot.rgb), non_blocking=True)

    def sample(self, shape: ClipShape, rng: random.Random) -> Clips:
        """Clips of random sequences, strides and starts, half of them backwards."""
        length = self.rgb.shape[1]
        most_stride = max(1, min(shape.most_stride, (length - 1) // max(shape.frames - 1, 1)))
        sequences, frames = [], []
        for _ in range(shape.clips):
            stride = rng.randint(1, most_stride)
            start = rng.randint(0, length - 1 - stride * (shape.frames - 1))
            chosen = [start + stride * i for i in range(shape.frames)]
            frames.append(chosen[::-1] if rng.random() < 0.5 else chosen)
            sequences.append(rng.randrange(self.filled))
        return self.take(send(torch.tensor(sequences), self.device), send(torch.tensor(frames), self.device))

    def take(self, sequence: Tensor, frames: Tensor) -> Clips:
        """sequence [B], frames [B, T]"""
        row = sequence[:, None]
        return Clips(
            images=self.rgb[row, frames].permute(0, 1, 4, 2, 3).float() / 255,
            depth=self.depth[row, frames].float(),
            centre=self.centre[row, frames],
            quaternion=self.quaternion[row, frames],
            fov=self.fov[sequence],
        )


def _pin(feeder: Feeder) -> None:
    """Page-locks the feeder's memory; copies are slower without, nothing else."""
    memory = torch.frombuffer(feeder.memory.buf, dtype=torch.uint8)
    torch.cuda.cudart().cudaHostRegister(memory.data_ptr(), memory.numel(), 0)
