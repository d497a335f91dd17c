"""What the network is trained for. Every term is relative to what it measures, so that near and far, short and long
clips count alike."""

from __future__ import annotations

import dataclasses

import torch
import torch.nn.functional as F
from torch import Tensor

from . import geometry
from .clips import Clips, world_points
from .model import Prediction
from .streaming import StreamPlan

PASS_DECAY = 0.6  # weight of a refinement pass relative to the next one
CONFIDENCE_PRICE = 0.2  # confidence settles at this over the relative error of depth
SKY_ERROR = 1.0  # the relative error that sky counts as: no confidence
POINT_STEP = 6


@dataclasses.dataclass(frozen=True)
class LossWeights:
    centre: float = 2.0
    rotation: float = 4.0
    fov: float = 1.0
    step_centre: float = 1.0
    step_rotation: float = 10.0
    depth: float = 1.0
    confidence: float = 0.2
    gradient: float = 1.0
    points: float = 0.5
    sky: float = 0.1


def unit_quaternion(pose: Tensor) -> Tensor:
    q = pose[..., 3:7]
    return q / q.norm(dim=-1, keepdim=True).clamp(min=1e-6)


def pose_terms(pose: Tensor, truth: Clips) -> dict[str, Tensor]:
    """Of one pass [B, T, 9]."""
    distance = truth.centre.norm(dim=-1)
    centre = (_length(pose[..., :3] - truth.centre) / (1 + 0.3 * distance)).mean()
    # The quaternion is free in length and sign; a weak pull to length one keeps its gradient alive.
    rotation = _chord(unit_quaternion(pose), truth.quaternion).mean()
    length = (pose[..., 3:7].norm(dim=-1) - 1).square().mean()
    fov = (pose[..., 7:] - truth.fov[:, None]).abs().mean()
    return {"centre": centre, "rotation": rotation + 0.01 * length, "fov": fov}


def step_terms(pose: Tensor, truth: Clips, earlier: Tensor) -> dict[str, Tensor]:
    """Motion from frame `earlier[t]` to frame t, in the axes of the earlier one, for all t but 0."""
    found_centre, found_turn = motion_between(unit_quaternion(pose), pose[..., :3], earlier)
    true_centre, true_turn = motion_between(truth.quaternion, truth.centre, earlier)
    length = true_centre.norm(dim=-1)
    centre = (_length(found_centre - true_centre) / (length + 0.05)).clamp(max=10)
    return {"step_centre": centre[:, 1:].mean(), "step_rotation": _chord(found_turn, true_turn)[:, 1:].mean()}


def depth_terms(prediction: Prediction, depth: Tensor) -> dict[str, Tensor]:
    """depth [n, H, W] of the frames that `prediction.dense` is of."""
    valid = depth > 0
    count = valid.sum().clamp(min=1)
    log_truth = depth.clamp(min=1e-4).log()
    error = (prediction.log_depth - log_truth).abs() * valid
    confidence = prediction.confidence.clamp(max=100)
    priced = (confidence * error - CONFIDENCE_PRICE * confidence.log()) * valid
    sky = (confidence * SKY_ERROR - CONFIDENCE_PRICE * confidence.log() - SKY_ERROR) * ~valid
    return {
        "depth": error.sum() / count,
        "confidence": priced.sum() / count,
        "gradient": _gradient_error(prediction.log_depth - log_truth, valid),
        "sky": sky.sum() / (~valid).sum().clamp(min=1),
    }


def point_term(pose: Tensor, log_depth: Tensor, truth: Clips, dense_frames: Tensor) -> Tensor:
    """Distance between world points from the network's own depth, pose and field of view and the true ones, relative to
    their depth: what makes frames agree with each other."""
    batch, frame = dense_frames // truth.frames, dense_frames % truth.frames
    chosen, size = pose[batch, frame], truth.size
    true_depth = truth.depth[batch, frame, ::POINT_STEP, ::POINT_STEP]
    own_depth = log_depth[:, ::POINT_STEP, ::POINT_STEP].clamp(-6, 6).exp()
    fov = chosen[:, 7:].clamp(0.1, 2.8)
    centre, quaternion = truth.centre[batch, frame], truth.quaternion[batch, frame]
    found = world_points(
        own_depth[:, None], unit_quaternion(chosen)[:, None], chosen[:, None, :3], fov, size, POINT_STEP
    )
    true = world_points(true_depth[:, None], quaternion[:, None], centre[:, None], truth.fov[batch], size, POINT_STEP)
    valid = true_depth > 0
    error = (_length(found - true)[:, 0] / (true_depth + 0.3)).clamp(max=5)
    return (error * valid).sum() / valid.sum().clamp(min=1)


def losses(
    prediction: Prediction, truth: Clips, plan: StreamPlan, dense_frames: Tensor, farther: Tensor
) -> dict[str, Tensor]:
    """Every term by its name in LossWeights. `farther` [T]: for each frame an earlier one, beside the one before it."""
    with torch.autocast(truth.centre.device.type, enabled=False):
        terms: dict[str, Tensor] = {}
        passes = len(prediction.poses)
        shares = [PASS_DECAY ** (passes - 1 - i) for i in range(passes)]
        for pose, share in zip(prediction.poses, shares, strict=True):
            found = pose_terms(pose, truth)
            for earlier in (plan.previous, farther):
                for name, value in step_terms(pose, truth, earlier).items():
                    found[name] = found.get(name, 0) + 0.5 * value
            for name, value in found.items():
                terms[name] = terms.get(name, 0) + value * (share / sum(shares))
        terms |= depth_terms(prediction, truth.depth.flatten(0, 1)[dense_frames])
        terms["points"] = point_term(prediction.poses[-1], prediction.log_depth, truth, dense_frames)
    return terms


def weighted(terms: dict[str, Tensor], weights: LossWeights) -> Tensor:
    return torch.stack([getattr(weights, name) * value for name, value in terms.items()]).sum()


def _length(x: Tensor) -> Tensor:
    """A norm whose gradient is finite at zero."""
    return (x.square().sum(dim=-1) + 1e-8).sqrt()


def _chord(a: Tensor, b: Tensor) -> Tensor:
    """About the angle between the rotations of unit quaternions, radians; twice the shorter distance."""
    sign = torch.where((a * b).sum(dim=-1, keepdim=True) < 0, -1.0, 1.0)
    return 2 * _length(a * sign - b)


def motion_between(quaternion: Tensor, centre: Tensor, earlier: Tensor) -> tuple[Tensor, Tensor]:
    back = geometry.conjugate(quaternion[:, earlier])
    return geometry.rotate(back, centre - centre[:, earlier]), geometry.multiply(back, quaternion)


def _gradient_error(difference: Tensor, valid: Tensor) -> Tensor:
    """Differences between neighbours of the error in log depth, 1, 2 and 4 pixels apart."""
    total = difference.new_zeros(())
    for step in (1, 2, 4):
        x, y = difference[:, ::step, ::step], valid[:, ::step, ::step]
        for axis in (1, 2):
            both = y.narrow(axis, 1, y.shape[axis] - 1) & y.narrow(axis, 0, y.shape[axis] - 1)
            change = F.smooth_l1_loss(
                x.narrow(axis, 1, x.shape[axis] - 1), x.narrow(axis, 0, x.shape[axis] - 1), reduction="none", beta=0.01
            )
            total = total + (change * both).sum() / both.sum().clamp(min=1)
    return total / 6
