"""What one piece of a training can be told, and its command line."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from .evaluate import parse_size
from .export import TYPES
from .scenes import KINDS


@dataclasses.dataclass
class Settings:
    model: str = "training/configs/mini.json"
    weights: str | None = None
    state: str | None = None
    output: Path = Path("training-run")
    minutes: float = 8.5
    span: tuple[float, float] = (0.0, 1.0)
    size: tuple[int, int] = (168, 126)
    lengths: tuple[int, ...] = (8, 24, 64, 192)
    sequence_frames: int = 200
    frames_per_step: int = 960
    dense_share: float = 0.25
    lr: float = 2e-3
    decay_from: float = 0.6
    decay: float = 0.01
    augmentation: float = 1.0
    workers: int = 15
    pool_gigabytes: float = 20.0
    first_sequences: int = 64
    kinds: tuple[str, ...] = KINDS
    device: str = "cuda"
    fast: bool = True
    seed: int = 1
    save_dtype: str = "bf16"
    mean_horizon: int = 500
    reserve_seconds: float = 30.0
    evaluation_scenes: int = 4
    profile: bool = False


def parse_span(text: str) -> tuple[float, float]:
    first, last = (float(part) for part in text.split(":"))
    if not 0 <= first < last <= 1:
        raise argparse.ArgumentTypeError(f"found {text}, expected FROM:TO with 0 <= FROM < TO <= 1")
    return first, last


def parse_lengths(text: str) -> tuple[int, ...]:
    lengths = tuple(int(part) for part in text.split(","))
    if min(lengths) < 2:
        raise argparse.ArgumentTypeError(f"found {text}, expected numbers of frames, each at least 2")
    return lengths


def parse_kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(text.split(","))
    for kind in kinds:
        if kind not in KINDS:
            raise argparse.ArgumentTypeError(f"found {kind}, expected some of {', '.join(KINDS)}")
    return kinds


def parse_arguments(arguments: list[str] | None = None) -> tuple[Settings, Path]:
    own = Settings()
    parser = argparse.ArgumentParser(
        description="One piece of a training", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--library", type=Path, required=True, help="liblingbot_map_scene.so")
    parser.add_argument("--model", default=own.model, help="configuration to start from nothing with")
    parser.add_argument("--weights", help="weights to go on from: a file, or the name that its parts have")
    parser.add_argument("--state", help="file with moments too: read if it is there, written at the end; stays local")
    parser.add_argument("--output", type=Path, default=own.output)
    parser.add_argument("--minutes", type=float, default=own.minutes, help="from start to end, evaluation included")
    parser.add_argument("--span", type=parse_span, default=own.span, help="share of the whole training: FROM:TO")
    parser.add_argument(
        "--lengths", type=parse_lengths, default=own.lengths, help="frames of a clip, one after the other"
    )
    parser.add_argument("--size", type=parse_size, default=own.size, help="WIDTHxHEIGHT")
    parser.add_argument("--kinds", type=parse_kinds, default=own.kinds, help="of scenes; named twice: twice as often")
    parser.add_argument("--device", default=own.device, choices=("cuda", "cpu"))
    parser.add_argument("--save_dtype", default=own.save_dtype, choices=TYPES)
    parser.add_argument("--no_compile", dest="fast", action="store_false", help="plain kernels and dense masks")
    parser.add_argument("--profile", action="store_true", help="log where the time of a step goes")
    for name in [
        "sequence_frames",
        "frames_per_step",
        "dense_share",
        "lr",
        "decay_from",
        "decay",
        "augmentation",
        "workers",
        "pool_gigabytes",
        "first_sequences",
        "seed",
        "mean_horizon",
        "reserve_seconds",
        "evaluation_scenes",
    ]:
        default = getattr(own, name)
        parser.add_argument(f"--{name}", type=type(default), default=default)
    values = vars(parser.parse_args(arguments))
    library = values.pop("library")
    settings = Settings(**values)
    for bound in ("sequence_frames", "frames_per_step"):
        if max(settings.lengths) > getattr(settings, bound):
            parser.error(
                f"--lengths: found {max(settings.lengths)}, expected at most --{bound}, {getattr(settings, bound)}"
            )
    return settings, library
