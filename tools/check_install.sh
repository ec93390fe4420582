#!/usr/bin/env bash
# Installs the release build into a fresh folder, builds a project outside the tree against it with find_package, and
# lets it generate text.
set -euo pipefail
cd "$(dirname "$0")/.."

model=$PWD/models/SmolLM2-135M-Instruct.Q4_1.gguf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install build/release --prefix "$work/prefix" >/dev/null
cp -r tests/install "$work/project"
cmake -S "$work/project" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
cmake --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
"$work/prefix/bin/tenon" --version
"$work/build/uses_tenon" "$model"
