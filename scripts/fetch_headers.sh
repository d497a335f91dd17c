#!/usr/bin/env bash
# Fetches the headers that the attention back end 'flashinfer' is built from into third_party/: FlashInfer, with the
# CUTLASS headers it brings, pinned by hash. Instant and without a network when they are there, and nothing to do without
# a CUDA compiler; when they cannot be had, the build goes on without that back end.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
third_party="$root/third_party"

flashinfer_version=0.3.1
flashinfer_hash=992017d193dfbbc62e67401a6d5416629bf90b640872d14b7863de45e9371446

say() { echo "fetch_headers: $*" >&2; }

nvcc_major() {
  local nvcc="${CUDACXX:-}"
  [[ -n "$nvcc" ]] || nvcc="$(command -v nvcc || true)"
  [[ -n "$nvcc" || ! -x /usr/local/cuda/bin/nvcc ]] || nvcc=/usr/local/cuda/bin/nvcc
  [[ -n "$nvcc" ]] || { echo 0; return; }
  local major
  major="$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\..*/\1/p')" || true
  echo "${major:-0}"
}

is_there() { # folder hash
  [[ "$(cat "$third_party/$1/.sha256" 2>/dev/null)" == "$2" ]]
}

# Takes the place of what was there only when complete.
put() { # from folder hash
  echo "$3" > "$1/.sha256" && mkdir -p "$third_party" && rm -rf "${third_party:?}/$2" && mv "$1" "$third_party/$2"
}

pip_download() { # requirement hash arguments...
  local requirement="$1" hash="$2"
  shift 2
  echo "$requirement --hash=sha256:$hash" > "$work/requirements.txt"
  TMPDIR="$work/unpacked" python3 -m pip download --quiet --disable-pip-version-check --require-hashes --no-deps \
    --dest "$work/download" "$@" --requirement "$work/requirements.txt" > "$work/log" 2>&1
}

# The release is a source archive, which pip unpacks, once its hash is right, to ask for metadata that nobody needs: the
# unpacked folder is all that is wanted, whether or not this Python can answer that question.
fetch_flashinfer() {
  pip_download "flashinfer-python==$flashinfer_version" "$flashinfer_hash" --no-binary flashinfer-python \
    --no-build-isolation --no-clean || true
  local source
  source="$(find "$work/unpacked" -mindepth 2 -maxdepth 2 -type d -name 'flashinfer-python_*' | head -n 1)"
  [[ -n "$source" && -d "$source/3rdparty/cutlass/include" ]] || return 1
  local result="$work/flashinfer"
  mkdir -p "$result/3rdparty/cutlass/tools/util" &&
    cp -r "$source/include" "$source/LICENSE" "$source/licenses" "$result/" &&
    cp -r "$source/3rdparty/cutlass/include" "$result/3rdparty/cutlass/" &&
    cp -r "$source/3rdparty/cutlass/tools/util/include" "$result/3rdparty/cutlass/tools/util/" &&
    put "$result" flashinfer "$flashinfer_hash"
}

fetch() { # folder hash function name
  is_there "$1" "$2" && return
  if ! python3 -m pip --version >/dev/null 2>&1; then
    say "no pip to fetch the headers of $4 with (Debian: python3-pip); building without them"
    return
  fi
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  mkdir "$work/unpacked"
  say "fetching the headers of $4"
  if ! "$3"; then
    say "could not fetch $4, building without it: $(grep -m 1 ERROR "$work/log" || tail -n 1 "$work/log")"
  fi
  rm -rf "$work"
}

(($(nvcc_major) >= 12)) || exit 0
fetch flashinfer "$flashinfer_hash" fetch_flashinfer "FlashInfer $flashinfer_version"
