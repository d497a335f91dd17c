"""Streaming evaluation on scenes that are never trained on: poses after a Sim(3) alignment, depth after one scale.

python -m lingbot_map_training.evaluate --weights FILE.safetensors --library liblingbot_map_scene.so
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from . import geometry, weights
from .clips import Clips
from .feeder import SequenceShape
from .model import Network
from .scenes import FIRST_TRAINING_SEED, KINDS, SceneLibrary, SceneSource, render_sequence
from .stream import Stream
from .streaming import StreamSettings

DEPTH_STEP = 3  # pixels between those that depth is judged at


@dataclasses.dataclass(frozen=True)
class Errors:
    """ate: root mean square over path length after Sim(3). rotation: mean degrees after the same alignment, as the
    field has it. Where a path is nearly straight, that leaves the turn about it open; so orientation says the same
    after the best rotation for orientations themselves. abs_rel: mean relative error of depth after one scale a
    sequence (the median ratio)."""

    ate: float
    rotation: float
    orientation: float
    abs_rel: float


def align(found: Tensor, true: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Umeyama: scale, rotation and translation that take points [n, 3] to the true ones with least squares. Float64."""
    found_mean, true_mean = found.mean(0), true.mean(0)
    a, b = found - found_mean, true - true_mean
    u, d, vt = torch.linalg.svd(b.T @ a / len(found))
    sign = torch.ones(3, dtype=found.dtype)
    if torch.linalg.det(u) * torch.linalg.det(vt) < 0:
        sign[2] = -1
    rotation = u @ torch.diag(sign) @ vt
    scale = (d * sign).sum() / a.square().sum(dim=1).mean().clamp(min=1e-12)
    return scale, rotation, true_mean - scale * rotation @ found_mean


def errors(pose: Tensor, depth: Tensor, truth: Clips) -> Errors:
    """One sequence: pose [T, 9], depth [T, h, w] at every DEPTH_STEP-th pixel; truth of one clip."""
    found, true = pose[:, :3].double().cpu(), truth.centre[0].double().cpu()
    scale, rotation, shift = align(found, true)
    distance = (scale * found @ rotation.T + shift - true).square().sum(1).mean().sqrt()
    path = (true[1:] - true[:-1]).norm(dim=1).sum().clamp(min=1e-9)
    matrix = geometry.matrix_from_quaternion(pose[:, 3:7].double().cpu())
    true_matrix = geometry.matrix_from_quaternion(truth.quaternion[0].double().cpu())
    turns = _mean_angle(rotation, matrix, true_matrix), _mean_angle(_between(matrix, true_matrix), matrix, true_matrix)
    ate = float(distance / path)

    true_depth = truth.depth[0, :, ::DEPTH_STEP, ::DEPTH_STEP]
    valid = true_depth > 0
    if not valid.any():
        return Errors(ate, *turns, float("nan"))
    ratio = (true_depth[valid] / depth[valid]).median()
    abs_rel = ((depth[valid] * ratio - true_depth[valid]).abs() / true_depth[valid]).mean()
    return Errors(ate, *turns, float(abs_rel))


def _between(found: Tensor, true: Tensor) -> Tensor:
    """The rotation that takes orientations [T, 3, 3] to the true ones with least squares."""
    u, _, vt = torch.linalg.svd(torch.einsum("tij,tkj->ik", true, found))
    sign = torch.tensor([1.0, 1.0, float(torch.linalg.det(u) * torch.linalg.det(vt))], dtype=found.dtype)
    return u @ torch.diag(sign) @ vt


def _mean_angle(rotation: Tensor, found: Tensor, true: Tensor) -> float:
    """Degrees."""
    trace = torch.einsum("ij,tjk,tik->t", rotation, found, true)
    return float(((trace - 1) / 2).clamp(-1, 1).acos().rad2deg().mean())


def render_clips(source: SceneSource, scenes: list[tuple[str, int]], shape: SequenceShape, threads: int) -> Clips:
    """All scenes as one batch on the CPU."""
    count, f, h, w = len(scenes), shape.frames, shape.height, shape.width
    rgb, depth = np.empty((count, f, h, w, 3), np.uint8), np.empty((count, f, h, w), np.float32)
    poses, fov = np.empty((count, f, 7)), np.empty((count, 2), np.float32)

    def render(index: int) -> None:
        kind, seed = scenes[index]
        sequence = source.open(kind, seed, f, w, h)
        try:
            render_sequence(sequence, rgb[index], depth[index], poses[index], fov[index])
        finally:
            sequence.close()

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(render, range(count)))
    poses[:, :, :3] -= poses[:, :1, :3]
    truth = torch.from_numpy(poses).float()
    images = torch.from_numpy(rgb).permute(0, 1, 4, 2, 3).float() / 255
    return Clips(images, torch.from_numpy(depth), truth[..., :3], truth[..., 3:], torch.from_numpy(fov))


