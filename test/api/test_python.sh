#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_python.sh: examples/generate.py, as it stands, drives the shared library by ctypes: the answer of the
# command, and one sentence where there is no model. Not checked where there is no python3, or where the
# library needs a sanitizer's own.
set -euo pipefail

source=${CARAT_SOURCE:?} build=${CARAT_BUILD:?}
python3 -c 'import ctypes' 2>/dev/null || { echo "there is no python3 with ctypes"; exit 77; }
[ -z "${CARAT_CFLAGS:-}" ] || { echo "python3 does not load a library with sanitizers"; exit 77; }
[ -e "$build/libcarat.so.0" ] || { echo "the shared library is not built"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export LD_LIBRARY_PATH=$build PYTHONDONTWRITEBYTECODE=1

[ "$(grep -c . "$source/examples/generate.py")" -le 34 ] || { echo "the example is not short any more" >&2; exit 1; }
python3 "$source/examples/generate.py" "$source/models/tiny" "Turn on the kitchen lights" >"$dir/out"
"${CARAT:?}" run "$source/models/tiny" --no-cache "Turn on the kitchen lights" </dev/null >"$dir/wanted" 2>/dev/null
cat "$dir/out"
# what the command ends its text with is its own affair
[ "$(cat "$dir/out")" = "$(cat "$dir/wanted")" ] && [ -s "$dir/out" ] || { echo "expected: $(cat "$dir/wanted")" >&2; exit 1; }
if python3 "$source/examples/generate.py" "$dir/absent" hello >"$dir/out" 2>"$dir/err"; then
    echo "the example succeeded without a model" >&2
    exit 1
fi
[ "$(wc -l <"$dir/err")" -eq 1 ] && grep -q absent "$dir/err" || { echo "no message naming the path: $(cat "$dir/err")" >&2; exit 1; }

# what is missing is said in a line, by each example
for example in generate search; do
    if python3 "$source/examples/$example.py" one >"$dir/out" 2>"$dir/err"; then
        echo "$example.py succeeded without its arguments" >&2
        exit 1
    fi
    [ "$(wc -l <"$dir/err")" -eq 1 ] && grep -q '^usage: ' "$dir/err" || { echo "$example.py: no usage: $(cat "$dir/err")" >&2; exit 1; }
done
