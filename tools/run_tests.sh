#!/usr/bin/env bash
# Everything that CI runs, in steps; with arguments, only the named steps:
#
#   layers   the rules of tools/check_layers over this tree
#   tools    unit tests of the scripts in tools/; docs/ops.md against docs/coverage/
#   release  build with g++ and run the C++ tests
#   standin  op cases through the CUDA backend on the tests' stand-in for a GPU; a sample, with TENON_TEST_ALL=1 all
#   kernels  kernels' texts of that step and of the model's plans, compiled by the real NVRTC
#   qwen2    small random models against the NumPy oracle, on host and cpu
#   exact    SmolLM2 against its exact answers, on host and cpu
#   cli      the command line: options, JSON, pipes, Ctrl-C, bad input
#   readme   the README's example and commands
#   install  an outside project against the installed library
#   wasm     compile everything up to llm for WebAssembly
#   asan     build with clang 19, warnings as errors; the C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   tsan     the C++ tests under ThreadSanitizer (with TENON_TEST_ALL=1, or by name)
#   mutation breaking single lines makes tests fail (with TENON_TEST_ALL=1, or by name)
#
# TENON_TEST_ALL=1 adds the long checks. Every step runs even when an earlier one failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

python=build/venv/bin/python
model=models/SmolLM2-135M-Instruct.Q4_1.gguf
tenon=build/release/tenon
jobs=${JOBS:-2}
all=${TENON_TEST_ALL:-}
# NumPy must not compete with the program under test.
export OPENBLAS_NUM_THREADS=2

build() { tools/build.sh "$1" "$jobs"; }

# shards PRESET PROGRAM: the GoogleTest program of build/PRESET/tests.
shards() { JOBS=$jobs tools/run_shards.sh "build/logs/$1_$(basename "$2")" "build/$1/tests/$2"; }
# What ctest runs beside those.
programs='^(example_|tensor_cores|shipped_kernels)'

step_layers() { python3 tools/check_layers; }

step_tools() { "$python" -m unittest discover -s tests/tools && python3 tools/gen_ops_md.py --check; }

# Some tests use the real model; they skip themselves where it is not.
step_release() {
  tools/fetch_model.sh && build release && shards release tenon_tests && shards release standin/cuda/cuda_tests &&
    ctest --preset release -R "$programs"
}

step_standin() { JOBS=$jobs tools/run_standin.sh; }

# Tuned kernels are not among the stand-in's: they come from plans for the device that null:cuda stands for.
step_kernels() {
  local standin=build/kernel_texts/standin tuned=build/kernel_texts/tuned tokens
  tools/fetch_model.sh || return
  rm -rf "$tuned" && mkdir -p "$tuned"
  TENON_KERNEL_TEXTS=$tuned build/release/tests/tenon_tests --gtest_brief=1 \
    --gtest_filter='*PlanWithinLimits/matmul*:*PlanWithinLimits/linear*:*PlanWithinLimits/attention*' || return
  for tokens in 1 16 256; do
    TENON_KERNEL_TEXTS=$tuned "$tenon" plan "$model" --tokens "$tokens" --device null:cuda >/dev/null || return
  done
  tools/check_kernels --jobs "$jobs" --sample 30 --arch sm_80,sm_90a "$standin" || return
  tools/check_kernels --jobs "$jobs" --arch sm_80,sm_90a "$tuned" || return
  [ -n "$all" ] || return 0
  tools/check_kernels --jobs "$jobs" --sample 4 --arch sm_75,sm_100 "$standin" &&
    tools/check_kernels --jobs "$jobs" --arch sm_100 "$tuned"
}

step_qwen2() {
  "$python" tools/check_qwen2.py --tenon "$tenon" --device host --rtol 1e-4 &&
    "$python" tools/check_qwen2.py --tenon "$tenon" --device cpu --rtol 0 --atol 0.05
}

step_exact() {
  local part=(--prompts 3 --positions 16)
  [ -z "$all" ] || part=()
  tools/fetch_model.sh || return
  "$python" tools/check_exact.py "$model" --tenon "$tenon" --device cpu --atol 0.05 || return
  "$python" tools/check_exact.py "$model" --tenon "$tenon" --device host --mode forced --rtol 1e-4 --atol 0 "${part[@]}"
}

step_cli() { TENON_BIN=$PWD/$tenon python3 tests/apps/test_cli.py; }

step_readme() { tools/fetch_model.sh && python3 tools/check_readme.py; }

step_install() { tools/fetch_model.sh && tools/check_install.sh; }

step_wasm() { build wasm; }

# By default a sample of the variants of each case: their values are looked at in `release`.
step_asan() {
  tools/fetch_model.sh && build asan || return
  if [ -n "$all" ]; then export TENON_TEST_LIMIT=3600; else export TENON_TEST_SAMPLE=${TENON_TEST_SAMPLE:-7}; fi
  shards asan tenon_tests && shards asan standin/cuda/cuda_tests && ctest --preset asan -R "$programs"
}

step_tsan() { build tsan && TENON_TEST_LIMIT=3600 shards tsan tenon_tests && ctest --preset tsan -R "$programs"; }

step_mutation() { python3 tools/mutation_check.py --jobs "$jobs"; }

steps=("$@")
if [ $# = 0 ]; then
  steps=(layers tools wasm asan)
  [ -z "$all" ] || steps+=(tsan mutation)
  # Last, so that what failed to agree stands near the end.
  steps+=(release standin kernels cli readme install qwen2 exact)
fi

logs=build/logs
mkdir -p "$logs"
failed=()
for step in "${steps[@]}"; do
  if [ "$(type -t "step_$step")" != function ]; then
    echo "run_tests: there is no step '$step'; see the head of tools/run_tests.sh" >&2
    exit 2
  fi
  echo "== $step"
  start=$SECONDS
  if "step_$step" 2>&1 | tee "$logs/$step.log"; then result=passed; else result=FAILED failed+=("$step"); fi
  echo "== $step $result in $((SECONDS - start)) s"
done

if [ ${#failed[@]} -gt 0 ]; then
  # Said again at the end, where whoever reads only that finds it.
  for step in "${failed[@]}"; do
    echo "== what failed in $step (all of it: $logs/$step.log)"
    grep -nE "Failure|\*\*\*|FAILED|ERROR|[Ee]rror:" "$logs/$step.log" | tail -n 30
    tail -n 15 "$logs/$step.log"
  done
  echo "run_tests: failed: ${failed[*]}"
  exit 1
fi
echo "run_tests: all of ${steps[*]} passed"
