"""Trains a network for a number of minutes: one piece of a longer training.

python -m lingbot_map_training.train --library liblingbot_map_scene.so --minutes 8.5 --span 0:0.33 --output run1
torchrun --nproc_per_node 2 -m lingbot_map_training.train --weights run1/weights.safetensors --span 0.33:0.66 ...
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import random
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from . import weights
from .augment import augment
from .auxiliary import Auxiliary
from .evaluate import evaluate
from .export import TYPES
from .feeder import Feeder, SequenceShape
from .model import Network
from .optimisers import MeanWeights, make_optimisers
from .pool import FRAME_BYTES_PER_PIXEL, Pool
from .processes import Gradients, Group
from .progress import ProgressLog
from .scenes import FIRST_TRAINING_SEED, SceneLibrary, SceneSource
from .schedule import Schedule, Stage, make_schedule
from .settings import Settings, parse_arguments
from .step import RecordedStep, Step, StepInputs, Terms
from .streaming import StreamPlan, StreamSettings, random_gap, random_settings
from .transfer import send

PROFILED_STEP = 15
LONGEST_GRADIENT = 10.0
AUXILIARY = "auxiliary."


class Trainer:
    """Owns everything of one piece in one process."""

    def __init__(self, settings: Settings, source: SceneSource, schedule: Schedule) -> None:
        self.started = time.monotonic()
        self.settings = settings
        self.source = source
        self.schedule = schedule
        width, height = settings.size
        self.shape = SequenceShape(settings.sequence_frames, height, width)
        rank = int(os.environ.get("RANK", "0"))
        # Seeds of a piece and a process meet no other's: a piece starts at its share of a large range.
        first_seed = FIRST_TRAINING_SEED + int(settings.span[0] * 1000) * 10**9 + rank * 10**8 + settings.seed * 10**13
        self.feeder = Feeder(source, self.shape, workers=settings.workers, first_seed=first_seed, kinds=settings.kinds)

        self.group = Group(settings.device)
        self.device = self.group.device
        torch.manual_seed(settings.seed * 1000 + int(settings.span[0] * 1e6))  # the same network everywhere
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
        self.config, stored = weights.read_config_or_weights(settings.model, settings.weights)
        self.network = Network(self.config).to(self.device)
        self.auxiliary = Auxiliary(self.config.embed_dim, self.config.depth).to(self.device)
        self.whole = nn.ModuleDict({"network": self.network, "auxiliary": self.auxiliary})
        if stored is not None:
            self._load(stored)
        self.gradients = Gradients(self.whole.parameters())
        self.optimisers = make_optimisers([self.network, self.auxiliary], settings.lr, settings.decay)
        self.mean = MeanWeights(self.whole, settings.mean_horizon)
        self.piece_step = self.step = 0
        if settings.state and Path(settings.state).is_file():
            self._load_state(Path(settings.state))
        self.group.share(self.whole.state_dict().values())

        capacity = int(
            settings.pool_gigabytes * 1e9 / (FRAME_BYTES_PER_PIXEL * width * height * settings.sequence_frames)
        )
        self.pool = Pool(self.feeder, max(capacity, 2), self.device)
        self.rng = random.Random(f"{settings.seed} {settings.span} clips {rank}")
        self.shared_rng = random.Random(f"{settings.seed} {settings.span} masks")
        torch.manual_seed(self.rng.randrange(2**31))
        self.frames_seen = 0
        self.step_itself = Step(self.network, self.auxiliary, self.device)
        self.backward: Callable[[StepInputs], Terms] = self.step_itself
        self._under_way: deque[torch.cuda.Event] = deque()
        self.log_path = settings.output / "log.jsonl"
        if self.group.leads:
            settings.output.mkdir(parents=True, exist_ok=True)

    def run(self) -> dict[str, object]:
        settings = self.settings
        self.log({"event": "start", "settings": json.loads(json.dumps(dataclasses.asdict(settings), default=str))})
        if settings.fast and self.device.type == "cuda":
            self._prepare()
        self.pool.fill(settings.first_sequences)
        self.log({"event": "pool", "sequences": self.pool.filled, "flex": self.step_itself.flex})
        train_from = self.elapsed()
        budget = settings.minutes * 60 - settings.reserve_seconds - train_from
        progress_log = ProgressLog(self, train_from)
        while True:
            share = self.group.agree((self.elapsed() - train_from) / budget)
            if share >= 1:
                break
            progress = settings.span[0] + share * (settings.span[1] - settings.span[0])
            with self._profiled():
                terms, norm = self.train_step(progress)
            progress_log.write(progress, terms | {"norm": norm})
        return self._finish()

    @contextlib.contextmanager
    def _profiled(self) -> Iterator[None]:
        """With --profile and on the leader, where the time of one step went goes to profile.txt."""
        if not (self.settings.profile and self.group.leads and self.piece_step == PROFILED_STEP):
            yield
            return
        with torch.profiler.profile() as profiler:
            yield
            self._synchronise()
        key = "self_device_time_total" if self.device.type == "cuda" else "self_cpu_time_total"
        table = profiler.key_averages().table(sort_by=key, row_limit=60, max_name_column_width=90)
        (self.settings.output / "profile.txt").write_text(table)

    def _synchronise(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def train_step(self, progress: float) -> tuple[dict[str, Tensor], Tensor]:
        self.pool.refresh()
        stage = self.schedule.stage(progress, self.piece_step)
        rate = self.schedule.rate(progress, self.piece_step)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = group["initial_lr"] * rate
        inputs = self.inputs(stage, progress)
        self.gradients.clear()
        terms = self.backward(inputs)
        norm = self.gradients.finish(self.group, LONGEST_GRADIENT)
        for optimiser in self.optimisers:
            optimiser.step()
        self.mean.update()
        self.step += 1
        self.piece_step += 1
        self.frames_seen += inputs.truth.images.shape[0] * inputs.truth.frames
        self._keep_pace()
        return terms, norm

    def inputs(self, stage: Stage, progress: float) -> StepInputs:
        """Drawn anew at every call."""
        clips = self.pool.sample(self.schedule.clip_shape(stage), self.rng)
        frames, device = clips.frames, self.device
        stream = random_settings(frames, self.shared_rng, stage.interval)
        plan = StreamPlan.make(frames, stream, random_gap(frames, self.shared_rng, stage.gaps)).to(device)
        farther = [self.shared_rng.randint(max(0, t - 16), max(0, t - 1)) for t in range(frames)]
        count = clips.images.shape[0] * frames
        dense = torch.randperm(count, device=device)[: max(1, round(count * self.settings.dense_share))]
        truth = clips.normalised(stream.scale_frames)
        images = augment(truth.images, self.settings.augmentation * min(1.0, 0.3 + 2 * progress))
        return StepInputs(
            truth=dataclasses.replace(truth, images=images),
            plan=plan,
            dense=dense,
            farther=send(torch.tensor(farther), device),
            auxiliary=send(torch.tensor(self.schedule.auxiliary_weight(progress)), device),
        )

    def _keep_pace(self) -> None:
        """Lets no more than two steps queue on the GPU, so that the clock means something."""
        if self.device.type != "cuda":
            return
        event = torch.cuda.Event()
        event.record()
        self._under_way.append(event)
        if len(self._under_way) > 2:
            self._under_way.popleft().synchronize()

    def log(self, entry: dict[str, object]) -> None:
        if self.group.leads:
            weights.write_json_line(self.log_path, entry)
            print(json.dumps(entry), flush=True)

    def elapsed(self) -> float:
        """Seconds."""
        return time.monotonic() - self.started

    def _prepare(self) -> None:
        """Takes the fastest way through a step that works on all processes: blocks compiled, with FlexAttention or else
        with dense masks, or as they are; the whole recorded or not. Every way is tried at all stages of the piece."""
        aggregator = self.network.aggregator
        blocks = [*aggregator.patch_embed.blocks, *aggregator.frame_blocks, *aggregator.global_blocks]
        torch._dynamo.config.cache_size_limit = 64
        for self.step_itself.flex in (True, False):
            for block in blocks:
                block.compile(dynamic=False)
            if self._works("compiled", self.step_itself):
                break
            torch._dynamo.reset()
        else:
            for block in blocks:
                block._compiled_call_impl = None
        recorded = RecordedStep(self.step_itself)
        if self._works("recorded", recorded.record):
            self.backward = recorded

    def _works(self, what: str, way: Callable[[StepInputs], object]) -> bool:
        first, last = self.settings.span
        stages = {
            self.schedule.stage(first + (last - first) * share / 8, step) for share in range(9) for step in (0, 2)
        }
        works = 1.0
        try:
            self.pool.fill(2)
            for stage in sorted(stages, key=lambda stage: stage.frames):
                since = self.elapsed()
                way(self.inputs(stage, first))
                self._synchronise()
                self.log({"event": what, "frames": stage.frames, "seconds": round(self.elapsed() - since, 1)})
        except Exception:
            self.log({"event": f"not {what}", "flex": self.step_itself.flex, "why": traceback.format_exc()[-1500:]})
            works = 0.0
        together = torch.tensor([works], device=self.device)
        self.group.mean(together)
        return float(together) == 1

    def _finish(self) -> dict[str, object]:
        settings = self.settings
        self.feeder.close()
        self.group.close()
        report: dict[str, object] = {}
        if self.group.leads:
            if settings.state:
                self._save_state(Path(settings.state))
            mean = {name.removeprefix("network."): tensor for name, tensor in self.mean.named().items()}
            files = weights.save_parts(
                settings.output / "weights.safetensors", mean, self.config, TYPES[settings.save_dtype]
            )
            self.log({"event": "saved", "files": [file.name for file in files], "seconds": round(self.elapsed(), 1)})
            if settings.evaluation_scenes:
                report = self._evaluate(mean)
                self.log({"event": "evaluation", **report, "seconds": round(self.elapsed(), 1)})
        return report

    def _evaluate(self, tensors: dict[str, Tensor]) -> dict[str, object]:
        network = Network(self.config).to(self.device)
        network.load_state_dict({name: tensors[name] for name in network.state_dict()})
        return evaluate(
            network,
            self.source,
            self.shape,
            scenes=self.settings.evaluation_scenes,
            settings=StreamSettings(),
            device=self.device,
            threads=self.settings.workers,
            kinds=tuple(dict.fromkeys(self.settings.kinds)),  # one may be named twice to come more often
        )

    def _load(self, stored: dict[str, Tensor]) -> None:
        """Readouts may be missing: they are learned anew at once."""
        self.network.load_state_dict({name: stored[name] for name in self.network.state_dict()})
        readouts = {name.removeprefix(AUXILIARY): t for name, t in stored.items() if name.startswith(AUXILIARY)}
        if readouts:
            self.auxiliary.load_state_dict(readouts)

    def _save_state(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {
            "whole": self.whole.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "mean": self.mean.named(),
            "mean_steps": self.mean.steps,
            "step": self.step,
        }
        half = path.with_name(path.name + ".part")
        torch.save(state, half)
        half.rename(path)

    def _load_state(self, path: Path) -> None:
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.whole.load_state_dict(state["whole"])
        for optimiser, stored in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(stored)
        self.mean.load(state["mean"], state["mean_steps"])
        self.step = state["step"]


def main() -> None:
    settings, library = parse_arguments()
    schedule = make_schedule(settings.frames_per_step, settings.lengths, settings.decay_from)
    Trainer(settings, SceneLibrary(library), schedule).run()


if __name__ == "__main__":
    main()
