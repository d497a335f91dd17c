"""Conventions, each against a scene's own numbers: axes, camera to world, quaternion order, whole pixel coordinates."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from box_scene import BoxScenes, rotation_from_quaternion

from lingbot_map_training import geometry
from lingbot_map_training.auxiliary import patch_truth
from lingbot_map_training.clips import Clips, world_points
from lingbot_map_training.evaluate import align, errors, render_clips
from lingbot_map_training.feeder import SequenceShape
from lingbot_map_training.losses import LossWeights, losses, motion_between, weighted
from lingbot_map_training.model import Prediction
from lingbot_map_training.streaming import StreamPlan, StreamSettings

SHAPE = SequenceShape(12, 84, 112)


@pytest.fixture(scope="module")
def truth() -> Clips:
    return render_clips(BoxScenes(), [("room", 3), ("street", 4)], SHAPE, 1)


def perfect(truth: Clips) -> Prediction:
    pose = torch.cat([truth.centre, truth.quaternion, truth.fov[:, None].expand(-1, truth.frames, -1)], dim=-1)
    log_depth = truth.depth.flatten(0, 1).clamp(min=1e-4).log()
    return Prediction([pose], torch.stack([log_depth, torch.full_like(log_depth, 3.0)], dim=1))


def test_quaternions_are_those_of_the_scene() -> None:
    q = torch.randn(50, 4, dtype=torch.float64)
    q = q / q.norm(dim=1, keepdim=True)
    expected = torch.from_numpy(np.stack([rotation_from_quaternion(row) for row in q.numpy()]))
    torch.testing.assert_close(geometry.matrix_from_quaternion(3 * q), expected)
    v = torch.randn(50, 3, dtype=torch.float64)
    torch.testing.assert_close(geometry.rotate(q, v), torch.einsum("nij,nj->ni", expected, v))
    product = geometry.matrix_from_quaternion(geometry.multiply(q[:25], q[25:]))
    torch.testing.assert_close(product, expected[:25] @ expected[25:])
    vector = geometry.rotation_vector(q)
    torch.testing.assert_close(torch.linalg.matrix_exp(_cross(vector)), expected)
    torch.testing.assert_close(geometry.angle_between(q, -q), torch.zeros(50, dtype=torch.float64), atol=1e-6, rtol=0)


def _cross(v: torch.Tensor) -> torch.Tensor:
    x, y, z = v.unbind(-1)
    zero = torch.zeros_like(x)
    return torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=-1).unflatten(-1, (3, 3))


def test_points_lie_on_the_walls(truth: Clips) -> None:
    points = world_points(truth.depth[:1], truth.quaternion[:1], truth.centre[:1], truth.fov[:1], truth.size, 1)
    sequence = BoxScenes().open("room", 3, SHAPE.frames, SHAPE.width, SHAPE.height)
    points = points + torch.from_numpy(sequence.pose(0)[:3]).float()  # clips begin where the camera does
    off_wall = (points.abs() / torch.from_numpy(sequence.half) - 1).abs().min(dim=-1).values
    assert off_wall.max() < 1e-5


def test_projection_undoes_rays(truth: Clips) -> None:
    rays = geometry.rays(truth.fov, *truth.size).flatten(1, 2)
    pixels = geometry.project(2.5 * rays, truth.fov, *truth.size).unflatten(1, truth.size)
    v, u = torch.meshgrid(torch.arange(84.0), torch.arange(112.0), indexing="ij")
    torch.testing.assert_close(pixels, torch.stack([u, v], dim=-1).expand_as(pixels), atol=1e-3, rtol=1e-5)


def test_flow_leads_to_the_same_colours(truth: Clips) -> None:
    plan = StreamPlan.make(truth.frames, StreamSettings(4, 8, 1))
    flow, seen, depth = patch_truth(truth, plan.previous, 14)
    height, width = truth.size
    assert seen[:, 0].sum() == 0 and seen[:, 1:].float().mean() > 0.7
    v, u = torch.meshgrid(torch.arange(7, height, 14.0), torch.arange(7, width, 14.0), indexing="ij")
    place = torch.stack([u, v], dim=-1).flatten(0, 1) + flow * torch.tensor([width, height])
    grid = 2 * place / torch.tensor([width - 1, height - 1]) - 1
    before = truth.images[:, plan.previous].flatten(0, 1)
    found = torch.nn.functional.grid_sample(before, grid.flatten(0, 1)[:, None], align_corners=True)[:, :, 0]
    own = truth.images[..., 7::14, 7::14].flatten(0, 1).flatten(2)
    difference = (found - own).abs().mean(dim=1).unflatten(0, (2, -1))
    assert difference[seen].mean() < 0.012
    still = truth.images[:, plan.previous, :, 7::14, 7::14].flatten(3) - truth.images[..., 7::14, 7::14].flatten(3)
    assert difference[seen].mean() < 0.3 * still.abs().mean()
    assert (depth[seen] > 0).all()


def test_normalised_world(truth: Clips) -> None:
    moved = truth.normalised(3)
    torch.testing.assert_close(moved.centre[:, 0], torch.zeros(2, 3))
    torch.testing.assert_close(moved.quaternion[:, 0].abs(), torch.tensor([[0.0, 0, 0, 1]] * 2), atol=1e-6, rtol=0)
    points = world_points(moved.depth[:, :3], moved.quaternion[:, :3], moved.centre[:, :3], moved.fov, moved.size, 1)
    valid = moved.depth[:, :3] > 0
    for i in range(2):
        mean = points[i].norm(dim=-1)[valid[i]].log().mean()
        assert abs(float(mean)) < 0.02
    unit = truth.depth[:, 0, 40, 50] / moved.depth[:, 0, 40, 50]
    step, turn = motion_between(truth.quaternion, truth.centre, torch.arange(12).roll(1))
    moved_step, moved_turn = motion_between(moved.quaternion, moved.centre, torch.arange(12).roll(1))
    torch.testing.assert_close(moved_step * unit[:, None, None], step, atol=1e-5, rtol=1e-4)
    assert geometry.angle_between(moved_turn, turn).max() < 1e-3


def test_truth_costs_nothing_and_every_error_does(truth: Clips) -> None:
    moved = truth.normalised(3)
    plan = StreamPlan.make(12, StreamSettings(3, 4, 2))
    dense, farther = torch.arange(24), torch.arange(12) // 2

    def cost(prediction: Prediction) -> dict[str, torch.Tensor]:
        return losses(prediction, moved, plan, dense, farther)

    best = cost(perfect(moved))
    for name in ("centre", "rotation", "fov", "step_centre", "step_rotation", "depth", "gradient", "points"):
        assert float(best[name]) < 3e-3, name
    flipped = perfect(moved)
    flipped.poses[0][..., 3:7] *= -1
    assert abs(float(weighted(cost(flipped), LossWeights()) - weighted(best, LossWeights()))) < 1e-3
    for entry, names in {0: ("centre", "points"), 4: ("rotation", "points"), 7: ("fov", "points")}.items():
        wrong = perfect(moved)
        wrong.poses[0][:, 5:, entry] += 0.1
        for name in names:
            assert float(cost(wrong)[name]) > float(best[name]) + 0.01, name
    wrong = perfect(moved)
    wrong.dense[:, 0] += 0.1
    assert math.isclose(float(cost(wrong)["depth"]), 0.1, rel_tol=1e-3)


def test_gradients_are_finite_at_the_truth(truth: Clips) -> None:
    moved = truth.normalised(3)
    prediction = perfect(moved)
    pose, dense = prediction.poses[0].requires_grad_(), prediction.dense.requires_grad_()
    plan = StreamPlan.make(12, StreamSettings(3, 4, 2))
    weighted(losses(prediction, moved, plan, torch.arange(24), torch.arange(12) // 2), LossWeights()).backward()
    assert pose.grad.isfinite().all() and dense.grad.isfinite().all()


def test_errors_are_free_of_frame_and_unit(truth: Clips) -> None:
    one = Clips(*(getattr(truth, name)[1:] for name in ("images", "depth", "centre", "quaternion", "fov")))
    moved = one.normalised(2)
    pose = torch.cat([moved.centre, moved.quaternion * 1.7, moved.fov[:, None].expand(-1, 12, -1)], dim=-1)[0]
    depth = moved.depth[0, :, ::3, ::3]
    found = errors(pose, depth, one)
    assert found.ate < 1e-5 and found.rotation < 0.05 and found.orientation < 0.05 and found.abs_rel < 1e-5
    worse = errors(pose + torch.tensor([0, 0, 0, 0.1, 0, 0, 0, 0, 0]), depth * 1.3 + 0.1, one)
    assert worse.rotation > 2 and 0.01 < worse.orientation < worse.rotation and 0.002 < worse.abs_rel < 0.2


def test_alignment_finds_a_similarity() -> None:
    points = torch.randn(30, 3, dtype=torch.float64)
    q = torch.tensor([0.1, -0.5, 0.2, 0.7], dtype=torch.float64)
    rotation = geometry.matrix_from_quaternion(q)
    shift = torch.tensor([1.0, 2, 3], dtype=torch.float64)
    scale, found, moved = align(points, 0.4 * points @ rotation.T + shift)
    torch.testing.assert_close(float(scale), 0.4)
    torch.testing.assert_close(found, rotation)
    torch.testing.assert_close(moved, shift)
