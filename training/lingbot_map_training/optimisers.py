"""Muon for the matrices of transformer blocks, AdamW for all else, and a running mean of the weights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

ADAM_SHARE = 0.5  # AdamW's learning rate over Muon's
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


def orthogonalised(matrices: Tensor, steps: int = 5) -> Tensor:
    """[n, rows, columns] -> about the nearest matrices with singular values near one, by a quintic iteration."""
    a, b, c = NEWTON_SCHULZ
    x = matrices.bfloat16() if matrices.is_cuda else matrices.float()
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.mT if tall else x).to(matrices.dtype)


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised, with the root mean square of an AdamW step, so that both take the same learning rate.
    Matrices of one shape are treated together. `split` rows of a product that makes q, k and v count as three."""

    def __init__(self, parameters: Iterable[Tensor], lr: float, momentum: float = 0.95, decay: float = 0.0) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self, closure=None) -> None:
        assert closure is None
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            gradients = [parameter.grad for parameter in parameters]
            moments = [self._moment(parameter) for parameter in parameters]
            torch._foreach_lerp_(moments, gradients, 1 - group["momentum"])
            updates = torch._foreach_lerp(gradients, moments, group["momentum"])
            torch._foreach_mul_(parameters, 1 - group["lr"] * group["decay"])
            by_shape: dict[torch.Size, list[tuple[Tensor, Tensor]]] = defaultdict(list)
            for parameter, update in zip(parameters, updates, strict=True):
                for part, change in zip(_parts(parameter), _parts(update), strict=True):
                    by_shape[part.shape].append((part, change))
            for shape, pairs in by_shape.items():
                changes = orthogonalised(torch.stack([change for _, change in pairs]))
                size = 0.2 * max(shape) ** 0.5 * group["lr"]
                torch._foreach_add_([part for part, _ in pairs], list((-size * changes).unbind(0)))

    def _moment(self, parameter: Tensor) -> Tensor:
        state = self.state[parameter]
        if "moment" not in state:
            state["moment"] = torch.zeros_like(parameter)
        return state["moment"]


def _parts(matrix: Tensor) -> tuple[Tensor, ...]:
    """Views: q, k and v of a joint product, or the matrix itself."""
    rows, columns = matrix.shape
    return matrix.split(columns) if rows == 3 * columns else (matrix,)


def make_optimisers(modules: Iterable[nn.Module], lr: float, decay: float) -> list[torch.optim.Optimizer]:
    """Every optimiser's groups have `initial_lr`, which the schedule multiplies."""
    matrices, others, plain = [], [], []
    for module in modules:
        for name, parameter in module.named_parameters():
            if not parameter.requires_grad:
                continue
            if parameter.dim() == 2 and any(part in name for part in ("blocks.", "trunk.", "poseLN_modulation")):
                matrices.append(parameter)
            elif parameter.dim() == 4:
                others.append(parameter)
            else:
                plain.append(parameter)
    fused = bool(plain) and plain[0].is_cuda
    adam = torch.optim.AdamW(
        [{"params": others, "weight_decay": decay}, {"params": plain, "weight_decay": 0.0}],
        lr=ADAM_SHARE * lr,
        betas=(0.9, 0.98),
        fused=fused,
    )
    optimisers = [Muon(matrices, lr, decay=decay), adam]
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["initial_lr"] = group["lr"]
    return optimisers


class MeanWeights:
    """An exponential mean of parameters over the last `horizon` steps or fewer."""

    def __init__(self, module: nn.Module, horizon: int) -> None:
        self.horizon = horizon
        self.steps = 0
        self._live = [parameter.detach() for parameter in module.parameters()]
        self._names = [name for name, _ in module.named_parameters()]
        self._mean = [parameter.clone() for parameter in self._live]

    def update(self) -> None:
        self.steps += 1
        share = 1 / min(self.horizon, 1 + self.steps / 4)
        torch._foreach_lerp_(self._mean, self._live, share)

    def named(self) -> dict[str, Tensor]:
        return dict(zip(self._names, self._mean, strict=True))

    def load(self, tensors: dict[str, Tensor], steps: int) -> None:
        self.steps = steps
        for name, mean in zip(self._names, self._mean, strict=True):
            mean.copy_(tensors[name])
