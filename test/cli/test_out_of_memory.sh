#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_out_of_memory.sh: with less and less address space a command gives what it gives with plenty, or code 5
# and one sentence; never nothing with code 0, another error, or a crash.
. "$CARAT_SOURCE/test/cli/common.bash"

# The least that the loader and the first page of output need; sanitizers need terabytes, which no sweep
# finds.
least=
for limit in $(seq 8000 1000 40000); do
    if (ulimit -v "$limit" && "$CARAT" version) >/dev/null 2>&1; then
        least=$limit
        break
    fi
done
[ -n "$least" ] || exit 77

# sweep STEP INPUT ARGUMENTS...: from the least up in steps until it works.
low=0 # limits that were too low, of all sweeps
sweep() {
    local step=$1 input=$2 limit=$least code=5
    shift 2
    "$CARAT" "$@" <"$input" >wanted 2>err || die "$*: does not work at all"
    while [ $code = 5 ]; do
        code=0
        (ulimit -v "$limit" && exec "$CARAT" "$@") <"$input" >out 2>err || code=$?
        case $code in
        0) cmp -s wanted out || die "$* with $limit KiB: code 0 with another output: '$(head -c 100 out)'" ;;
        5)
            low=$((low + 1))
            [ "$(grep -c '^error: E_MEMORY: ' err)" = 1 ] || die "$* with $limit KiB: no sentence"
            ;;
        *) die "$* with $limit KiB: code $code" ;;
        esac
        limit=$((limit + step))
        [ "$limit" -lt 4000000 ] || die "$*: works with no limit that was tried"
    done
}

head -c 1000000 /dev/zero | tr '\0' 'a' >long
{ printf '{"text": "' && cat long && printf '"}\n'; } >lines
{ printf '[{"role": "user", "content": "' && cat long && printf '"}]\n'; } >messages
greedy=(--temp 0 --no-cache --no-perf -t 2)

sweep 1000 long tokenize tiny
sweep 1000 long tokenize tiny --json
sweep 1000 /dev/null tokenize tiny --jsonl lines
sweep 1000 /dev/null render tiny --messages messages --ids
sweep 500 /dev/null show tiny --json
sweep 500 /dev/null show tiny --tensors
sweep 500 /dev/null run tiny -p hello -n 4 "${greedy[@]}"
sweep 500 /dev/null run tiny --ids 2,5,9 -n 4 "${greedy[@]}" -t 3
sweep 500 /dev/null logits tiny --ids 2,5,9 --json --all --no-cache
[ $low -ge 20 ] || die "only $low limits were too low"
