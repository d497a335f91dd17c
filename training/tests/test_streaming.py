"""The mask of a clip: what is seen, and that one masked pass equals frames one by one."""

from __future__ import annotations

import random

import pytest
import torch
from conftest import fill_synthetic, relative_error

from lingbot_map_training.attention import attend, block_mask, clip_mask, specials_first
from lingbot_map_training.config import ModelConfig
from lingbot_map_training.model import Network
from lingbot_map_training.stream import Stream
from lingbot_map_training.streaming import (
    HIDDEN,
    SPECIAL,
    WHOLE,
    Gap,
    StreamPlan,
    StreamSettings,
    random_gap,
    random_settings,
)


def test_roles_of_the_specification() -> None:
    plan = StreamPlan.make(15, StreamSettings(scale_frames=8, window=64, keyframe_interval=3))
    assert plan.rotary_index[8:].tolist() == [8, 9, 9, 9, 10, 10, 10]
    assert plan.kept.nonzero().flatten().tolist() == [*range(9), 11, 14]
    assert plan.previous[9:].tolist() == [8, 8, 8, 11, 11, 11]
    assert plan.first_variant.tolist() == [0] + [1] * 14
    assert plan.scale_variant.tolist() == [0] * 8 + [1] * 7


def test_a_keyframe_sees_one_frame_of_the_window_less() -> None:
    plan = StreamPlan.make(9, StreamSettings(scale_frames=2, window=2, keyframe_interval=2))
    # Kept: 0 and 1 (scale), 2, 4, 6, 8. Frame 7 is no keyframe: two past frames of the window; frame 8: one.
    assert plan.visible[7].tolist() == [WHOLE, WHOLE, SPECIAL, HIDDEN, WHOLE, HIDDEN, WHOLE, WHOLE, HIDDEN]
    assert plan.visible[8].tolist() == [WHOLE, WHOLE, SPECIAL, HIDDEN, SPECIAL, HIDDEN, WHOLE, HIDDEN, WHOLE]
    assert plan.visible[0].tolist() == [WHOLE, WHOLE] + [HIDDEN] * 7


def test_a_gap_leaves_out_numbers_and_hides_nothing() -> None:
    settings = StreamSettings(scale_frames=3, window=4, keyframe_interval=2)
    plain, gapped = StreamPlan.make(9, settings), StreamPlan.make(9, settings, Gap(at=5, length=700))
    assert (gapped.rotary_index - plain.rotary_index).tolist() == [0] * 5 + [700] * 4
    assert gapped.camera_index.tolist() == [0, 1, 2, 3, 4, 705, 706, 707, 708]
    assert gapped.visible.equal(plain.visible) and gapped.previous.equal(plain.previous)
    assert StreamPlan.make(9, settings, Gap(at=1, length=5)).rotary_index[:4].tolist() == [0, 1, 2, 8]
    network = fill_synthetic(Network(ModelConfig.tiny()), seed=3)
    images = torch.rand(1, 9, 3, 28, 28, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        found, before = (network(images, plan).poses[-1] for plan in (gapped, plain))
    assert found[:, :5].equal(before[:, :5]) and not found[:, 5:].allclose(before[:, 5:], atol=1e-6)


def test_random_gaps() -> None:
    rng = random.Random(1)
    gaps = [random_gap(24, rng, 0.25) for _ in range(1000)]
    there = [gap for gap in gaps if gap]
    assert 200 < len(there) < 300 and all(1 <= gap.at < 24 and 1 <= gap.length <= 2000 for gap in there)


def test_random_settings_fit_their_clip() -> None:
    rng = random.Random(1)
    for _ in range(500):
        frames = rng.choice([2, 8, 12, 48, 192])
        settings = random_settings(frames, rng)
        assert 1 <= settings.scale_frames <= max(1, frames // 2)
        assert 1 <= settings.window <= 64 and 1 <= settings.keyframe_interval <= 3
        StreamPlan.make(frames, settings)


@pytest.mark.parametrize("settings", [StreamSettings(3, 2, 1), StreamSettings(1, 1, 2), StreamSettings(4, 3, 3)])
def test_masked_pass_equals_frame_by_frame(settings: StreamSettings) -> None:
    network = fill_synthetic(Network(ModelConfig.tiny()), seed=3)
    images = torch.rand(2, 13, 3, 28, 42, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        whole = network(images, StreamPlan.make(13, settings))
    stream = Stream(network, settings)
    results = [stream.start(images[:, : settings.scale_frames])]
    results += [stream.push(images[:, i : i + 1]) for i in range(settings.scale_frames, 13)]
    for iteration in range(4):
        poses = torch.cat([result.poses[iteration] for result in results], dim=1)
        assert relative_error(poses, whole.poses[iteration]) < 1e-5
    dense = torch.cat([result.dense.unflatten(0, (2, -1)) for result in results], dim=1).flatten(0, 1)
    assert relative_error(dense, whole.dense) < 1e-5


def test_chosen_dense_frames() -> None:
    network = fill_synthetic(Network(ModelConfig.tiny()), seed=3)
    images = torch.rand(2, 4, 3, 28, 42)
    plan = StreamPlan.make(4, StreamSettings(2, 2, 1))
    with torch.no_grad():
        whole = network(images, plan)
        part = network(images, plan, dense_frames=torch.tensor([6, 1]))
    torch.testing.assert_close(part.dense, whole.dense[[6, 1]])


@pytest.mark.parametrize("frames, tokens", [(7, 114), (12, 30), (5, 128), (3, 20)])
def test_block_mask_is_the_token_mask(frames: int, tokens: int) -> None:
    rng = random.Random(frames)
    for _ in range(3):
        plan = StreamPlan.make(frames, random_settings(frames, rng))
        blocks, dense = (clip_mask(plan, tokens, 6, flex=flex) for flex in (True, False))
        length = frames * tokens
        index = torch.arange(length)
        order = specials_first(index[:, None], tokens, 6).flatten()
        assert order.sort().values.equal(index) and (order[: 6 * frames] % tokens < 6).all()
        assert torch.equal(blocks.blocks.mask_mod(0, 0, index[:, None], index[None, :]), dense.dense[:, order])
        q, k, v = torch.randn(3, 1, 2, length, 16).unbind(0)
        with torch.no_grad():
            found = attend(q, k, v, blocks)
            expected = attend(q, k, v, dense)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_block_mask_skips_what_is_hidden() -> None:
    """Against FlexAttention's own analysis of the same mask."""
    from torch.nn.attention.flex_attention import create_block_mask

    plan = StreamPlan.make(12, StreamSettings(2, 3, 2))
    blocks = block_mask(plan, 114, 6)
    reference = create_block_mask(blocks.mask_mod, None, None, 12 * 114, 12 * 114, device="cpu")
    dense = blocks.to_dense()
    assert torch.equal(dense, reference.to_dense())
    assert torch.equal(blocks.full_kv_num_blocks, reference.full_kv_num_blocks)
    assert dense.float().mean() < 0.8


def test_a_long_clip_costs_what_its_windows_do() -> None:
    few, many = (
        block_mask(StreamPlan.make(frames, StreamSettings(4, 8, 1)), 114, 6).to_dense().float().sum(dim=-1).mean()
        for frames in (48, 192)
    )
    assert many < few + 12  # 144 frames more are 7 blocks of special tokens at the end, and all of their patches 121
