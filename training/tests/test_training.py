"""The training command: it learns, it goes on from what a piece left, and what it writes is what the engine reads."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch
from box_scene import BoxScenes
from conftest import ROOT, fill_synthetic

from lingbot_map_training import weights
from lingbot_map_training.config import ModelConfig
from lingbot_map_training.export import TOLERANCE, check_images, difference_from_engine, export
from lingbot_map_training.feeder import Feeder, SequenceShape
from lingbot_map_training.model import Network
from lingbot_map_training.optimisers import MeanWeights, orthogonalised
from lingbot_map_training.pool import ClipShape, Pool
from lingbot_map_training.processes import Gradients, Group
from lingbot_map_training.schedule import Schedule, Stage, make_schedule
from lingbot_map_training.train import Settings, Trainer, parse_arguments

NANO = ROOT / "training" / "configs" / "nano.json"
CPU = torch.device("cpu")


def trainer(folder: Path, **changes) -> Trainer:
    values = {
        "model": str(NANO),
        "output": folder,
        "size": (56, 42),
        "sequence_frames": 8,
        "workers": 1,
        "pool_gigabytes": 0.001,
        "first_sequences": 2,
        "device": "cpu",
        "kinds": ("room", "street"),
        "evaluation_scenes": 1,
        "reserve_seconds": 0.0,
    }
    schedule = Schedule((Stage(1, 4, 2, 2, 0.5),), frames_per_step=16, warm_up_steps=10)
    return Trainer(Settings(**(values | changes)), BoxScenes(), schedule)


def test_the_loss_falls(tmp_path: Path) -> None:
    learner = trainer(tmp_path, augmentation=0.0)
    learner.pool.fill(2)
    learner.feeder.ready = lambda: None  # two sequences, again and again
    totals = [float(learner.train_step(0.0)[0]["loss"]) for _ in range(16)]
    learner.feeder.close()
    assert sum(totals[-3:]) < 0.75 * sum(totals[:3])


def test_a_piece_leaves_weights_and_the_next_goes_on(tmp_path: Path) -> None:
    state = str(tmp_path / "state.pt")
    report = trainer(tmp_path / "a", minutes=0.05, span=(0.0, 0.5), state=state, save_dtype="fp32").run()
    assert {"ate", "rotation", "abs_rel", "room", "street"} <= set(report)
    lines = [json.loads(line) for line in (tmp_path / "a" / "log.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines if "event" in line] == ["start", "pool", "saved", "evaluation"]

    stored, config = weights.load(tmp_path / "a" / "weights.safetensors")
    assert config == ModelConfig.read(NANO)
    second = trainer(tmp_path / "b", weights=str(tmp_path / "a" / "weights.safetensors"), span=(0.5, 1.0))
    for name, tensor in second.network.state_dict().items():
        assert torch.equal(tensor, stored[name]), name
    assert torch.equal(second.auxiliary.patch[0].weight, stored["auxiliary.patch.0.weight"])
    second.feeder.close()

    third = trainer(tmp_path / "c", state=state, span=(0.5, 1.0))
    assert third.step > 0 and third.piece_step == 0
    moments = [entry["moment"] for entry in third.optimisers[0].state.values()]
    assert len(moments) > 10 and all(moment.any() for moment in moments)
    third.pool.fill(1)
    third.train_step(0.5)
    third.feeder.close()


@pytest.mark.parametrize("configuration", ["nano", "mini"])
def test_engine_agrees(configuration: str, engine: Path, tmp_path: Path) -> None:
    config = ModelConfig.read(ROOT / "training" / "configs" / f"{configuration}.json")
    network = fill_synthetic(Network(config), seed=5)
    tensors = dict(network.state_dict()) | {"auxiliary.patch.0.weight": torch.zeros(3, 4)}
    export(tensors, config, tmp_path / "model.safetensors", torch.float32)
    differences = difference_from_engine(tmp_path / "model.safetensors", engine, check_images(84, 56))
    assert max(differences.values()) < TOLERANCE, differences


def test_mini_fits_into_the_repository(tmp_path: Path) -> None:
    config = ModelConfig.read(ROOT / "training" / "configs" / "mini.json")
    export(dict(Network(config).state_dict()), config, tmp_path / "mini.safetensors", torch.bfloat16)
    assert (tmp_path / "mini.safetensors").stat().st_size < 32e6


def test_parts_are_small_and_whole(tmp_path: Path) -> None:
    config = ModelConfig.tiny()
    tensors = {f"t{i}": torch.full((1000, 1000), float(i)) for i in range(9)}
    files = weights.save_parts(tmp_path / "w.safetensors", tensors, config, torch.float32)
    assert len(files) == 3 and all(file.stat().st_size <= 15 * 2**20 for file in files)
    for name in (tmp_path / "w.safetensors", files[1]):
        found, read = weights.load(name)
        assert read == config and all(torch.equal(found[key], value) for key, value in tensors.items())
    files[1].unlink()
    with pytest.raises(ValueError, match="found 2 parts, expected 3"):
        weights.load(tmp_path / "w.safetensors")
    with pytest.raises(FileNotFoundError, match="no such file"):
        weights.load(tmp_path / "v.safetensors")


def test_export_refuses_what_is_not_whole(tmp_path: Path) -> None:
    config = ModelConfig.tiny()
    tensors = dict(Network(config).state_dict())
    output = tmp_path / "model.safetensors"
    with pytest.raises(ValueError, match=r"camera_head\.embed_pose\.bias"):
        export({k: v for k, v in tensors.items() if k != "camera_head.embed_pose.bias"}, config, output, torch.float32)
    broken = tensors | {"camera_head.embed_pose.bias": torch.full((256,), torch.nan)}
    with pytest.raises(ValueError, match="not finite"):
        export(broken, config, output, torch.float32)
    assert not output.exists()


def test_configuration_round_trip() -> None:
    tiny = ModelConfig.tiny()
    assert ModelConfig.from_json(tiny.to_json()) == tiny
    with pytest.raises(ValueError, match="unknown key colour"):
        ModelConfig.from_json('{"colour": 1}')
    with pytest.raises(ValueError, match="embed_dim is 64 times num_heads"):
        ModelConfig(embed_dim=100)


def test_pool_gives_clips_of_the_scene() -> None:
    feeder = Feeder(BoxScenes(), SequenceShape(10, 28, 42), workers=2, first_seed=5, kinds=("room", "street"))
    try:
        pool = Pool(feeder, 3, CPU)
        pool.fill(3)
        clips = pool.sample(ClipShape(6, 4, 3), random.Random(0))
        assert clips.images.shape == (6, 4, 3, 28, 42) and clips.depth.shape == (6, 4, 28, 42)
        whole = pool.take(torch.tensor([0]), torch.arange(10)[None])
        matches = []
        for seed in range(5, 12):
            for kind in feeder_kinds(seed):
                sequence = BoxScenes().open(kind, seed, 10, 42, 28)
                turns = torch.tensor([list(sequence.pose(i)[3:]) for i in range(10)]).float()
                if torch.allclose(turns, whole.quaternion[0], atol=1e-5):
                    matches.append(torch.tensor(sequence.fov).float())
        assert len(matches) == 1
        torch.testing.assert_close(matches[0], whole.fov[0])
        before = pool.received
        while pool.received == before:
            pool.refresh()
    finally:
        feeder.close()


def feeder_kinds(_seed: int) -> tuple[str, str]:
    return ("room", "street")


def test_schedule() -> None:
    schedule = make_schedule(960, (8, 24, 64, 192))
    assert [schedule.clip_shape(stage).clips for stage in schedule.stages] == [120, 40, 15, 5]
    assert schedule.stage(0.3, 0).frames == 24 and schedule.stage(0.3, 2).frames == 8
    assert schedule.stage(1.0, 0).frames == 192
    assert schedule.rate(0.3, 0) < 0.02 and schedule.rate(0.3, 1000) == 1
    assert 0 < schedule.rate(1.0, 1000) < 0.05
    assert make_schedule(960, (8,), 0.2).rate(0.6, 1000) == 0.5
    long = make_schedule(960, (192, 480, 960))
    assert [long.clip_shape(stage).clips for stage in long.stages] == [5, 2, 1]
    assert [long.stage(progress, 0).frames for progress in (0, 0.3, 0.35, 0.7, 1)] == [192, 192, 480, 960, 960]
    assert long.stage(0.9, 2).frames == 480 and long.stages[2].stride == 1


def test_orthogonalised_matrices() -> None:
    for shape in ((3, 16, 64), (2, 64, 16)):
        values = torch.linalg.svdvals(orthogonalised(torch.randn(shape, generator=torch.Generator().manual_seed(1))))
        assert values.min() > 0.4 and values.max() < 1.4


def test_gradients_that_are_not_finite_change_nothing() -> None:
    layer = torch.nn.Linear(3, 2)
    gradients = Gradients(layer.parameters())
    (layer(torch.ones(1, 3)).sum() * torch.nan).backward()
    gradients.finish(Group("cpu"), 1.0)
    assert not gradients.block.any()
    layer(torch.full((1, 3), 100.0)).sum().backward()
    assert gradients.finish(Group("cpu"), 1.0) > 100
    assert abs(float(gradients.block.norm()) - 1) < 1e-3 and layer.weight.grad.any()


def test_mean_weights() -> None:
    layer = torch.nn.Linear(1, 1, bias=False)
    mean = MeanWeights(layer, horizon=10)
    with torch.no_grad():
        layer.weight.fill_(3.0)
    for _ in range(200):
        mean.update()
    assert abs(float(mean.named()["weight"]) - 3) < 1e-3


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--span", "0.5:0.2"], "expected FROM:TO"),
        (["--size", "100x84"], "14"),
        (["--kinds", "room,castle"], "found castle, expected some of room"),
        (["--lengths", "8,1"], "at least 2"),
        (["--lengths", "8,480"], "at most --sequence_frames, 200"),
        (
            ["--lengths", "8,480", "--sequence_frames", "500", "--frames_per_step", "300"],
            "at most --frames_per_step, 300",
        ),
    ],
)
def test_bad_arguments(arguments: list[str], message: str, capsys) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["--library", "x", *arguments])
    assert message in capsys.readouterr().err
