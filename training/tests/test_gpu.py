"""The fast way through the trunk on a GPU, gradients included, against plain kernels with dense masks."""

from __future__ import annotations

import pytest
import torch
from conftest import ROOT, fill_synthetic, relative_error

from lingbot_map_training.config import ModelConfig
from lingbot_map_training.model import Network
from lingbot_map_training.streaming import StreamPlan, StreamSettings

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def gradients(network: Network, images: torch.Tensor, plan: StreamPlan, *, flex: bool) -> tuple[torch.Tensor, ...]:
    network.zero_grad()
    with torch.autocast("cuda", torch.bfloat16):
        prediction = network(images, plan, flex=flex)
    (prediction.poses[-1].square().mean() + prediction.log_depth.square().mean()).backward()
    block = network.aggregator.global_blocks[1].attn
    return prediction.poses[0].detach(), block.qkv.weight.grad.clone(), block.proj.weight.grad.clone()


def test_compiled_blocks_with_flex_attention() -> None:
    network = fill_synthetic(Network(ModelConfig.read(ROOT / "training" / "configs" / "mini.json")), seed=2).cuda()
    images = torch.rand(2, 12, 3, 126, 168, device="cuda")
    cases = [StreamSettings(3, 2, 1), StreamSettings(1, 4, 2), StreamSettings(8, 8, 1)]
    plans = [StreamPlan.make(12, settings).to(images.device) for settings in cases]
    expected = [gradients(network, images, plan, flex=False) for plan in plans]
    for block in [*network.aggregator.frame_blocks, *network.aggregator.global_blocks]:
        block.compile(dynamic=False)
    for plan, reference in zip(plans, expected, strict=True):
        for found, wanted in zip(gradients(network, images, plan, flex=True), reference, strict=True):
            assert relative_error(found, wanted) < 0.05
