#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh: compiles everything with clang, where a warning is an error; builds the release and the sanitizer
# flavour and runs every test of both; then the tests of threads under ThreadSanitizer. It says how long each
# part took, with the processor time of all its programs, and what was skipped, and closes with one line, "N
# passed, M failed", summed over all. A test that cannot be checked here (exit status 77) is neither; one that
# passed with some of its cases skipped counts as passed, and the cases are named. Two quiet cores shall need
# 12 minutes; the log says whether they sufficed, and nothing fails because of it.
# Usage: tools/check.sh [jobs]. Exit status 0 only when nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
jobs=${1:-2}
passed=0 failed=0
skips='' times=''

# processor: seconds of processor time that the programs which ran here have taken so far.
processor() { awk -v hz="$(getconf CLK_TCK)" '{ printf "%d", ($16 + $17) / hz }' "/proc/$$/stat"; }

# part NAME COMMAND...: runs the command and notes how long it took.
part() {
    local name=$1 start=$SECONDS before status=0
    before=$(processor)
    shift
    "$@" || status=$?
    times+=$(printf '%-14s %5d s, processors %5d s' "$name" $((SECONDS - start)) $(($(processor) - before)))$'\n'
    return $status
}

# -k: what does not build takes only its own tests down, and they count as failed.
build() { # flavour, target
    cmake --preset "$1" >/dev/null &&
        cmake --build "build/$1" -j"$jobs" --target "$2" -- -k --no-print-directory |
        grep -v -e 'Built target' -e 'Building ' -e 'Linking ' -e 'Consolidate '
    [ "${PIPESTATUS[0]}" -eq 0 ] && return
    echo "check.sh: $1 does not build completely"
    failed=$((failed + 1))
}

# The objects alone: nothing that clang makes is run, so nothing is linked.
compile_by_clang() {
    cmake --preset clang >/dev/null && grep -q '"command"' build/clang/compile_commands.json &&
        sed -nE 's/^ *"command": "(.*)",$/\1/p' build/clang/compile_commands.json | sed -E 's/\\(.)/\1/g' |
        (cd build/clang && xargs -d '\n' -n 1 -P "$jobs" sh -c) && return
    echo "check.sh: clang does not compile everything"
    failed=$((failed + 1))
}

run() { # flavour, label
    local log=build/$1/ctest.log outcome results good out bad
    ctest --test-dir "build/$1" -L "$2" -j"$jobs" --timeout 600 --output-on-failure --no-tests=error </dev/null | tee "$log"
    outcome=${PIPESTATUS[0]}
    results=$(grep -E '^ *[0-9]+/[0-9]+ Test +#[0-9]+: ' "$log")
    good=$(grep -cE ' Passed +[0-9.]+ sec' <<<"$results")
    out=$(grep -cF '***Skipped' <<<"$results")
    bad=$(($(grep -c . <<<"$results") - good - out))
    [ "$outcome" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + good)) failed=$((failed + bad))
    skips+=$(skipped "$1")
}

# skipped FLAVOUR: a line for each test that was skipped, and for each that passed without some of its cases.
skipped() {
    sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) \.*\*\*\*Skipped.*/'"$1"' \1: all of it/p' "build/$1/ctest.log"
    awk -v flavour="$1" '
        /^[0-9]+\/[0-9]+ Testing: / { test = $3 }
        /^\[  PASSED  \] 0 test/ { test = "" }
        /^\[  SKIPPED \] [0-9]+ test/ && test != "" { print flavour, test ": " $4 " of its cases" }
    ' "build/$1/Testing/Temporary/LastTest.log"
}

echo "== clang"
part "clang, build" compile_by_clang
for flavour in release asan tsan; do
    echo "== $flavour"
    target=all label=.
    [ $flavour != tsan ] || target=threaded label=threaded
    part "$flavour, build" build $flavour $target
    part "$flavour, tests" run $flavour $label
done

printf '%s' "$times"
[ -z "$skips" ] || printf 'skipped:\n%s\n' "$skips"
within='within 12 minutes'
[ $SECONDS -le 720 ] || within='not within 12 minutes'
echo "all of it took $((SECONDS / 60)) min $((SECONDS % 60)) s, $within; processors $(processor) s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
