"""The renderer's library through its C interface: LINGBOT_MAP_SCENE_LIBRARY, or build/lib/liblingbot_map_scene.so."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT

from lingbot_map_training.auxiliary import patch_truth
from lingbot_map_training.evaluate import render_clips
from lingbot_map_training.feeder import SequenceShape
from lingbot_map_training.scenes import KINDS, SceneError, SceneLibrary
from lingbot_map_training.streaming import StreamPlan, StreamSettings


@pytest.fixture(scope="session")
def library() -> SceneLibrary:
    path = Path(os.environ.get("LINGBOT_MAP_SCENE_LIBRARY", ROOT / "build" / "lib" / "liblingbot_map_scene.so"))
    if not path.is_file():
        pytest.skip(f"{path}: not built; build it or set LINGBOT_MAP_SCENE_LIBRARY")
    return SceneLibrary(path)


@pytest.mark.parametrize("kind", KINDS)
def test_conventions(kind: str, library: SceneLibrary) -> None:
    """Depth, poses and field of view lead every patch to its own colours in the frame before."""
    shape = SequenceShape(12, 126, 168)
    truth = render_clips(library, [(kind, 1), (kind, 2)], shape, 2)
    plan = StreamPlan.make(shape.frames, StreamSettings(4, 8, 1))
    flow, seen, _ = patch_truth(truth, plan.previous, 14)
    assert seen[:, 1:].float().mean() > 0.3
    height, width = truth.size
    v, u = torch.meshgrid(torch.arange(7, height, 14.0), torch.arange(7, width, 14.0), indexing="ij")
    place = torch.stack([u, v], dim=-1).flatten(0, 1) + flow * torch.tensor([width, height])
    before = truth.images[:, plan.previous].flatten(0, 1)
    own = truth.images[..., 7::14, 7::14].flatten(0, 1).flatten(2)

    def difference(shift: float) -> float:
        grid = 2 * (place + shift) / torch.tensor([width - 1, height - 1]) - 1
        found = torch.nn.functional.grid_sample(before, grid.flatten(0, 1)[:, None], align_corners=True)[:, :, 0]
        return float((found - own).abs().mean(dim=1).unflatten(0, (2, -1))[seen].mean())

    assert difference(0) < 0.03
    assert difference(0) < difference(0.5) and difference(0) < difference(-0.5)


def test_numbers(library: SceneLibrary) -> None:
    sequence = pickle.loads(pickle.dumps(library)).open("room", 7, 5, 56, 42)
    pose = sequence.pose(4)
    assert abs(np.linalg.norm(pose[3:]) - 1) < 1e-6
    assert 0.5 < sequence.fov[0] < sequence.fov[1] < 2
    assert abs(np.tan(sequence.fov[0] / 2) / np.tan(sequence.fov[1] / 2) - 42 / 56) < 1e-3
    with pytest.raises(SceneError):
        sequence.pose(5)
    with pytest.raises(ValueError, match="expected"):
        sequence.render(0, np.empty((42, 56, 3), np.uint8), np.empty((42, 57), np.float32))
    sequence.close()
    sequence.close()


def test_refused(library: SceneLibrary) -> None:
    with pytest.raises(SceneError, match="room 1"):
        library.open("room", 1, 0, 56, 42)
