"""The fast way through the trunk on a GPU, gradients included, against plain kernels with dense masks."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from conftest import ROOT, fill_synthetic, relative_error

from lingbot_map_training.auxiliary import Auxiliary
from lingbot_map_training.clips import Clips
from lingbot_map_training.config import ModelConfig
from lingbot_map_training.model import Network
from lingbot_map_training.step import RecordedStep, Step, StepInputs
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


def test_a_recorded_step_is_the_step() -> None:
    config = ModelConfig.read(ROOT / "training" / "configs" / "mini.json")
    network, auxiliary = (
        fill_synthetic(Network(config), seed=2).cuda(),
        Auxiliary(config.embed_dim, config.depth).cuda(),
    )
    for parameter in [*network.parameters(), *auxiliary.parameters()]:
        parameter.grad = torch.zeros_like(parameter)
    step = Step(network, auxiliary, torch.device("cuda"))
    recorded = RecordedStep(step)
    recorded.record(random_inputs(seed=0))

    def gradients_of(way, inputs: StepInputs) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        for parameter in network.parameters():
            parameter.grad.zero_()
        terms = way(inputs)
        return torch.cat([parameter.grad.flatten() for parameter in network.parameters()]), terms

    for seed in (1, 2):
        wanted, expected_terms = gradients_of(step, random_inputs(seed))
        found, terms = gradients_of(recorded, random_inputs(seed))
        assert relative_error(found, wanted) < 0.02
        for name, value in expected_terms.items():
            torch.testing.assert_close(terms[name], value, rtol=0.01, atol=1e-4)


def random_inputs(seed: int) -> StepInputs:
    generator = torch.Generator().manual_seed(seed)
    frames, height, width = 6, 56, 84
    clips = Clips(
        images=torch.rand(2, frames, 3, height, width, generator=generator),
        depth=1 + torch.rand(2, frames, height, width, generator=generator),
        centre=torch.rand(2, frames, 3, generator=generator),
        quaternion=torch.nn.functional.normalize(torch.randn(2, frames, 4, generator=generator), dim=-1),
        fov=0.8 + 0.2 * torch.rand(2, 2, generator=generator),
    )
    settings = StreamSettings(1 + seed, 2, 1 + seed % 2)
    plan = StreamPlan.make(frames, settings)
    farther = torch.tensor([0, 0, 0, 1, 1, 2])
    dense = torch.randperm(2 * frames, generator=generator)[:3]
    truth = clips.normalised(settings.scale_frames)
    return StepInputs(_on_gpu(truth), _on_gpu(plan), dense.cuda(), farther.cuda(), torch.tensor(0.5).cuda())


def _on_gpu(part):
    return type(part)(*(getattr(part, field.name).cuda() for field in dataclasses.fields(part)))
