#!/usr/bin/env bash
# Trains models/lingbot-map-mini.safetensors from nothing on all GPUs, 36 minutes of two H200, and holds it against the
# engine. Arguments: the program lingbot-map, a folder for checkpoints and logs, and the minutes of each half if not 36
# over the number of GPUs.
set -euo pipefail
if [[ $# -lt 2 ]]; then
  echo "usage: $0 PROGRAM FOLDER [MINUTES]" >&2
  exit 2
fi
program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
readonly program folder
cd "$(dirname "$0")"

gpus=$(python3 -c 'import torch; print(torch.cuda.device_count())')
if [[ $gpus -eq 0 ]]; then
  echo "$0: found no GPU, expected one or more; on a CPU this training takes weeks" >&2
  exit 1
fi
readonly gpus minutes=${3:-$((36 / gpus))}
scenes=$(sh ./build_scenes.sh "$folder")
readonly scenes

train() {
  torchrun --standalone --nproc_per_node "$gpus" -m lingbot_map_training.train --library "$scenes" --minutes "$minutes" "$@"
}
train --model configs/mini.json --output "$folder/short"
train --weights "$folder/short/weights.safetensors" --output "$folder/long" --lengths 192,960 --sequence_frames 1000 \
  --kinds room,room,corridor,street,orbit --lr 1.5e-3 --decay_from 0.3 --seed 2 --pool_gigabytes 40 \
  --reserve_seconds 90
python3 -m lingbot_map_training.export --weights "$folder/long/weights.safetensors" \
  --output "$folder/lingbot-map-mini.safetensors" --check "$program"
