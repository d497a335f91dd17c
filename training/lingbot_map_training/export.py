"""Writes the model file that the engine reads, from the parts a piece of training left.

    python -m lingbot_map_training.export --weights run/weights.safetensors --output lingbot-map-mini.safetensors \
        --check build/bin/lingbot-map
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from . import weights
from .config import ModelConfig
from .model import Network
from .stream import Stream
from .streaming import StreamSettings

TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
TOLERANCE = 1e-4
CHECK_FRAMES = 10
CHECK_SETTINGS = StreamSettings(scale_frames=3, window=2, keyframe_interval=2)


def export(tensors: dict[str, Tensor], config: ModelConfig, output: Path, dtype: torch.dtype) -> None:
    """Only what the engine knows; readouts of training stay behind."""
    names = Network(config).state_dict()
    missing = sorted(set(names) - set(tensors))
    if missing:
        raise ValueError(f"found no tensor {missing[0]} ({len(missing)} missing)")
    for name, tensor in names.items():
        if tensors[name].shape != tensor.shape:
            raise ValueError(f"{name}: found {list(tensors[name].shape)}, expected {list(tensor.shape)}")
        if not tensors[name].isfinite().all():
            raise ValueError(f"{name}: found values that are not finite")
    weights.save(output, {name: tensors[name] for name in names}, config, dtype)


def difference_from_engine(model: Path, program: Path, images: Tensor) -> dict[str, float]:
    """Runs both on images uint8 [T, H, W, 3]: relative differences in float32."""
    tensors, config = weights.load(model)
    network = Network(config)
    network.load_state_dict(tensors)
    network.eval()
    stream = Stream(network, CHECK_SETTINGS)
    frames = images.permute(0, 3, 1, 2)[None].float() / 255
    results = [stream.start(frames[:, : CHECK_SETTINGS.scale_frames])]
    results += [stream.push(frames[:, i : i + 1]) for i in range(CHECK_SETTINGS.scale_frames, len(images))]
    own = {
        "pose_enc": torch.cat([result.poses[-1][0] for result in results]),
        "depth": torch.cat([result.log_depth.exp() for result in results]),
        "depth_conf": torch.cat([result.confidence for result in results]),
    }
    theirs = _run_engine(model, program, images)
    return {name: float((theirs[name] - own[name]).norm() / own[name].norm()) for name in own}


def _run_engine(model: Path, program: Path, images: Tensor) -> dict[str, Tensor]:
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        frames = Path(folder, "frames")
        frames.mkdir()
        for index, image in enumerate(images.numpy()):
            Image.fromarray(image).save(frames / f"{index:06d}.png")
        command = [program, "run", "--model_path", model, "--image_folder", frames, "--output", f"{folder}/out"]
        command += [
            "--image_size",
            images.shape[2],
            "--device",
            "cpu",
            "--dtype",
            "fp32",
            "--save_predictions",
            "--quiet",
        ]
        command += ["--num_scale_frames", CHECK_SETTINGS.scale_frames]
        command += ["--kv_cache_sliding_window", CHECK_SETTINGS.window]
        command += ["--keyframe_interval", CHECK_SETTINGS.keyframe_interval]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr.strip()}")
        files = [np.load(Path(folder, "out", "predictions", f"frame_{i:06d}.npz")) for i in range(len(images))]
        stacked = {name: np.stack([file[name] for file in files]) for name in ("pose_enc", "depth", "depth_conf")}
    stacked["depth"] = stacked["depth"][..., 0]
    return {name: torch.from_numpy(array) for name, array in stacked.items()}


def check_images(width: int, height: int) -> Tensor:
    """A drawn pattern that moves, uint8 [T, H, W, 3]."""
    time = torch.arange(CHECK_FRAMES).view(-1, 1, 1, 1)
    v, u = torch.arange(height).view(1, -1, 1, 1), torch.arange(width).view(1, 1, -1, 1)
    colour = torch.arange(3).view(1, 1, 1, -1)
    wave = (0.11 * (u + 2 * time) + 0.3 * colour).sin() * (0.17 * (v - time) + 0.5 * colour).cos()
    return (127.5 + 127 * wave).round().to(torch.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the model file that the engine reads")
    parser.add_argument("--weights", type=Path, required=True, help="a file, or any of its parts")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--dtype", choices=TYPES, default="bf16")
    parser.add_argument("--check", type=Path, help="the program lingbot-map, whose results are compared")
    parser.add_argument("--size", default="168x126", help="of the pictures for --check")
    arguments = parser.parse_args()
    tensors, config = weights.load(arguments.weights)
    export(tensors, config, arguments.output, TYPES[arguments.dtype])
    size = arguments.output.stat().st_size
    print(f"{arguments.output}: {size / 1e6:.1f} MB, {arguments.dtype}")
    if arguments.check:
        width, height = (int(part) for part in arguments.size.split("x"))
        differences = difference_from_engine(arguments.output, arguments.check, check_images(width, height))
        print(", ".join(f"{name} {value:.1e}" for name, value in differences.items()))
        if max(differences.values()) > TOLERANCE:
            raise SystemExit(f"{arguments.output}: the engine's results differ by more than {TOLERANCE}")


if __name__ == "__main__":
    main()
