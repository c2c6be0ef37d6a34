#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_decode.sh: `carat decode`: its lines and its JSON, that rounds and runs agree with each other and with
# `carat logits`, what other programs' words for the head mean, and what is refused. No time is judged.
. "$CARAT_SOURCE/test/cli/common.bash"

ids=2,105,621,107
# of lines of JSON: round, step, id, piece and top, without the time
told() { sed -n 's/,"ms":[0-9.e+-]*[,}].*//p' out; }

expect 0 decode tiny --ids $ids --steps 4 --rounds 2 --top 3 --jsonl
[ "$(wc -l <out)" = 11 ] || die 'not eight steps, two rounds and a result'
told >steps
out_has '^{"round":1,"step":1,"id":[0-9]*,"piece":".*","top":\[\[[0-9]*,[0-9.-]*\],\[[0-9]*,[0-9.-]*\],\[[0-9]*,[0-9.-]*\]\],"ms":'
for field in prefill_ms decode_ms_per_token decode_ms_p50 decode_ms_p90 hits misses evictions avg_eval_tiles rows_finished recall; do
    out_has "^{\"round\":2,.*\"$field\":"
    tail -n 1 out | grep -q "\"$field\":" || die "the result has no $field"
done
tail -n 1 out | grep -q '"setup_ms":[0-9.e-]*,"setup":{"open":[0-9.e-]*,"map":[0-9.e-]*,"pack":[0-9.e-]*,"engine":[0-9.e-]*,"tiles":[0-9.e-]*,"sketch":[0-9.e-]*}' ||
    die 'set-up'
# a round gives what the first one gave
sed -n '1,4s/"round":1//p' steps >first
sed -n '5,8s/"round":2//p' steps >second
same first second
# the best id is the one that is given, and logits are those of `carat logits`
best=$(sed -n '1s/.*"id":\([0-9]*\),.*"top":\[\[\([0-9]*\),\([0-9.-]*\)\].*/\1 \2 \3/p' steps)
read -r id top logit <<<"$best"
[ "$id" = "$top" ] || die "the id is $id, the best $top"
expect 0 logits tiny --ids $ids --top 1
[ "$(cut -f 1,2 out)" = "$id	$logit" ] || die "carat logits has $(cat out), not $id $logit"
# prompt logits, layers, threads and the cache change nothing, a prompt of one id has nothing before its step
expect 0 decode tiny --ids $ids --steps 4 --rounds 2 --top 3 --jsonl --prefill-logits -t 1 --no-cache --chunk 2
told >others
same steps others
expect 0 decode tiny --ids 2 --steps 1 --jsonl
expect 0 decode tiny --ids $ids --steps 4 --top 3 --jsonl --max-layers 2
told >others
differ first others

expect 0 decode tiny --ids $ids --steps 4 --rounds 2 --top 3 --json
out_has '^{"model_filename":"tiny",.*"lm_head":"dense","exact":true,.*"n_steps":4,"n_rounds":2,.*"setup_ms":.*"ids":\[2,105,621,107\],"rounds":\[{"round":1,'
[ "$(grep -o '"step":' out | wc -l)" = 8 ] || die 'not eight steps in the object'
expect 0 decode tiny --ids $ids --steps 4 --rounds 2
out_has '^tiny: 4 ids, 4 steps, 2 rounds; lm-head dense'
out_has "^    2      1 *$id "
out_has '^all rounds: prefill '

# draws: the seed repeats them
expect 0 decode tiny --ids $ids --steps 8 --jsonl --seed 3 --temp 2
told >drawn
expect 0 decode tiny --ids $ids --steps 8 --jsonl --seed 3 --temp 2 --top 5
[ "$(told | cut -d, -f 1-3)" = "$(cut -d, -f 1-3 drawn)" ] || die 'the same seed draws otherwise'
expect 0 decode tiny --ids $ids --steps 8 --jsonl --seed 4 --temp 2
told >others
differ drawn others
expect 0 decode tiny --ids $ids --steps 8 --jsonl --temp 0 --seed 9
told | head -n 4 | cut -d, -f 1-3 >others
head -n 4 steps | cut -d, -f 1-3 >first
same first others

