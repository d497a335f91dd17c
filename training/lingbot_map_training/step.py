"""Forward and backward of one training step, as they are or replayed from a recording."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor

from .auxiliary import Auxiliary
from .clips import Clips
from .losses import LossWeights, losses, weighted
from .model import Network
from .streaming import StreamPlan

Terms = dict[str, Tensor]


@dataclasses.dataclass(frozen=True)
class StepInputs:
    """All that a step depends on beside parameters, on the device. truth: images as the network is given them. dense:
    int64 [n], frames of the batch whose depth counts. farther: int64 [T], see `losses`. auxiliary: float32 [], weight
    of the readouts' loss."""

    truth: Clips
    plan: StreamPlan
    dense: Tensor
    farther: Tensor
    auxiliary: Tensor

    def tensors(self) -> list[Tensor]:
        parts = [getattr(part, field.name) for part in (self.truth, self.plan) for field in dataclasses.fields(part)]
        return [*parts, self.dense, self.farther, self.auxiliary]

    def shape(self) -> tuple[torch.Size, ...]:
        return tuple(tensor.shape for tensor in self.tensors())

    def copy(self) -> StepInputs:
        def of(part):
            return type(part)(*(getattr(part, field.name).clone() for field in dataclasses.fields(part)))

        return StepInputs(
            of(self.truth), of(self.plan), self.dense.clone(), self.farther.clone(), self.auxiliary.clone()
        )


class Step:
    """Adds a step's gradients to the parameters', which must have been made."""

    def __init__(self, network: Network, auxiliary: Auxiliary, device: torch.device) -> None:
        self.network = network
        self.auxiliary = auxiliary
        self.device = device
        self.flex = False

    def __call__(self, inputs: StepInputs) -> Terms:
        truth, plan = inputs.truth, inputs.plan
        config = self.network.config
        # Weights are cast once in any case; what autocast keeps would outlive a recording.
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda", cache_enabled=False):
            prediction = self.network(truth.images, plan, dense_frames=inputs.dense, flex=self.flex)
            terms = losses(prediction, truth, plan, inputs.dense, inputs.farther)
            auxiliary = self.auxiliary(prediction, truth, plan, config.special_tokens, config.patch_size)
        total = weighted(terms, LossWeights()) + inputs.auxiliary * auxiliary
        total.backward()
        return (
            {"loss": total.detach()}
            | {name: value.detach() for name, value in terms.items()}
            | {"auxiliary": auxiliary.detach()}
        )


class RecordedStep:
    """A step as CUDA graphs, one for each shape of its inputs: thousands of kernels for one launch. Their memory is
    shared, since no two are under way at once."""

    WARM_UP_RUNS = 2

    def __init__(self, step: Callable[[StepInputs], Terms]) -> None:
        self.step = step
        self._recordings: dict[tuple[torch.Size, ...], tuple[torch.cuda.CUDAGraph, StepInputs, Terms]] = {}
        self._pool = torch.cuda.graph_pool_handle()

    def record(self, inputs: StepInputs) -> None:
        """Runs the step a few times, with its effect on gradients, and records it."""
        held = inputs.copy()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(self.WARM_UP_RUNS):
                self.step(held)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        # Other threads watch over communication meanwhile: only this one's calls count as errors.
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            terms = self.step(held)
        self._recordings[inputs.shape()] = (graph, held, terms)

    def __call__(self, inputs: StepInputs) -> Terms:
        """As the step itself; of a shape that was not recorded, the step itself."""
        recording = self._recordings.get(inputs.shape())
        if recording is None:
            return self.step(inputs)
        graph, held, terms = recording
        torch._foreach_copy_(held.tensors(), inputs.tensors())
        graph.replay()
        return {name: value.clone() for name, value in terms.items()}
