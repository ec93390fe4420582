#!/usr/bin/env bash
# Runs a GoogleTest program in shards, $JOBS (2) at a time, and says what failed:
#
#   tools/run_shards.sh LOGS PROGRAM [FILTER]
#
# One process runs many tests: starting one for each costs more than most tests do. A shard that takes over TENON_TEST_LIMIT
# seconds (600) is stopped and counts as failed. TENON_TEST_SHARDS sets their number (5 for each job). Logs go to the folder LOGS.
set -uo pipefail

logs=${1:?usage: tools/run_shards.sh LOGS PROGRAM [FILTER]}
program=${2:?usage: tools/run_shards.sh LOGS PROGRAM [FILTER]}
filter=${3:-*}
jobs=${JOBS:-2}
shards=${TENON_TEST_SHARDS:-$((jobs * 5))}
rm -rf "$logs" && mkdir -p "$logs"

shard() {  # INDEX
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$1 timeout "${TENON_TEST_LIMIT:-600}" \
    "$program" --gtest_filter="$filter" >"$logs/$1.log" 2>&1
  local status=$?
  [ $status = 0 ] || echo "shard $1 of $(basename "$program") FAILED, exit status $status (124: out of time)" >>"$logs/$1.log"
  return $status
}

failed=0 running=0
for ((i = 0; i < shards; ++i)); do
  if ((running == jobs)); then
    wait -n || failed=1
    running=$((running - 1))
  fi
  shard "$i" &
  running=$((running + 1))
done
while ((running-- > 0)); do wait -n || failed=1; done

count() { grep -h "^\[  PASSED  \]" "$logs"/*.log | awk '{n += $4} END {print n + 0}'; }
if [ $failed = 1 ]; then
  for log in "$logs"/*.log; do
    grep -q "FAILED" "$log" || continue
    # The last lines tell of a shard that ended early.
    grep -A 8 -E "Failure$|runtime error|ERROR: AddressSanitizer|WARNING: ThreadSanitizer" "$log" | head -n 80
    grep "^\[  FAILED  \].*\(ms\)" "$log"
    tail -n 15 "$log"
  done
fi
echo "run_shards: $(basename "$program"): $(count) tests passed$([ $failed = 0 ] || echo ', some FAILED')"
exit $failed
