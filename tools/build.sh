#!/usr/bin/env bash
# Configures (when needed) and builds one preset of CMakePresets.json: tools/build.sh PRESET [JOBS [TARGET]]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:?usage: tools/build.sh PRESET [JOBS [TARGET]]}
jobs=${2:-2}
target=${3:-all}
folder=build/$preset
mkdir -p build

echo "build: preset $preset into $folder, $jobs jobs"
# Quiet while all goes well; ninja reconfigures by itself when a CMake file changed. A folder that was configured at
# another path, as when the tree was moved, is made anew.
home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$folder/CMakeCache.txt" 2>/dev/null || true)
if [ -n "$home" ] && [ "$home" != "$PWD" ]; then rm -rf "$folder"; fi
cmake --preset "$preset" >"build/$preset.log" 2>&1 || { cat "build/$preset.log" >&2; exit 1; }
cmake --build "$folder" -j "$jobs" --target "$target"
