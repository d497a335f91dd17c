"""Shared by all tests: the package without installing it, the synthetic weights and the engine's program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

torch.set_num_threads(1)  # small products; more threads wait for each other
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "training"))

from lingbot_map_training.model import Network  # noqa: E402


def synthetic_values(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """The rule of docs/formats.md, "Synthetic weights"."""
    count = int(np.prod(shape))
    mask = 2**64 - 1
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = ((state ^ byte) * 0x100000001B3) & mask
    start = (state + seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & mask
    with np.errstate(over="ignore"):
        z = np.uint64(start) + np.arange(count, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    unit = ((z >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1).astype(np.float32)
    if name.endswith(".gamma"):
        spread, centre = 0.1, 0.2
    elif len(shape) == 1:
        spread, centre = (0.2, 1.0) if name.endswith("weight") else (0.1, 0.0)
    elif "token" in name.split(".")[-1] or name.endswith("pos_embed"):
        spread, centre = 0.5, 0.0
    else:
        spread, centre = (3 / np.prod(shape[1:])) ** 0.5, 0.0
    return (unit * np.float32(spread) + np.float32(centre)).reshape(shape)


def fill_synthetic(network: Network, seed: int) -> Network:
    state = {
        name: torch.from_numpy(synthetic_values(name, tuple(tensor.shape), seed))
        for name, tensor in network.state_dict().items()
    }
    network.load_state_dict(state)
    return network.eval()


@pytest.fixture(scope="session")
def engine() -> Path:
    """The built program: LINGBOT_MAP_PROGRAM, or build/bin/lingbot-map."""
    program = Path(os.environ.get("LINGBOT_MAP_PROGRAM", ROOT / "build" / "bin" / "lingbot-map"))
    if not program.is_file():
        pytest.skip(f"{program}: not built; build it or set LINGBOT_MAP_PROGRAM")
    return program


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())
