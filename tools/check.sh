#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh: the three tiers of the check. `quick`, which is `make check`: the release flavour is built and
# runs its tests on samples, house checks among them. `more` is what .ci/run adds: long tests, clang's
# warnings, what is labelled `memory` under AddressSanitizer, what is labelled `threaded` under
# ThreadSanitizer, the real 270M model, and a sixth of the deep tests, another one after each commit, so
# that six commits in a row have all. `deep` is all of it, and prints the commit. test/tiers.txt says what
# is long and deep. With a WHAT only those tests of the release flavour whose names match it are run, deep
# or not.
#
# It says how long each part took, with the processor time of all its programs, which tests were slowest and
# what was skipped, and closes with one line, "N passed, M failed", summed over all. A test that cannot be
# checked here (exit status 77) is neither; one that passed with some of its cases skipped counts as passed,
# and the cases are named. A quick test that takes 5 s of processor time fails the check. On two quiet cores
# `quick` shall need 4 minutes and `more` 16; the log says whether they sufficed, and nothing fails because of
# that.
# Usage: tools/check.sh quick|more|deep [JOBS [WHAT]]. Exit status 0 only when nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
tier=$1 jobs=${2:-2} what=${3:-}
passed=0 failed=0
skips='' times='' slowest=''
limit=5 # seconds of processor time for a quick test
# Tests that may take more, at most five, each with its reason.
declare -A may_take=(
    [kernel/kcheck]='searches for five seconds by the clock, on all processors'
    [receipt/receipt]='makes a receipt with every model, whose hashes all lie on one chain'
    [engine/constraint_hashes]='has cases that use what those before them made'
    [engine/timeline_file]='writes and reads a file of each model of the sample'
    [engine/cuda]='runs kernels on fibres of one processor'
)

# What rotates in a sample, and which sixth of the deep tests it is. Without a history: the first.
CARAT_TURN=$(git rev-list --count HEAD 2>/dev/null) || CARAT_TURN=0
export CARAT_TURN
slices=6 slice=$((CARAT_TURN % 6))

# Objects that two flavours, or two clones, compile with equal flags are compiled once, where ccache is.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi

# processor: seconds of processor time that the programs which ran here have taken so far.
processor() { awk -v hz="$(getconf CLK_TCK)" '{ printf "%d", ($16 + $17) / hz }' "/proc/$$/stat"; }

# part NAME COMMAND...: runs the command and notes how long it took.
part() {
    local name=$1 start=$SECONDS before status=0
    before=$(processor)
    shift
    echo "== $name"
    "$@" || status=$?
    times+=$(printf '%-24s %5d s, processors %5d s' "$name" $((SECONDS - start)) $(($(processor) - before)))$'\n'
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

# Every file once, for its warnings: nothing that clang would make is run, so nothing is made.
look_by_clang() {
    cmake --preset clang >/dev/null && grep -q '"command"' build/clang/compile_commands.json &&
        sed -nE 's/^ *"command": "(.*\.c)",$/\1/p' build/clang/compile_commands.json | sed -E 's/\\(.)/\1/g' |
        sed -E 's/ -o [^ ]+ -c / -fsyntax-only /' |
        (cd build/clang && xargs -d '\n' -n 1 -P "$jobs" sh -c) && return
    echo "check.sh: clang does not accept everything"
    failed=$((failed + 1))
}

# CTest counts halves of processors, so that a test which sleeps holds up no other (cmake/tests.cmake).
run() { # flavour, ctest's words for which tests...
    local flavour=$1 log=build/$1/ctest.log outcome results good out bad
    shift
    ctest --test-dir "build/$flavour" "$@" -j$((2 * jobs)) --timeout 600 --output-on-failure --no-tests=error </dev/null |
        tee "$log"
    outcome=${PIPESTATUS[0]}
    results=$(grep -E '^ *[0-9]+/[0-9]+ Test +#[0-9]+: ' "$log")
    good=$(grep -cE ' Passed +[0-9.]+ sec' <<<"$results")
    out=$(grep -cF '***Skipped' <<<"$results")
    bad=$(($(grep -c . <<<"$results") - good - out))
    [ "$outcome" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + good)) failed=$((failed + bad))
    skips+=$(skipped "$flavour")$'\n'
    slowest+=$(processor_times "$flavour")$'\n'
}

# processor_times FLAVOUR: "seconds flavour test" of each test that ran last (test/timed.c).
processor_times() {
    awk -v flavour="$1" '
        /^[0-9]+\/[0-9]+ Testing: / { test = $3 }
        /^processor time: [0-9.]+ s$/ { print $3, flavour, test }
    ' "build/$1/Testing/Temporary/LastTest.log"
}

