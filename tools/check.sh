#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh: builds the release and the sanitizer flavour, runs every test of both, then the tests of threads under
# ThreadSanitizer, and closes with one line, "N passed, M failed", summed over all. A test that cannot be checked here
# (exit status 77) is neither.
# Usage: tools/check.sh [jobs]. Exit status 0 only when nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
jobs=${1:-2}
passed=0 failed=0 skipped=0

for flavour in release asan tsan; do
    echo "== $flavour"
    target=all label=.
    [ $flavour != tsan ] || target=threaded label=threaded
    # -k: what does not build takes only its own tests down, and they count as failed.
    if ! cmake --preset $flavour >/dev/null || ! cmake --build build/$flavour -j"$jobs" --target $target -- -k --no-print-directory |
            grep -v -e 'Built target' -e 'Building ' -e 'Linking ' -e 'Consolidate '; test "${PIPESTATUS[0]}" -ne 0; then
        echo "check.sh: $flavour does not build completely"
        failed=$((failed + 1))
    fi
    log=build/$flavour/ctest.log
    ctest --test-dir build/$flavour -L $label -j2 --timeout 600 --output-on-failure --no-tests=error </dev/null | tee "$log"
    outcome=${PIPESTATUS[0]}
    results=$(grep -E '^ *[0-9]+/[0-9]+ Test +#[0-9]+: ' "$log")
    good=$(grep -cE ' Passed +[0-9.]+ sec' <<<"$results")
    out=$(grep -cF '***Skipped' <<<"$results")
    bad=$(($(grep -c . <<<"$results") - good - out))
    [ "$outcome" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + out))
done

[ "$skipped" -eq 0 ] || echo "$skipped skipped: see above"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
