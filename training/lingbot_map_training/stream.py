"""The network as it is used: frame after frame, with the patches of few frames and the special tokens of all kept."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import Tensor

from . import rotary
from .model import CAMERA_ITERATIONS, Network, Prediction
from .streaming import StreamSettings

KeysValues = tuple[Tensor, Tensor]


class LayerCache:
    """Keys and values of one global block, [B, heads, tokens, 64] each, of what the stream still sees."""

    def __init__(self, settings: StreamSettings, special: int) -> None:
        self.settings = settings
        self.special = special
        self.scale: list[KeysValues] = []
        self.live: list[KeysValues] = []
        self.specials: list[KeysValues] = []

    def append(self, k: Tensor, v: Tensor) -> None:
        patches = k[:, :, self.special :], v[:, :, self.special :]
        self.specials.append((k[:, :, : self.special], v[:, :, : self.special]))
        if len(self.scale) < self.settings.scale_frames:
            self.scale.append(patches)
        else:
            self.live.append(patches)

    def evict(self) -> None:
        del self.live[: max(len(self.live) - self.settings.window, 0)]

    def rollback(self) -> None:
        self.specials.pop()
        self.live.pop()

    def attend(self, q: Tensor) -> Tensor:
        stored = self.scale + self.live + self.specials
        keys, values = (torch.cat([pair[i] for pair in stored], dim=2) for i in (0, 1))
        return F.scaled_dot_product_attention(q, keys, values)


class Stream:
    """Takes frames of B sequences at a time, all with the same roles."""

    def __init__(self, network: Network, settings: StreamSettings, iterations: int = CAMERA_ITERATIONS) -> None:
        self.network = network
        self.settings = settings
        self.iterations = iterations
        config = network.config
        self.layers = [LayerCache(settings, config.special_tokens) for _ in range(config.depth)]
        self.camera: dict[tuple[int, int], list[KeysValues]] = {}
        self.seen = 0
        self.committed = 0

    @torch.no_grad()
    def start(self, images: Tensor) -> Prediction:
        """The scale frames [B, S, 3, H, W]."""
        frames = images.shape[1]
        index = torch.arange(frames, device=images.device)
        return self._pass(images, (index > 0).long(), torch.zeros_like(index), keep=True)

    @torch.no_grad()
    def push(self, images: Tensor) -> Prediction:
        """One frame [B, 1, 3, H, W]."""
        later = torch.ones(1, dtype=torch.long, device=images.device)
        return self._pass(images, later, later, keep=self.settings.keeps(self.seen))

    def _pass(self, images: Tensor, first_variant: Tensor, scale_variant: Tensor, *, keep: bool) -> Prediction:
        network, config = self.network, self.network.config
        batch, frames, _, height, width = images.shape
        rows, columns = height // config.patch_size, width // config.patch_size
        x = network.frame_tokens(images.flatten(0, 1), first_variant.repeat(batch), scale_variant.repeat(batch))
        tokens = x.shape[1]
        index = self.committed + torch.arange(frames, device=images.device)
        table = rotary.stream_table(index, rows, columns, config.special_tokens).flatten(1, 2)
        rotation = functools.partial(rotary.rotate_pairs, table=table)
        frame_rotation = network.frame_rotation(rows, columns, images.device)
        taps = []
        for layer in range(config.depth):
            x = network.aggregator.frame_blocks[layer](x, F.scaled_dot_product_attention, frame_rotation)
            in_frame = x
            attend = functools.partial(self._attend, layer, keep, tokens)
            x = network.aggregator.global_blocks[layer](x.view(batch, frames * tokens, -1), attend, rotation)
            x = x.view(batch * frames, tokens, -1)
            if layer in config.selected_layers:
                taps.append((in_frame, x))
        camera_tokens = torch.cat([part[:, 0] for part in taps[-1]], dim=-1).view(batch, frames, -1)
        poses = self._cameras(camera_tokens.float(), keep)
        dense, points = network.estimate_dense(taps, None, height, width)
        self.seen += frames
        self.committed += frames if keep else 0
        return Prediction(poses, dense, points)

    def _attend(self, layer: int, keep: bool, tokens: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        cache = self.layers[layer]
        if self.committed == 0:
            for frame in range(0, k.shape[2], tokens):
                cache.append(k[:, :, frame : frame + tokens], v[:, :, frame : frame + tokens])
            return F.scaled_dot_product_attention(q, k, v)
        cache.append(k, v)
        if keep:
            cache.evict()
        result = cache.attend(q)
        if not keep:
            cache.rollback()
        return result

    def _cameras(self, tokens: Tensor, keep: bool) -> list[Tensor]:
        index = self.seen + torch.arange(tokens.shape[1], device=tokens.device)

        def attend(iteration: int, block: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            stored = self.camera.setdefault((iteration, block), [])
            visible = [*stored, (k, v)]
            if keep:
                stored.append((k, v))
            keys, values = (torch.cat([pair[i] for pair in visible], dim=2) for i in (0, 1))
            return F.scaled_dot_product_attention(q, keys, values)

        with torch.autocast(tokens.device.type, enabled=False):
            return self.network.camera_head(
                tokens,
                self.iterations,
                lambda iteration, block: functools.partial(attend, iteration, block),
                self.network.camera_rotation(index),
            )