# log-probabilities change neither ids nor logits; those of the best ids come in their order
expect 0 decode tiny --ids $ids --steps 4 --rounds 2 --top 3 --jsonl --logprobs 3
told >others
same steps others
out_has '"ms":[0-9.e-]*,"logprob":-[0-9.e-]*,"top_logprobs":\[\['"$id"',-[0-9.e-]*\],\[[0-9]*,-[0-9.e-]*\],\[[0-9]*,-[0-9.e-]*\]\]}$'
expect 0 decode tiny --ids $ids --steps 8 --jsonl --seed 3 --temp 2 --logprobs 0
told >others
same drawn others

# a generation gives no id for which the context has no position
refuse 1 decode tiny --ids $ids --steps 4 -c 7 --logprobs 0
err_has '4 ids and 4 steps are more than the 7 positions of the context'
expect 0 decode tiny --ids $ids --steps 4 -c 7 --jsonl
expect 0 decode tiny --ids $ids --steps 4 -c 8 --jsonl --logprobs 0

# drafts change no id and no log-probability; a round says what became of them
drawn() { sed -n 's/,"top":.*"ms":[0-9.e-]*//p' out; }
for how in '' '--seed 5 --temp 1.5' '--seed 6 --repeat-penalty 1.2' '--logprobs 2'; do
    # shellcheck disable=SC2086
    expect 0 decode tiny --ids $ids --steps 96 --rounds 2 --jsonl $how
    drawn >plain
    [ "$(wc -l <plain)" = 192 ] || die 'not 192 steps'
    if grep -q draft_n out; then die 'drafts that nobody asked for'; fi
    for with in '--lookup on' '--lookup auto' '--lookup on --draft-max 1' '--spec-type ngram-mod' '--lookup on --lm-head exact-pruned' \
        '--lookup on -c 100'; do
        # shellcheck disable=SC2086
        expect 0 decode tiny --ids $ids --steps 96 --rounds 2 --jsonl $how $with
        drawn >others
        same plain others
        case $with in *on*) out_has '^{"round":2,.*"draft_n":[1-9][0-9]*,"draft_n_accepted":[1-9]' ;; esac
    done
done
expect 0 decode tiny --ids $ids --steps 96 --lookup on
out_has '^  drafts [0-9]* of [0-9]* right, '
refuse 2 decode tiny --ids $ids --lookup on --top 3
err_has '--top needs the logits of every step'
refuse 2 decode tiny --ids $ids --lookup on --draft-max 0
expect 0 decode tiny --ids $ids --lookup off --top 3

# the plan comes before the first step, statistics behind the last; both are part of the result as JSON
expect 0 decode tiny --ids $ids --steps 4 --explain-plan --stats
err_has '^kernel.q: '
err_has '^lookup: off: it was not asked for$'
err_has '^  decode  *4$'
out_has '^round 1: prefill'
for form in --json --jsonl; do
    expect 0 decode tiny --ids $ids --steps 4 --explain-plan --stats --lookup on $form
    [ ! -s err ] || die "$form: something is said twice"
    tail -n 1 out | grep -q '"plan":{.*"lookup":"on: it was asked for".*"stats":{"passes":\[.*"drafts":{' || die "$form has no plan or statistics"
done

# what other programs call it
expect 0 decode tiny --ids $ids --steps 4 --rounds 2 --top 3 --jsonl --lm-head cpu
told >others
same steps others
[ ! -s err ] || die 'cpu needs no note'

for options in '--steps 0' '--rounds -1' '--rounds 0' '--top 0' '--top 1001' '--ids x' '--ids 2,1024' '--ids -1' '--steps x' \
    '--json --jsonl' '--lm-tile 0' '--lm-tile 63' '--lm-tile 100 --lm-head lazy' '--lm-cache-capacity 0' '--lm-cache-capacity x' \
    '--lm-cache-capacity -1' '--lm-head fast' '--lm-quant int4' '--audit 0' '--min-recall 0' '--min-recall 1.5' \
    '--lm-shortlist-tiles -1' '--lm-shortlist-tiles 4 --lm-head exact-pruned' '--lm-quant group' \
    '--lm-quant group --lm-head exact-pruned' '--lm-tile 64' '--lm-cache-capacity 4' \
    '--lm-quant group --weight-quant per-tensor --lm-head lazy' '--weight-quant int8' '--temp -1' '--max-layers 99' '-p x'; do
    # shellcheck disable=SC2086  # words of a command line
    refuse 2 decode tiny --ids $ids $options
    option=${options%% *}
    [ "$option" = --json ] || err_has "${option#--}"
