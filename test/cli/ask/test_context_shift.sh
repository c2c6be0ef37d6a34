#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_context_shift.sh: run --context-shift: where the context ends, the answer goes on as one to a prompt
# that never had what was dropped, and a note says what that cost.
. "$CARAT_SOURCE/test/cli/common.bash"

list() { sed -n "s/.*\"$1\":\[\([0-9,]*\)\].*/\1/p" out | tr ',' '\n'; }
text() { sed -n 's/.*"text":"\(.*\)","stop":.*/\1/p' out | tr -d '\n'; }
joined() { tr '\n' ',' <"$1" | sed 's/,$//'; }

# how many of now do not begin held; the last one is evaluated for its logits
new_tokens() {
    paste now held | awk -v last=$((40 - dropped)) '$1 != $2 || NR == last { exit } { n++ } END { print last - n }'
}

# answer KEEP KEPT OPTIONS...: the answer in a context of 40 positions, and each part of it again from a
# prompt that is what stays: KEPT tokens, and of the others the later half
answer() {
    local keep=$1 kept=$2 n dropped evaluated=0 shifts=0
    shift 2
    expect 0 run tiny --raw "Once upon a time there was a fox" -c 40 --context-shift --keep $keep -n 100 --ignore-eos \
        --seed 3 --json "$@"
    cp err note
    text >whole
    : >parts
    list prompt_ids >now
    list ids >rest
    [ "$(wc -l <rest)" = 100 ] || die "not 100 ids"
    while [ -s rest ]; do
        n=$((40 - $(wc -l <now)))
        [ $n -le "$(wc -l <rest)" ] || n=$(wc -l <rest)
        expect 0 run tiny --ids "$(joined now)" -c 40 -n $n --ignore-eos --seed 3 --json "$@"
        list ids >found
        text >>parts
        head -n $n rest >wanted
        same wanted found
        sed -i "1,${n}d" rest
        [ -s rest ] || break
        cat found >>now
        dropped=$(((40 - kept) / 2))
        head -n 39 now >held # the last one is not
        sed -i "$((kept + 1)),$((kept + dropped))d" now
        evaluated=$((evaluated + $(new_tokens))) shifts=$((shifts + 1))
    done
    same whole parts
    [ $shifts -ge 2 ] || die "$shifts shifts"
    cp note err
    err_has "^note: the context of 40 positions was full $shifts times, and $evaluated tokens were evaluated anew to go on\$"
    [ "$(wc -l <err)" = 1 ] || die 'not one note'
}
expect 0 run tiny --raw "Once upon a time there was a fox" -n 0 --json
prompt=$(list prompt_ids | wc -l)
answer 0 1 # <bos> stays
answer 0 1 --temp 1
answer 3 4 --temp 1 --chunk 3 -t 1 --kv q8
answer -1 "$prompt" --temp 1
answer 39 "$prompt" --naive # no more than the prompt

# a character that the end of the context falls into is whole: without what was told of it before, it would
# lack bytes
expect 0 run tiny --raw "Once" -c 8 --context-shift -n 200 --ignore-eos --seed 5 --temp 3 --top-k 0 --top-p 1
out_has $'\xc6\x83'
# a prompt that fills the context, and keeps all of it but the last two
expect 0 run tiny --ids 2,5,9,7 -c 4 --context-shift --keep -1 -n 9 --ignore-eos --json
[ "$(list ids | wc -l)" = 9 ] || die 'not 9 ids'
# without it the answer ends
expect 0 run tiny --raw "Once upon a time" -c 20 --ignore-eos --json
out_has '"stop":"length"'
err_has '^note: the context of 20 positions is full$'
expect 0 run tiny --raw "Once upon a time" -c 20 --ignore-eos --keep 4 --json -n 2
err_has '^note: --keep changes nothing without --context-shift$'
for keep in 20 21 99999; do
    refuse 2 run tiny --raw "Once upon a time" -c 20 --context-shift --keep $keep
    err_has "option --keep: $keep tokens are not less than the 20 positions"
done
refuse 2 run tiny hi --context-shift --keep -2
refuse 2 logits tiny --ids 2 --context-shift
