"""One process a GPU, or one alone."""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor


class Group:
    """What torchrun says about this process; without it, the only one."""

    def __init__(self, device: str) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        if device == "cuda":
            self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
            torch.cuda.set_device(self.device)
        else:
            self.device = torch.device(device)
        if self.size > 1:
            dist.init_process_group("cpu:gloo,cuda:nccl" if device == "cuda" else "gloo")

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def agree(self, value: float) -> float:
        """The leader's value, without waiting for a GPU."""
        if self.size == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64)
        dist.broadcast(shared, 0)
        return float(shared)

    def share(self, tensors: Iterable[Tensor]) -> None:
        """The leader's values everywhere."""
        if self.size > 1:
            for tensor in tensors:
                dist.broadcast(tensor, 0)

    def mean(self, tensor: Tensor) -> None:
        if self.size > 1:
            dist.all_reduce(tensor)
            tensor /= self.size

    def close(self) -> None:
        if self.size > 1:
            dist.destroy_process_group()


class Gradients:
    """All gradients as views of one block: one sum over processes, one norm, one clip."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        first = self.parameters[0]
        self.block = torch.zeros(sum(p.numel() for p in self.parameters), device=first.device)
        offset = 0
        for parameter in self.parameters:
            parameter.grad = self.block[offset : offset + parameter.numel()].view_as(parameter)
            offset += parameter.numel()

    def clear(self) -> None:
        self.block.zero_()

    def finish(self, group: Group, most: float) -> Tensor:
        """Means over processes, no longer than `most`; all zero if anything is not finite. Gives the norm before."""
        group.mean(self.block)
        norm = self.block.norm()
        self.block.nan_to_num_(0, 0, 0)
        factor = torch.where(norm.isfinite(), (most / (norm + 1e-6)).clamp(max=1), torch.zeros_like(norm))
        self.block.mul_(factor)
        return norm
