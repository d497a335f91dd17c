#!/usr/bin/env bash
# Renders a sequence of a generated room, reconstructs it on the CPU, and shows how far that is from the truth.
# Arguments: the program, the folder for the results. Without the model that comes with the program, the run is made
# with a small synthetic one, whose results mean nothing.
set -euo pipefail
readonly program=$1 output=$2
readonly seed=42 frames=120 size=168x126 # a seed that training never sees

run() { "$program" run --image_folder "$output/scene/images" --output "$output/run" --device cpu --image_size "${size%x*}" \
  --save_predictions --save_depth --downsample_factor 2 "$@"; }

mkdir -p "$output"
"$program" scene --kind room --seed $seed --frames $frames --size $size --output "$output/scene"
if [[ -f "$(dirname "$0")/../models/lingbot-map-mini.safetensors" ]]; then
  run
  "$program" eval --estimate "$output/run" --truth "$output/scene" --plot "$output"
else
  "$program" synth --config tiny --seed 17 --output "$output/tiny.safetensors"
  run --model_path "$output/tiny.safetensors"
  echo "The weights are synthetic, made from a seed: the program runs as it will with a trained model, but its poses,"
  echo "depth and points mean nothing."
fi
"$program" picture "$output/run" --output "$output/points.png"
echo "Results are in $output: points.png, run/trajectory.txt, run/points.ply, run/run.json and more; the truth in scene/."
