"""The network with synthetic weights against the numbers of the public implementation."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from conftest import ROOT, fill_synthetic, relative_error
from safetensors import safe_open

from lingbot_map_training.config import ModelConfig
from lingbot_map_training.model import Network, Prediction
from lingbot_map_training.stream import Stream
from lingbot_map_training.streaming import StreamPlan, StreamSettings

CASES = {  # frames, settings, iterations, options of the configuration, images
    "kf1": (14, StreamSettings(3, 4, 1), 4, {}, "images"),
    "kf3": (20, StreamSettings(3, 4, 3), 4, {}, "images"),
    "it1_sf1": (8, StreamSettings(1, 3, 1), 1, {}, "images"),
    "short": (2, StreamSettings(3, 4, 1), 4, {}, "images"),
    "point": (6, StreamSettings(3, 4, 1), 4, {"has_point_head": True}, "images"),
    "sq112": (5, StreamSettings(3, 4, 1), 4, {}, "images112"),
    "camrope": (8, StreamSettings(3, 4, 1), 4, {"camera_rope": True}, "images"),
}


@pytest.fixture(scope="module")
def golden():
    with safe_open(ROOT / "tests" / "data" / "tiny.safetensors", "pt") as file:
        yield file


def run(name: str, golden) -> tuple[Network, torch.Tensor, StreamSettings, int]:
    frames, settings, iterations, options, images = CASES[name]
    network = fill_synthetic(Network(dataclasses.replace(ModelConfig.tiny(), **options)), seed=1)
    return network, golden.get_tensor(images)[None, :frames].float() / 255, settings, iterations


def check(name: str, golden, poses: torch.Tensor, prediction: Prediction) -> None:
    assert relative_error(poses, golden.get_tensor(f"{name}.pose_enc")) < 1e-5
    if name == "camrope":
        return
    assert relative_error(prediction.log_depth.exp(), golden.get_tensor(f"{name}.depth")[..., 0]) < 1e-5
    assert relative_error(prediction.confidence, golden.get_tensor(f"{name}.depth_conf")) < 1e-5


@pytest.mark.parametrize("name", CASES)
def test_masked_pass(name: str, golden) -> None:
    network, images, settings, iterations = run(name, golden)
    with torch.no_grad():
        prediction = network(images, StreamPlan.make(images.shape[1], settings), iterations=iterations)
    check(name, golden, prediction.poses[-1][0], prediction)
    if name == "point":
        values = prediction.points.permute(0, 2, 3, 1)[..., :3]
        points = values.sign() * values.abs().expm1()
        assert relative_error(points, golden.get_tensor("point.world_points")) < 1e-5


@pytest.mark.parametrize("name", CASES)
def test_frame_by_frame(name: str, golden) -> None:
    network, images, settings, iterations = run(name, golden)
    stream = Stream(network, settings, iterations)
    results = [stream.start(images[:, : settings.scale_frames])]
    results += [stream.push(images[:, i : i + 1]) for i in range(settings.scale_frames, images.shape[1])]
    poses = torch.cat([result.poses[-1][0] for result in results])
    check(name, golden, poses, Prediction([], torch.cat([result.dense for result in results])))


def test_encoder(golden) -> None:
    network, images, _, _ = run("kf1", golden)
    with torch.no_grad():
        tokens = network.aggregator.patch_embed(images[0, :3])
    assert relative_error(tokens, golden.get_tensor("stage.dino_patchtokens")) < 1e-5
