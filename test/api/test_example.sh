#!/usr/bin/env bash
# test_example.sh: the program in carat.h's first comment compiles as C99 against the static library, warning-free, and
# answers with models/tiny. Whether the answer is right is left to test_tiny.c.
# Needs CARAT_SOURCE, CARAT_BUILD and CC from CMake; CARAT_CFLAGS holds the sanitizers of the build.
set -euo pipefail

source=${CARAT_SOURCE:?} build=${CARAT_BUILD:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

awk '/example-end/ {exit} on {sub(/^ \* ?/, ""); print} /^ \* example-begin/ {on = 1}' "$source/include/carat.h" >"$dir/example.c"
grep -q 'int main' "$dir/example.c" || { echo "no example in include/carat.h" >&2; exit 1; }

# shellcheck disable=SC2086  # CARAT_CFLAGS is a list
"${CC:-cc}" -std=c99 -pedantic -Wall -Wextra -Werror ${CARAT_CFLAGS:-} -I"$source/include" -o "$dir/example" "$dir/example.c" \
    "$build/libcarat.a" -ljansson -pthread -lm

"$dir/example" "$source/models/tiny" "hello" >"$dir/out"
cat "$dir/out"
[ "$(wc -c <"$dir/out")" -gt 1 ] || { echo "the example printed nothing" >&2; exit 1; }

# Failures are one sentence on stderr and a status, not a crash.
if "$dir/example" "$dir/absent" "hello" >"$dir/out" 2>"$dir/err"; then
    echo "the example succeeded without a model" >&2
    exit 1
fi
[ "$(wc -l <"$dir/err")" -eq 1 ] && grep -q absent "$dir/err" || { echo "no message naming the path" >&2; exit 1; }
