"""Processes that render sequences into shared memory, without end. Knows NumPy but not PyTorch."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import random
import signal
from multiprocessing.shared_memory import SharedMemory

import numpy as np
from numpy.typing import NDArray

from .scenes import KINDS, SceneError, SceneSource, render_sequence

SLOTS_PER_WORKER = 4  # what is rendered while the network is being compiled
MOST_FAILURES = 20  # scenes refused one after the other


@dataclasses.dataclass(frozen=True)
class SequenceShape:
    frames: int
    height: int
    width: int


class SequenceSlot:
    """Views of one sequence in a block of memory."""

    def __init__(self, memory: memoryview, shape: SequenceShape) -> None:
        f, h, w = shape.frames, shape.height, shape.width
        offset = 0
        self.poses, offset = _view(memory, offset, (f, 7), np.float64)
        self.fov, offset = _view(memory, offset, (2,), np.float32)
        self.depth, offset = _view(memory, offset, (f, h, w), np.float16)
        self.rgb, offset = _view(memory, offset, (f, h, w, 3), np.uint8)

    @staticmethod
    def size(shape: SequenceShape) -> int:
        pixels = shape.frames * shape.height * shape.width
        used = shape.frames * 56 + 8 + 5 * pixels
        return -(-used // 4096) * 4096


def _view(memory: memoryview, offset: int, shape: tuple[int, ...], dtype: type) -> tuple[NDArray, int]:
    array = np.ndarray(shape, dtype, memory, offset)
    return array, offset + array.nbytes


class Feeder:
    """`ready()` gives the number of a rendered slot, or None; its views are in `slots` until `release(number)`.

    Worker w of n renders the seeds first_seed + w, first_seed + w + n, ... Make it before anything starts a GPU or
    threads: its processes are forked."""

    def __init__(
        self,
        source: SceneSource,
        shape: SequenceShape,
        *,
        workers: int,
        first_seed: int,
        kinds: tuple[str, ...] = KINDS,
    ) -> None:
        self.shape = shape
        size = SequenceSlot.size(shape)
        count = SLOTS_PER_WORKER * workers
        self.memory = SharedMemory(create=True, size=size * count)
        self.slots = [SequenceSlot(self.memory.buf[i * size : (i + 1) * size], shape) for i in range(count)]
        context = multiprocessing.get_context("fork")
        self._free, self._ready = context.SimpleQueue(), context.SimpleQueue()
        for slot in range(count):
            self._free.put(slot)
        self._workers = [
            context.Process(
                target=_work,
                args=(source, self.slots, self._free, self._ready, range(first_seed + w, 2**62, workers), kinds),
                daemon=True,
            )
            for w in range(workers)
        ]
        for worker in self._workers:
            worker.start()

    def ready(self) -> int | None:
        if self._ready.empty():
            if not any(worker.is_alive() for worker in self._workers):
                raise SceneError("all renderers have ended")
            return None
        slot = self._ready.get()
        if isinstance(slot, str):
            raise SceneError(slot)
        return slot

    def release(self, slot: int) -> None:
        self._free.put(slot)

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.join()
        self.slots.clear()
        with contextlib.suppress(BufferError):  # a view is still held somewhere; the memory goes with the process
            self.memory.close()
        self.memory.unlink()


def _work(source: SceneSource, slots: list[SequenceSlot], free, ready, seeds: range, kinds: tuple[str, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)
    failures = 0
    order = iter(seeds)
    while True:
        slot = slots[(number := free.get())]
        done = False
        while not done:
            seed = next(order)
            kind = kinds[random.Random(seed).randrange(len(kinds))]
            try:
                _render(source, kind, seed, slot)
                done, failures = True, 0
            except SceneError as error:
                failures += 1
                if failures == MOST_FAILURES:
                    ready.put(str(error))
                    return
        ready.put(number)


def _render(source: SceneSource, kind: str, seed: int, slot: SequenceSlot) -> None:
    frames, height, width, _ = slot.rgb.shape
    sequence = source.open(kind, seed, frames, width, height)
    try:
        render_sequence(sequence, slot.rgb, slot.depth, slot.poses, slot.fov)
    finally:
        sequence.close()
