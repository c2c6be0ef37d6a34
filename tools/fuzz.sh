#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh: builds the fuzz targets with clang and libFuzzer and runs each for the given number of seconds.
# Seeds come from fuzz/corpus/X; new inputs and crashes stay under build/fuzz. Usage: tools/fuzz.sh [seconds]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
cmake --preset fuzz >/dev/null
cmake --build build/fuzz -j2
for program in build/fuzz/fuzz/fuzz_*; do
    thing=${program##*/fuzz_}
    found=build/fuzz/corpus/$thing
    mkdir -p "$found"
    seeds=()
    [ ! -d "fuzz/corpus/$thing" ] || seeds=("fuzz/corpus/$thing")
    echo "== $thing"
    "$program" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/$thing-" "$found" "${seeds[@]}"
done
