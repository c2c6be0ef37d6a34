#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh: the two speeds of the check. `quick`: clang looks at every file, a warning being an error; the
# release flavour is built and runs its tests, house checks among them. `deep` runs what takes long: the
# release tests that are labelled so, and the tests of the sanitizer flavours. CMakeLists.txt says which tests
# are deep. With a WHAT only those tests of the release flavour whose names match it are run, deep or not.
#
# It says how long each part took, with the processor time of all its programs, which tests were slowest and
# what was skipped, and closes with one line, "N passed, M failed", summed over all. A test that cannot be
# checked here (exit status 77) is neither; one that passed with some of its cases skipped counts as passed,
# and the cases are named. On two quiet cores `quick` shall need 6 minutes and `deep` 18; the log says whether
# they sufficed, and nothing fails because of it.
# Usage: tools/check.sh quick|deep [JOBS [WHAT]]. Exit status 0 only when nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
speed=$1 jobs=${2:-2} what=${3:-}
passed=0 failed=0
skips='' times='' slowest=''

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
    times+=$(printf '%-20s %5d s, processors %5d s' "$name" $((SECONDS - start)) $(($(processor) - before)))$'\n'
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

run() { # flavour, ctest's words for which tests...
    local flavour=$1 log=build/$1/ctest.log outcome results good out bad
    shift
    ctest --test-dir "build/$flavour" "$@" -j"$jobs" --timeout 600 --output-on-failure --no-tests=error </dev/null |
        tee "$log"
    outcome=${PIPESTATUS[0]}
    results=$(grep -E '^ *[0-9]+/[0-9]+ Test +#[0-9]+: ' "$log")
    good=$(grep -cE ' Passed +[0-9.]+ sec' <<<"$results")
    out=$(grep -cF '***Skipped' <<<"$results")
    bad=$(($(grep -c . <<<"$results") - good - out))
    [ "$outcome" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + good)) failed=$((failed + bad))
    skips+=$(skipped "$flavour")
    slowest+=$(sed -nE "s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec.*/\2 s $flavour \1/p" <<<"$results")$'\n'
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

minutes=6
if [ -n "$what" ]; then
    part "release, build" build release all
    part "release, tests" run release -R "$what"
elif [ "$speed" = quick ]; then
    part "clang, warnings" look_by_clang
    part "release, build" build release all
    part "release, tests" run release -LE deep
else
    minutes=18
    part "release, build" build release all
    part "release, deep tests" run release -L deep
    part "asan, build" build asan all
    part "asan, tests" run asan
    part "tsan, build" build tsan threaded
    part "tsan, tests" run tsan -L threaded
fi

printf '%s' "$times"
echo 'the ten slowest tests:'
sort -rn <<<"$slowest" | grep . | head -n 10
[ -z "$skips" ] || printf 'skipped:\n%s\n' "$skips"
within="within $minutes minutes"
[ $SECONDS -le $((minutes * 60)) ] || within="not $within"
echo "all of it took $((SECONDS / 60)) min $((SECONDS % 60)) s, $within; processors $(processor) s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
