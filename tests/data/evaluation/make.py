"""Makes the trajectories of this folder and expected.json, what evo (PyPI) says of them.

    pip install evo && python3 make.py

With `--check ESTIMATE TRUTH ALIGN DELTA ALL_PAIRS` it makes nothing and prints evo's numbers as JSON: so the tests ask
evo where it is installed.
"""

import json
import pathlib
import sys

import numpy
from evo.core import metrics, sync
from evo.tools import file_interface
from scipy.spatial.transform import Rotation

FOLDER = pathlib.Path(__file__).parent
CASES = [("tum_estimate.txt", "tum_truth.txt", "sim3", 1, False),
         ("tum_estimate.txt", "tum_truth.txt", "se3", 3, True),
         ("tum_estimate.txt", "tum_truth.txt", "scale", 4, False),
         ("tum_estimate.txt", "tum_truth.txt", "none", 1, True),
         ("kitti_estimate.txt", "kitti_truth.txt", "sim3", 2, True),
         ("kitti_estimate.txt", "kitti_truth.txt", "se3", 5, False)]


def read(name):
    path = str(FOLDER / name)
    if len([line for line in open(path) if not line.startswith("#")][0].split()) == 12:
        return file_interface.read_kitti_poses_file(path)
    return file_interface.read_tum_trajectory_file(path)


def errors(estimate, truth, align, delta, all_pairs):
    estimate, truth = read(estimate), read(truth)
    if hasattr(truth, "timestamps"):
        truth, estimate = sync.associate_trajectories(truth, estimate)
    if align != "none":
        estimate.align(truth, correct_scale=align == "sim3", correct_only_scale=align == "scale")
    relation = metrics.PoseRelation
    result = {"poses": estimate.num_poses, "truth_length": truth.path_length, "estimate_length": estimate.path_length}
    for name, metric in {
            "ate": metrics.APE(relation.translation_part),
            "ate_rotation": metrics.APE(relation.rotation_angle_deg),
            "rpe": metrics.RPE(relation.translation_part, delta, metrics.Unit.frames, all_pairs=all_pairs),
            "rpe_rotation": metrics.RPE(relation.rotation_angle_deg, delta, metrics.Unit.frames, all_pairs=all_pairs),
    }.items():
        metric.process_data((truth, estimate))
        result[name] = {key: float(value) for key, value in metric.get_all_statistics().items()}
    return result


def curve(count, noise, seed):
    """Poses along a wavy loop whose cameras look ahead, disturbed by a random walk."""
    random = numpy.random.default_rng(seed)
    angle = numpy.linspace(0, 1.7 * numpy.pi, count)
    centres = numpy.stack([4 * numpy.sin(angle), 0.3 * numpy.sin(5 * angle), 3 - 3 * numpy.cos(angle)], 1)
    turns = Rotation.from_euler("yxz", numpy.stack([angle + 1.2, 0.1 * numpy.cos(3 * angle), 0.05 * angle], 1))
    walk = numpy.cumsum(random.normal(0, noise, (count, 6)), 0)
    return centres + walk[:, :3], turns * Rotation.from_rotvec(0.5 * walk[:, 3:])


def write_tum(name, times, centres, turns):
    with open(FOLDER / name, "w") as file:
        file.write("# timestamp tx ty tz qx qy qz qw\n")
        for time, centre, turn in zip(times, centres, turns.as_quat()):
            file.write(" ".join([f"{time:.6f}"] + [f"{number:.9g}" for number in [*centre, *turn]]) + "\n")


def write_kitti(name, centres, turns):
    with open(FOLDER / name, "w") as file:
        for centre, turn in zip(centres, turns.as_matrix()):
            file.write(" ".join(f"{number:.12g}" for number in numpy.hstack([turn, centre[:, None]]).ravel()) + "\n")


def make():
    times = 1305031102.1753 + numpy.arange(90) / 30
    centres, turns = curve(90, 0, 0)
    write_tum("tum_truth.txt", times, centres, turns)
    write_kitti("kitti_truth.txt", centres[:40], turns[:40])

    # The estimate: another world, another scale, fewer poses with times a little off, one far from any true one.
    other = Rotation.from_euler("xyz", [0.4, -1.1, 2.0])
    centres, turns = curve(90, 0.01, 1)
    centres, turns = 0.37 * other.apply(centres) + [1, -2, 0.5], other * turns
    write_kitti("kitti_estimate.txt", centres[:40], turns[:40])
    kept = numpy.arange(2, 88, 2)
    shifted = times[kept] + numpy.random.default_rng(2).uniform(-0.004, 0.004, len(kept))
    shifted[20] = times[kept[20]] + 0.0165
    write_tum("tum_estimate.txt", shifted, centres[kept], turns[kept])
    with open(FOLDER / "expected.json", "w") as file:
        cases = [dict(zip(("estimate", "truth", "align", "delta", "all_pairs"), case), **errors(*case))
                 for case in CASES]
        json.dump(cases, file, indent=1)
        file.write("\n")


if len(sys.argv) == 7 and sys.argv[1] == "--check":
    print(json.dumps(errors(*sys.argv[2:5], int(sys.argv[5]), sys.argv[6] == "true")))
else:
    make()
