#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_bench_timeline.sh: `carat bench timeline`: its table and its object, what it evaluates, which options
# it takes, and that nothing is left of its file. No time is judged.
. "$CARAT_SOURCE/test/cli/common.bash"

mkdir files
export TMPDIR=$work/files
# more than a window and a block lie behind the prompt's end, which is no end of a block
expect 0 bench timeline tiny -d 1000 -r 2
out_has '^tiny: a prompt of 1000 tokens, an answer of 320, a turn of 64; 2 runs$'
for row in 'sync, nothing is new' 'back to the last turn' 'take a snapshot' save load; do out_has "^| $row "; done
out_has '^| sync, nothing is new  *|  *0 |'
out_has '^| the last answer again, first token |  *1 | .* [0-9.]* |$'
out_has '^| the next turn, first token  *|  *64 | .* [0-9.]* |$'
[ "$(grep -c '^| a fresh prompt as long ' out)" = 2 ] || die 'not two fresh prompts'
# K and V: 2 heads of 64, 1000 positions of a global layer and 63 of 5 local ones; logits, ids, 64 KiB at most
bytes=$(sed -n 's/^the file: \([0-9]*\) bytes .* of them 4096 of logits$/\1/p' out)
[ "$bytes" -le $((2 * 2 * 64 * 2 * (1000 + 5 * 63) + 4096 + 65536)) ] || die "a file of $bytes bytes"
expect 0 bench -m tiny timeline -d 1000 -r 1 -t 1 -ub 16 --kv q8 -o json
for t in '"n_prompt":1000,' '"repetitions":1,' '"kv":"q8"' '"n_threads":1,' '"sync_unchanged":{"median_ms":[0-9]' \
    '"regenerate_first_token":{[^}]*"evaluated":1,' '"next_turn_first_token":{[^}]*"evaluated":64,"of_fresh":[0-9]' \
    '"save":{[^}]*"samples_ms":\[[0-9.e-]*\]'; do out_has "$t"; done
expect 0 bench timeline tiny -d 100 -r 1 --json --max-layers 2
[ "$(ls "$TMPDIR")" = '' ] || die 'a file is left'

# a model of that name
cp -r "$tiny" timeline
expect 0 bench ./timeline -p 8 -n 0 -r 1
out_has ' pp8 '
expect 0 bench timeline timeline -d 100 -r 1
out_has '^timeline: a prompt of 100 tokens'
refuse 2 bench timeline
refuse 2 bench tiny timeline
refuse 2 bench timeline tiny more

for options in '-p 8' '-n 8' '-pg 8,8' '-npl 2' '-fa 1' '--prompt x' '--max-tokens 3' '--bench-iters 3' '--bench-warmup 1' \
    '--bench-json x' '--plot x' '--profile' '--memory 1G' '-d 100,200' '-d 63' '-d x' '-d 99999999' '-t 1,2' '-ub 8,16' '-o csv' \
    '--json -o md'; do
    # shellcheck disable=SC2086  # words of a command line
    refuse 2 bench timeline tiny $options
    err_has 'bench timeline: '
done
refuse 1 bench timeline tiny -d 2000 # and an answer are more than the model has positions
err_has 'E_CONTEXT: .* -d N makes the prompt shorter'
TMPDIR=$work/none refuse 1 bench timeline tiny -d 100
err_has "no file can be made in $work/none"
