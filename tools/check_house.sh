#!/usr/bin/env bash
# check_house.sh: the house rules that a command can see; prints each breach and fails when there is one.
set -uo pipefail
cd "${1:-${CARAT_SOURCE:-$(dirname "$0")/..}}" || exit 2

breaches=$(
    find src cli include test fuzz \( -name '*.[chS]' -o -name '*.sh' \) -exec wc -l {} + 2>/dev/null |
        awk '$2 != "total" && $1 > 700 {print $2 " has " $1 " lines: split it or simplify it"}'
    grep -nE '^[[:space:]]*#[[:space:]]*if' src/model/forward.c /dev/null 2>/dev/null |
        sed 's/$/: no preprocessor condition in the forward pass/'
    grep -rnE --include='*.[chS]' --include='*.sh' --include='*.py' "\\b(TO""DO|FIX""ME)\\b" \
        src cli include test fuzz tools bench 2>/dev/null | sed 's/^/left over: /'
    grep -nE -e '-march=native|-ffast-math|-Ofast' CMakeLists.txt CMakePresets.json Makefile 2>/dev/null |
        sed 's/^/forbidden flag: /'
    grep -rnE --include='*.[ch]' '\b(exit|abort|printf|puts|getenv)\(' src |
        sed 's/^/the library never prints, exits or reads the environment: /'
)
[ -z "$breaches" ] && exit 0
echo "$breaches"
exit 1
