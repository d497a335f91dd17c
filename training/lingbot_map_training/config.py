"""The sizes of a network: the same JSON object that the engine reads and writes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

METADATA_KEY = "lingbot_map.config"


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Field names are the keys of docs/formats.md; defaults are the official model's."""

    image_size: int = 518
    patch_size: int = 14
    embed_dim: int = 1024
    num_heads: int = 16
    encoder_depth: int = 24
    depth: int = 24
    num_register_tokens: int = 4
    selected_layers: tuple[int, int, int, int] = (4, 11, 17, 23)
    camera_trunk_depth: int = 4
    camera_num_heads: int = 16
    camera_rope: bool = False
    dpt_features: int = 256
    dpt_out_channels: tuple[int, int, int, int] = (256, 512, 1024, 1024)
    has_point_head: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "selected_layers", tuple(self.selected_layers))
        object.__setattr__(self, "dpt_out_channels", tuple(self.dpt_out_channels))
        self._require(self.embed_dim == 64 * self.num_heads, "embed_dim is 64 times num_heads")
        self._require(
            2 * self.embed_dim == 128 * self.camera_num_heads, "twice embed_dim is 128 times camera_num_heads"
        )
        self._require(self.image_size % self.patch_size == 0, "image_size is a multiple of patch_size")
        taps = self.selected_layers
        self._require(
            len(taps) == 4 and list(taps) == sorted(set(taps)) and taps[0] >= 0 and taps[-1] < self.depth,
            "selected_layers are four ascending block numbers below depth",
        )
        self._require(self.dpt_features % 8 == 0, "dpt_features is a multiple of 8")
        self._require(
            len(self.dpt_out_channels) == 4 and all(channels % 4 == 0 for channels in self.dpt_out_channels),
            "dpt_out_channels are four multiples of 4",
        )

    @staticmethod
    def _require(holds: bool, rule: str) -> None:
        if not holds:
            raise ValueError(f"configuration: expected that {rule}")

    @property
    def grid_size(self) -> int:
        return self.image_size // self.patch_size

    @property
    def special_tokens(self) -> int:
        return self.num_register_tokens + 2

    @staticmethod
    def tiny() -> ModelConfig:
        """The model of the engine's golden tests."""
        return ModelConfig(112, 14, 128, 2, 2, 4, 4, (0, 1, 2, 3), 2, 2, False, 32, (16, 32, 64, 64))

    @staticmethod
    def from_json(text: str, source: str = "configuration") -> ModelConfig:
        fields: dict[str, Any] = json.loads(text)
        known = {field.name for field in dataclasses.fields(ModelConfig)}
        unknown = sorted(set(fields) - known)
        if unknown:
            raise ValueError(f"{source}: unknown key {unknown[0]}")
        return ModelConfig(**fields)

    @staticmethod
    def read(path: str | Path) -> ModelConfig:
        return ModelConfig.from_json(Path(path).read_text(), str(path))

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))
