#!/usr/bin/env bash
# Installs what building and testing need, as Debian packages. Instant and without a network when all are there.
set -euo pipefail

packages=(
  g++ cmake ninja-build               # the compiler and the build
  nlohmann-json3-dev                  # the engine: configurations and reports
  libopencv-core-dev libopencv-imgproc-dev libopencv-imgcodecs-dev libopencv-videoio-dev # src/media: images and video
  libopencv-dnn-dev                    # src/media: networks in ONNX files
  libjpeg-dev libpng-dev               # src/media: JPEG and PNG with errors of our own
  libcli11-dev                         # tools: options of the program
  libgtest-dev libgmock-dev
  clang-format clang-tidy
)

is_installed() {
  [[ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null)" == ii* ]]
}

if ! command -v dpkg-query >/dev/null; then
  echo "install_deps: not a Debian-like system; install the equivalents of: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

echo "install_deps: installing ${missing[*]}"
as_root=()
if ((EUID != 0)); then
  as_root=(sudo)
fi
"${as_root[@]}" apt-get update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
