"""Generated scenes through the C interface of the engine's renderer. Knows no PyTorch: renderers are forked."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

KINDS = ("room", "corridor", "street", "orbit")
FIRST_TRAINING_SEED = 1_000_000  # seeds below it are for evaluation alone


class Sequence(Protocol):
    """fov: vertical and horizontal, radians. pose: centre x y z and unit quaternion x y z w, camera to world."""

    fov: tuple[float, float]

    def pose(self, frame: int) -> NDArray[np.float64]: ...

    def render(self, frame: int, rgb: NDArray[np.uint8], depth: NDArray[np.float32]) -> None:
        """Fills rgb [H, W, 3] and depth [H, W], 0 in the sky."""

    def close(self) -> None: ...


class SceneSource(Protocol):
    def open(self, kind: str, seed: int, frames: int, width: int, height: int) -> Sequence: ...


class SceneError(RuntimeError):
    pass


class SceneLibrary:
    """The shared library liblingbot_map_scene.so. Opened where it is used, so that it can be handed to a process."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._library: ctypes.CDLL | None = None

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "_library": None}

    @property
    def library(self) -> ctypes.CDLL:
        if self._library is None:
            self._library = _load(self.path)
        return self._library

    def open(self, kind: str, seed: int, frames: int, width: int, height: int) -> RenderedSequence:
        return RenderedSequence(self.library, kind, seed, frames, width, height)


class RenderedSequence:
    def __init__(self, library: ctypes.CDLL, kind: str, seed: int, frames: int, width: int, height: int) -> None:
        self._library = library
        self._shape = (height, width)
        self._handle = library.lm_scene_open(KINDS.index(kind), seed, frames, width, height, 0.0)
        if not self._handle:
            raise SceneError(f"{kind} {seed}: {library.lm_scene_error().decode()}")
        fov = (ctypes.c_float * 2)()
        library.lm_scene_fov(self._handle, fov)
        self.fov = (fov[0], fov[1])

    def pose(self, frame: int) -> NDArray[np.float64]:
        pose = np.empty(7, np.float64)
        self._check(self._library.lm_scene_pose(self._handle, frame, pose.ctypes.data))
        return pose

    def render(self, frame: int, rgb: NDArray[np.uint8], depth: NDArray[np.float32]) -> None:
        if rgb.shape != (*self._shape, 3) or depth.shape != self._shape:
            raise ValueError(f"found pictures of {rgb.shape} and {depth.shape}, expected {self._shape}")
        if not (rgb.flags.c_contiguous and depth.flags.c_contiguous):
            raise ValueError("pictures must be contiguous")
        self._check(self._library.lm_scene_render(self._handle, frame, rgb.ctypes.data, depth.ctypes.data))

    def close(self) -> None:
        if self._handle:
            self._library.lm_scene_close(self._handle)
            self._handle = None

    def _check(self, status: int) -> None:
        if status != 0:
            raise SceneError(self._library.lm_scene_error().decode())


def _load(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    library.lm_scene_open.restype = ctypes.c_void_p
    library.lm_scene_open.argtypes = [ctypes.c_int, ctypes.c_uint64, *[ctypes.c_int] * 3, ctypes.c_float]
    library.lm_scene_close.restype = None
    library.lm_scene_close.argtypes = [ctypes.c_void_p]
    library.lm_scene_fov.restype = None
    library.lm_scene_fov.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_float)]
    library.lm_scene_pose.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    library.lm_scene_render.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    library.lm_scene_error.restype = ctypes.c_char_p
    return library


def render_sequence(
    sequence: Sequence,
    rgb: NDArray[np.uint8],
    depth: NDArray[np.float16] | NDArray[np.float32],
    poses: NDArray[np.float64],
    fov: NDArray[np.float32],
) -> None:
    """All frames of a sequence: rgb [F, H, W, 3], depth [F, H, W], poses [F, 7], fov [2]."""
    plane = np.empty(depth.shape[1:], np.float32)
    fov[:] = sequence.fov
    for frame in range(len(rgb)):
        poses[frame] = sequence.pose(frame)
        sequence.render(frame, rgb[frame], plane)
        depth[frame] = np.minimum(plane, np.finfo(depth.dtype).max)
