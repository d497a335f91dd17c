"""Small copies to the device that training runs on."""

from __future__ import annotations

import torch
from torch import Tensor


def send(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy on the device, without waiting for what the device is at."""
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
