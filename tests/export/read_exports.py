"""Reads the exports of ten frames of the wall (wall_frames.hpp) with pycolmap, trimesh, evo and numpy."""

import json
import pathlib
import sys

import numpy
import pycolmap
import trimesh
from evo.tools import file_interface

folder = pathlib.Path(sys.argv[1])
FRAMES = 10


def camera(index):
    """World from camera."""
    c, s = numpy.cos(0.02 * index), numpy.sin(0.02 * index)
    pose = numpy.eye(4)
    pose[:3, :3] = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    pose[:3, 3] = [0.1 * index, 0.02 * index, 0]
    return pose


def assert_on_wall(points, tolerance):
    numpy.testing.assert_allclose(points[:, 2], 4 + points[:, 0] / 4, atol=tolerance)


poses = [camera(i) for i in range(FRAMES)]

tum = file_interface.read_tum_trajectory_file(folder / "trajectory.txt")
kitti = file_interface.read_kitti_poses_file(folder / "poses_kitti.txt")
for trajectory in (tum, kitti):
    numpy.testing.assert_allclose(trajectory.poses_se3, poses, atol=1e-6)
    assert trajectory.check()[0], trajectory.check()
numpy.testing.assert_allclose(tum.timestamps, numpy.arange(FRAMES) / 10, atol=1e-9)

model = pycolmap.Reconstruction(folder / "colmap/sparse/0")
assert model.num_images() == FRAMES and model.num_cameras() == 1 and model.num_points3D() > 50
for image in model.images.values():
    found = image.cam_from_world() if callable(image.cam_from_world) else image.cam_from_world
    numpy.testing.assert_allclose(found.matrix(), numpy.linalg.inv(poses[image.image_id - 1])[:3], atol=1e-6)
    assert (folder / "colmap/images" / image.name).exists()
assert_on_wall(numpy.array([point.xyz for point in model.points3D.values()]), 1e-3)
assert all(point.track.length() >= 2 for point in model.points3D.values())
stored = {key: point.error for key, point in model.points3D.items()}
model.update_point_3d_errors()
for key, point in model.points3D.items():
    assert abs(point.error - stored[key]) < 1e-3, (key, point.error, stored[key])

cloud = trimesh.load(folder / "points.ply")
scene = trimesh.load(folder / "scene.glb")
names = {name.split("_")[0]: geometry for name, geometry in scene.geometry.items()}
assert {"points", "cameras", "path"} <= set(names), set(scene.geometry)
numpy.testing.assert_array_equal(names["points"].vertices, cloud.vertices)
numpy.testing.assert_array_equal(names["points"].colors[:, :3], cloud.colors[:, :3])
up_is_y = scene.graph.get(next(node for node in scene.graph.nodes_geometry))[0]
numpy.testing.assert_allclose(up_is_y, numpy.diag([1, -1, -1, 1]), atol=1e-9)

transforms = json.loads((folder / "nerfstudio/transforms.json").read_text())
assert len(transforms["frames"]) == FRAMES
for frame, pose in zip(transforms["frames"], poses):
    numpy.testing.assert_allclose(frame["transform_matrix"], pose @ numpy.diag([1, -1, -1, 1]), atol=1e-6)
    assert (folder / "nerfstudio" / frame["file_path"]).exists()
assert_on_wall(trimesh.load(folder / "nerfstudio" / transforms["ply_file_path"]).vertices, 1e-3)

for index in range(FRAMES):
    frame = numpy.load(folder / f"predictions/frame_{index:06d}.npz")
    pose = numpy.linalg.inv(numpy.vstack([frame["extrinsic"], [0, 0, 0, 1]]))
    numpy.testing.assert_allclose(pose, poses[index], atol=1e-6)
    assert frame["images"].shape == (3, 24, 32) and frame["images"].dtype == numpy.float32
assert numpy.load(folder / "predictions/meta.npz")["is_keyframe"].shape == (1, FRAMES)
