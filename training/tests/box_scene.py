"""Scenes for tests: a camera that sways inside a box with painted walls. Rays meet planes; nothing of the engine's."""

from __future__ import annotations

import math

import numpy as np


def rotation_from_quaternion(q: np.ndarray) -> np.ndarray:
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


class BoxSequence:
    def __init__(self, kind: str, seed: int, frames: int, width: int, height: int) -> None:
        rng = np.random.default_rng((seed, len(kind)))
        self.half = rng.uniform(2, 4, 3)
        self.open_top = kind == "street"
        self.frequency = rng.normal(0, 2.2, (6, 3, 6, 2))
        self.phase = rng.uniform(0, 2 * math.pi, (6, 3, 6))
        self.size = (height, width)
        horizontal = rng.uniform(0.9, 1.4)
        self.fov = (2 * math.atan(math.tan(horizontal / 2) * height / width), horizontal)
        self.sway = rng.uniform(-0.5, 0.5, (3, 3)), rng.uniform(0, 6, (3, 3)), rng.uniform(0.02, 0.05, (3, 3))
        self.turn = rng.uniform(-0.15, 0.15, (3, 3)), rng.uniform(0, 6, (3, 3)), rng.uniform(0.02, 0.06, (3, 3))

    def pose(self, frame: int) -> np.ndarray:
        (a, p, f), (ra, rp, rf) = self.sway, self.turn
        centre = (a * np.sin(p + f * frame)).sum(1) * self.half * 0.5
        vector = (ra * np.sin(rp + rf * frame)).sum(1)
        angle = np.linalg.norm(vector) + 1e-12
        return np.concatenate([centre, vector / angle * math.sin(angle / 2), [math.cos(angle / 2)]])

    def render(self, frame: int, rgb: np.ndarray, depth: np.ndarray) -> None:
        height, width = self.size
        pose = self.pose(frame)
        focal = (height / 2) / math.tan(self.fov[0] / 2), (width / 2) / math.tan(self.fov[1] / 2)
        v, u = np.mgrid[:height, :width]
        rays = np.stack([(u - width / 2) / focal[1], (v - height / 2) / focal[0], np.ones_like(u, float)], -1)
        rays = rays @ rotation_from_quaternion(pose[3:]).T
        with np.errstate(divide="ignore"):
            reach = (np.sign(rays) * self.half - pose[:3]) / rays
        axis = reach.argmin(-1)
        depth[:] = reach.min(-1)
        points = pose[:3] + rays * depth[..., None]
        side = np.take_along_axis(rays, axis[..., None], -1)[..., 0] > 0
        wall = 2 * axis + side
        for index in range(6):
            here = wall == index
            surface = np.delete(points[here], index // 2, axis=1)
            for channel in range(3):
                waves = np.sin(surface @ self.frequency[index, channel].T + self.phase[index, channel])
                rgb[here, channel] = np.clip(127 + 40 * waves.sum(-1), 0, 255)
        if self.open_top:
            sky = wall == 2
            depth[sky] = 0
            rgb[sky] = (150, 190, 230)

    def close(self) -> None:
        pass


class BoxScenes:
    def open(self, kind: str, seed: int, frames: int, width: int, height: int) -> BoxSequence:
        return BoxSequence(kind, seed, frames, width, height)