def stream_clips(
    network: Network, images: Tensor, settings: StreamSettings, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Images [B, T, 3, H, W] on the CPU, frame by frame: poses [B, T, 9] and depth [B, T, h, w] there."""
    stream = Stream(network, settings)
    batch, frames = images.shape[:2]
    scale = min(settings.scale_frames, frames)
    poses, depths = [], []
    for start in [0, *range(scale, frames)]:
        chunk = images[:, start : (scale if start == 0 else start + 1)].to(device)
        result = stream.start(chunk) if start == 0 else stream.push(chunk)
        poses.append(result.poses[-1].cpu())
        dense = result.log_depth.exp()[:, ::DEPTH_STEP, ::DEPTH_STEP]
        depths.append(dense.unflatten(0, (batch, -1)).cpu())
    return torch.cat(poses, dim=1), torch.cat(depths, dim=1)


def evaluate(
    network: Network,
    source: SceneSource,
    shape: SequenceShape,
    *,
    scenes: int,
    settings: StreamSettings,
    device: torch.device,
    threads: int,
    kinds: tuple[str, ...] = KINDS,
    batch: int = 16,
) -> dict[str, object]:
    """Medians over the first `scenes` seeds of every kind."""
    was_training = network.training
    network.eval()
    chosen = [(kind, seed) for kind in kinds for seed in range(scenes)]
    assert scenes <= FIRST_TRAINING_SEED
    found: list[Errors] = []
    for start in range(0, len(chosen), batch):
        truth = render_clips(source, chosen[start : start + batch], shape, threads)
        poses, depths = stream_clips(network, truth.images, settings, device)
        for i in range(len(poses)):
            one = Clips(
                truth.images[i : i + 1],
                truth.depth[i : i + 1],
                truth.centre[i : i + 1],
                truth.quaternion[i : i + 1],
                truth.fov[i : i + 1],
            )
            found.append(errors(poses[i], depths[i], one))
    network.train(was_training)
    report: dict[str, object] = {
        "settings": dataclasses.asdict(settings),
        "frames": shape.frames,
        "scenes": len(chosen),
    }
    report |= _medians(found)
    for kind in kinds:
        report[kind] = _medians([e for e, (k, _) in zip(found, chosen, strict=True) if k == kind])
    return report


def _medians(found: list[Errors]) -> dict[str, float]:
    names = [field.name for field in dataclasses.fields(Errors)]
    return {name: round(statistics.median(getattr(e, name) for e in found), 5) for name in names}


def parse_size(text: str) -> tuple[int, int]:
    """WIDTHxHEIGHT"""
    width, height = (int(part) for part in text.split("x"))
    if width <= 0 or height <= 0 or width % 14 or height % 14:
        raise argparse.ArgumentTypeError(f"found {text}, expected WIDTHxHEIGHT in multiples of 14")
    return width, height


def main() -> None:
    parser = argparse.ArgumentParser(description="Streaming evaluation on unseen scenes")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True, help="liblingbot_map_scene.so")
    parser.add_argument("--scenes", type=int, default=20, help="of every kind")
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--size", type=parse_size, default=(168, 126))
    parser.add_argument("--scale_frames", type=int, default=8)
    parser.add_argument("--window", type=int, default=64)
    parser.add_argument("--keyframe_interval", type=int, default=1)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    tensors, config = weights.load(arguments.weights)
    network = Network(config)
    network.load_state_dict({name: tensors[name] for name in network.state_dict()})
    width, height = arguments.size
    report = evaluate(
        network.to(arguments.device),
        SceneLibrary(arguments.library),
        SequenceShape(arguments.frames, height, width),
        scenes=arguments.scenes,
        settings=StreamSettings(arguments.scale_frames, arguments.window, arguments.keyframe_interval),
        device=torch.device(arguments.device),
        threads=arguments.threads,
    )
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
