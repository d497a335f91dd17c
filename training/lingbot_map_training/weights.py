"""Weights in files: what the engine reads, and what a piece of training leaves for the next one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from .config import METADATA_KEY, ModelConfig

PART_BYTES = 15 * 2**20 - 2**16  # a header is smaller than the 64 KiB left
PART_NAME = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")


def save(path: Path, tensors: Mapping[str, Tensor], config: ModelConfig, dtype: torch.dtype) -> None:
    """One file with the configuration in its metadata, as the engine writes it; `path` never names half a file."""
    save_tensors(path, tensors, dtype, {METADATA_KEY: config.to_json()})


def save_parts(path: Path, tensors: Mapping[str, Tensor], config: ModelConfig, dtype: torch.dtype) -> list[Path]:
    """The same as files of at most 15 MiB: NAME-00001-of-00002.safetensors, ..."""
    groups: list[dict[str, Tensor]] = [{}]
    filled = 0
    for name, tensor in tensors.items():
        size = tensor.numel() * dtype.itemsize
        if filled + size > PART_BYTES and groups[-1]:
            groups.append({})
            filled = 0
        groups[-1][name] = tensor
        filled += size
    paths = [
        path.with_name(f"{path.stem}-{index:05d}-of-{len(groups):05d}.safetensors")
        for index in range(1, len(groups) + 1)
    ]
    for part, group in zip(paths, groups, strict=True):
        save_tensors(part, group, dtype, {METADATA_KEY: config.to_json()})
    return paths


def save_tensors(path: Path, tensors: Mapping[str, Tensor], dtype: torch.dtype, metadata: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".part")
    plain = {name: tensor.detach().to("cpu", dtype).contiguous() for name, tensor in tensors.items()}
    save_file(plain, half, dict(metadata))
    half.rename(path)


def load(path: Path) -> tuple[dict[str, Tensor], ModelConfig]:
    """Float32 tensors and the configuration of a file, or of all parts of the set that `path` belongs to or names
    (NAME.safetensors stands for its parts where it is not a file itself)."""
    tensors: dict[str, Tensor] = {}
    config = None
    for part in _files(path):
        with safe_open(part, "pt") as file:
            text = (file.metadata() or {}).get(METADATA_KEY)
            if text is None:
                raise ValueError(f"{part}: no configuration in the metadata, expected {METADATA_KEY}")
            config = ModelConfig.from_json(text, str(part))
            tensors |= {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    assert config is not None
    return tensors, config


def _files(path: Path) -> list[Path]:
    match = PART_NAME.fullmatch(path.name)
    stem = match[1] if match else path.stem
    if path.is_file() and not match:
        return [path]
    parts = sorted(path.parent.glob(f"{stem}-*-of-*.safetensors"))
    matches = [PART_NAME.fullmatch(part.name) for part in parts]
    if not parts:
        raise FileNotFoundError(f"{path}: no such file, and no parts of one beside it")
    expected = int(matches[0][3]) if matches[0] else 0
    if [int(found[2]) for found in matches if found] != list(range(1, expected + 1)):
        raise ValueError(f"{path}: found {len(parts)} parts, expected {expected}")
    return parts


def read_config_or_weights(model: str, weights: str | None) -> tuple[ModelConfig, dict[str, Tensor] | None]:
    """The configuration of `weights` where there are some, else of the JSON file `model`."""
    if weights is None:
        return ModelConfig.from_json(Path(model).read_text(), model), None
    tensors, config = load(Path(weights))
    return config, tensors


def write_json_line(path: Path, entry: Mapping[str, object]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")
