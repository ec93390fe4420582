#!/usr/bin/env bash
# Runs the op cases through the CUDA backend without a GPU, on the stand-in (tests/standin/cuda), in $JOBS processes (2):
#
#   tools/run_standin.sh [FILTER]
#
# Then their coverage, a short soak of a model, and the small version of the tests of large sizes.
# TENON_TEST_SAMPLE=n takes one variant in n of each case (default 16; with TENON_TEST_ALL=1 all of them). Kernels' texts go
# to build/kernel_texts/standin, for tools/check_kernels.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

build=build/release
library=$PWD/$build/tests/standin/cuda
filter=${1:-Table/OpCases.MatchTheReference*}
texts=build/kernel_texts/standin
logs=build/logs/standin
rm -rf "$texts" "$logs" && mkdir -p "$texts" "$logs"

export TENON_TEST_DEVICE=cuda TENON_KERNEL_CACHE=off TENON_TEST_PLAN_FIRST=1
export TENON_CUDA_LIBRARY=$library/libstandin_cuda.so TENON_NVRTC_LIBRARY=$library/libstandin_nvrtc.so
export TENON_STANDIN_KEEP=$PWD/$texts
if [ -z "${TENON_TEST_SAMPLE:-}" ]; then
  if [ -n "${TENON_TEST_ALL:-}" ]; then TENON_TEST_SAMPLE=1; else TENON_TEST_SAMPLE=16; fi
fi
export TENON_TEST_SAMPLE

run() {  # LOG FILTER [VARIABLE=VALUE...]
  env "${@:3}" "$build/tests/tenon_tests" --gtest_filter="$2" >"$logs/$1.log" 2>&1
}

failed=0
# One shard a job: each plans all of its cases first, and the more it has the fuller are its files of kernels.
TENON_TEST_SHARDS=${JOBS:-2} TENON_TEST_LIMIT=7200 tools/run_shards.sh "$logs/cases" "$build/tests/tenon_tests" "$filter" || failed=1
# Its kernels are among those that were compiled by then.
run coverage 'OpTable.CommittedCoverageIsWhatRuns' || failed=1
run more 'Soak.*:BigMemory.*' TENON_TEST_SOAK=${TENON_TEST_SOAK:-25} || failed=1
for log in "$logs"/cases/*.log "$logs"/*.log; do
  [ "$failed" = 0 ] || grep -A 6 "Failure$" "$log" | head -n 60
  grep -E "SAMPLE|FAILED|PASSED" "$log" | tail -n 20
done
echo "run_standin: one variant in $TENON_TEST_SAMPLE, $(find "$texts" -name '*.cu' | wc -l) kernel texts"
exit $failed
