#!/usr/bin/env bash
# Renders a sequence of a generated room, reconstructs it on the CPU with the model that comes with the program, and
# shows how far that is from the truth. Arguments: the program, the folder for the results.
set -euo pipefail
readonly program=$1 output=$2
readonly seed=42 frames=120 size=168x126 # a seed that training never sees

mkdir -p "$output"
"$program" scene --kind room --seed $seed --frames $frames --size $size --output "$output/scene"
"$program" run --image_folder "$output/scene/images" --output "$output/run" --device cpu \
  --save_predictions --save_depth --downsample_factor 2
"$program" eval --estimate "$output/run" --truth "$output/scene" --plot "$output"
"$program" picture "$output/run" --output "$output/points.png"
echo "In $output: points.png, trajectory.png, errors.png, depth.png; run/ with trajectory.txt, points.ply, run.json and"
echo "more; scene/ with the pictures and the truth."
