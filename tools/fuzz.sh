#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh: builds the readers and the fuzz targets with clang and libFuzzer and runs each target for the given
# number of seconds, at low priority. Seeds come from fuzz/corpus/X; new inputs and crashes stay under
# build/fuzz. A target that fails ends early, the others still run; the table at the end says how long each
# really ran. Usage: tools/fuzz.sh [seconds] [target...]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
cmake --preset fuzz >/dev/null
cmake --build build/fuzz -j2
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(basename -a build/fuzz/fuzz/fuzz_* | sed "s/^fuzz_//")

table=
failed=0
for thing in "${targets[@]}"; do
    found=build/fuzz/corpus/$thing
    log=build/fuzz/$thing.log
    mkdir -p "$found"
    seeds=()
    [ ! -d "fuzz/corpus/$thing" ] || seeds=("fuzz/corpus/$thing")
    echo "== $thing"
    outcome=good
    start=$SECONDS
    nice -n 19 "build/fuzz/fuzz/fuzz_$thing" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/$thing-" "$found" "${seeds[@]}" 2>&1 | tee "$log" | grep -vE '^#[0-9]+' || outcome=FAILED
    [ $outcome = good ] || failed=1
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    table+=$(printf '%-16s %5d s %10s inputs  %s' "$thing" $((SECONDS - start)) "${runs:-?}" $outcome)$'\n'
done
echo "$table"
exit $failed