# Each quick test above the limit is named, and fails the check unless it may take more.
too_slow() {
    local seconds flavour test
    while read -r seconds flavour test; do
        [ -n "$test" ] && [ "${seconds%.*}" -ge "$limit" ] || continue
        if [ -n "${may_take[$test]:-}" ]; then
            echo "$test took $seconds s of processor time, and may: it ${may_take[$test]}"
        else
            echo "check.sh: $test took $seconds s of processor time, expected less than $limit: make it shorter, or give" \
                "it to another tier (test/tiers.txt)"
            failed=$((failed + 1))
        fi
    done <<<"$slowest"
}

# skipped FLAVOUR: a line for each test that was skipped, and for each that passed without some of its cases.
skipped() {
    sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) \.*\*\*\*\*Skipped.*/'"$1"' \1: all of it/p' "build/$1/ctest.log"
    awk -v flavour="$1" '
        /^[0-9]+\/[0-9]+ Testing: / { test = $3 }
        /^\[  PASSED  \] 0 test/ { test = "" }
        /^\[  SKIPPED \] [0-9]+ test/ && test != "" { print flavour, test ": " $4 " of its cases" }
    ' "build/$1/Testing/Temporary/LastTest.log"
}

# in_slice FLAVOUR CTEST'S WORDS...: those tests of this sixth, as a regular expression. tools/slices.txt puts
# the long ones where they balance; of the others the name decides.
in_slice() {
    local flavour=$1 name where
    shift
    ctest --test-dir "build/$flavour" -N "$@" | sed -nE 's/^ *Test +#[0-9]+: //p' | while read -r name; do
        where=$(awk -v f="$flavour" -v n="$name" '$2 == f && $3 == n { print $1 }' tools/slices.txt)
        [ -n "$where" ] || where=$(($(cksum <<<"$flavour $name" | cut -d' ' -f1) % slices))
        [ "$where" -ne "$slice" ] || echo "$name"
    done | sed 's/[].[*^$\/]/\\&/g' | paste -sd'|' | sed -n 's/..*/^(&)$/p'
}

# The sixth of what test/tiers.txt calls deep, and of what a sanitizer has not run above.
run_slice() { # flavour, ctest's words for all that is divided...
    local names
    names=$(in_slice "$@")
    [ -z "$names" ] || run "$1" -R "$names"
}

# The closing line of check_real.sh is added to ours, and what it skipped to what was.
real() { # what
    local log=build/real.log good bad status
    tools/check_real.sh "$1" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    read -r good _ bad _ < <(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
    [ "$status" -eq 0 ] || [ "${bad:-0}" -gt 0 ] || bad=1
    passed=$((passed + ${good:-0})) failed=$((failed + ${bad:-0}))
    skips+=$(sed -n "s/^skipped: /real $1: /p" "$log")$'\n'
}

minutes=4
if [ -n "$what" ]; then
    part "release, build" build release all
    part "release, tests" run release -R "$what"
elif [ "$tier" = quick ]; then
    part "release, build" build release all
    part "release, tests" run release -LE 'deep|long'
    too_slow
    sed -n 's/^warning: /check.sh: the house warns: /p' build/release/Testing/Temporary/LastTest.log
elif [ "$tier" = more ]; then
    minutes=16
    part "clang, warnings" look_by_clang
    part "release, build" build release all
    part "release, long" run release -L long -LE deep
    echo "slice $slice of $slices of the deep tests"
    part "release, slice" run_slice release -L deep
    part "asan, build" build asan all
    part "asan, memory" run asan -L memory -LE deep
    part "asan, slice" run_slice asan -E "$(ctest --test-dir build/asan -N -L memory -LE deep |
        sed -nE 's/^ *Test +#[0-9]+: //p' | paste -sd'|' | sed 's/.*/^(&)$/')"
    part "tsan, build" build tsan threaded
    part "tsan, tests" run tsan -L threaded -LE deep
    part "tsan, slice" run_slice tsan -L threaded -L deep
    [ ! -e tools/check_real.sh ] || part "real, 270M" real 270m
else
    minutes=
    echo "commit $(git rev-parse HEAD 2>/dev/null || echo unknown)"
    part "clang, warnings" look_by_clang
    part "release, build" build release all
    part "release, tests" run release
    part "asan, build" build asan all
    part "asan, tests" run asan
    part "tsan, build" build tsan threaded
    part "tsan, tests" run tsan -L threaded
    [ ! -e tools/check_real.sh ] || part "real models" real all
fi

printf '%s' "$times"
echo "the ten slowest tests, in seconds of processor time (a quick one may take $limit):"
sort -rn <<<"$slowest" | grep . | head -n 10
skips=$(grep . <<<"$skips") && printf 'skipped:\n%s\n' "$skips"
within=
[ -z "$minutes" ] || {
    within=", within $minutes minutes"
    [ $SECONDS -le $((minutes * 60)) ] || within=", not within $minutes minutes"
}
echo "all of it took $((SECONDS / 60)) min $((SECONDS % 60)) s$within; processors $(processor) s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