done
refuse 2 decode tiny
err_has 'option --ids is needed'
refuse 2 decode --ids 2
refuse 1 decode tiny --ids $ids --steps 100000
err_has 'E_CONTEXT'
refuse 3 decode absent --ids 2

# ---- the head in plans ----

expect 0 show tiny --memory --lm-head exact-pruned
out_has '^  - for the head  *15[0-9] kB$'
out_has '^  head  *exact-pruned$'
expect 0 show tiny --lm-head lazy --lm-tile 64 --lm-cache-capacity 3 --lm-quant group
out_has '^  head  *lazy, 3 of 16 tiles of 64 rows kept$'
expect 0 show tiny --lm-head lazy --lm-tile 64 --lm-cache-capacity 70K --lm-quant group
out_has '^  head  *lazy, 4 of 16 tiles'
expect 0 show tiny --json
out_has '"head":"dense","head_bytes":0,"head_tiles":0,"head_tile":0,"head_kept":0'
expect 0 run tiny -n 1 --explain-plan --lm-head lazy --lm-tile 64 --lm-shortlist-tiles 4 --audit 3 x
err_has '^head: lazy, approximate$'
err_has '^head.tiles: 16 of 64 rows, of which 16 are kept; '
err_has '^head.shortlist: at most 4 tiles a token$'
err_has '^head.audit: dense beside every token of 3$'
# run says so too, where a program reads it.
expect 0 run tiny -n 3 --json --lm-head shortlist --lm-tile 64 --lm-shortlist-tiles 4 'Where is the bed?'
out_has '"head":{"strategy":"shortlist","exact":false}'
expect 0 run tiny -n 3 --json --lm-head lazy --lm-tile 64 'Where is the bed?'
out_has '"head":{"strategy":"lazy","exact":true}'
expect 0 run tiny -n 3 --json 'Where is the bed?'
! grep -q '"head"' out || die 'a head is told that nobody asked for'
expect 0 run tiny -n 1 --explain-plan --lm-head exact-pruned x
err_has '^head.sketch: [0-9]* bytes beside the head'
expect 0 run tiny -n 1 --explain-plan --exact --lm-head exact-pruned x
err_has '^head: dense: exact arithmetic computes every row$'
# what it makes has to fit
refuse 5 decode tiny --ids 2 --memory 5M --lm-head preload --lm-quant group

# ---- what gives dense's ids says so, and can be audited ----

expect 0 decode tiny --ids $ids --steps 32 --top 5 --jsonl
told >dense
for head in 'exact-pruned' 'preload --lm-tile 64' 'lazy --lm-tile 64 --lm-cache-capacity 1' 'lazy --lm-tile 64 --lm-cache-capacity 5' \
    'auto' coral coral-preload coral-lazy; do
    # shellcheck disable=SC2086
    expect 0 decode tiny --ids $ids --steps 32 --top 5 --jsonl --audit 1 --lm-head $head
    told >others
    same dense others
    tail -n 1 out | grep -q '"exact":true,.*"audits":32,"recall":1.0,"top1":1.0}$' || die "$head: $(tail -n 1 out)"
    case $head in coral*) err_has 'no accelerator is used' ;; esac
done
expect 0 decode tiny --ids $ids --steps 4 --weight-quant per-channel --lm-head lazy
err_has 'layers are quantised beforehand'
out_has '^tiny: .* lm-head lazy'
expect 0 decode tiny --ids $ids --steps 32 --json --lm-tile 64 --lm-head shortlist --lm-shortlist-tiles 3 --audit 2 --min-recall 0.01
out_has '"lm_head":"shortlist","exact":false,.*"avg_eval_tiles":[0-9.]*,.*"audits":16,"recall":0'
expect 0 decode tiny --ids $ids --steps 32 --json --lm-tile 64 --lm-head shortlist --lm-shortlist-tiles 3 --audit 2
err_has 'the shortlist is given up'
for options in '--lm-tile 1088' '--lm-tile 64 --lm-shortlist-tiles 17' '--lm-tile 64 --lm-cache-capacity 17' \
    '--lm-tile 64 --lm-cache-capacity 100'; do
    # shellcheck disable=SC2086
    expect 2 decode tiny --ids $ids --lm-head lazy $options
    err_has 'expected '
done
expect 2 decode tiny --ids ''
err_has 'has no id'
expect 1 decode tiny --ids $ids -c 8 --steps 6
err_has '4 ids and 6 steps are more than the 8 positions of the context'
