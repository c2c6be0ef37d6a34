#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_bench_head.sh: `carat bench lm-head`: which rows a model has, its tables, JSON and CSV, what is exact
# and what is not, comparison with an older result, and which options it takes. No time is judged.
. "$CARAT_SOURCE/test/cli/common.bash"

run="bench lm-head tiny --steps 6 -r 2"
# one tile: nothing to choose among capacities and lists
# shellcheck disable=SC2086  # words of a command line
expect 0 $run
out_has '^tiny: 6 steps behind 32 ids, 2 runs; a head of 1024 ids$'
for row in dense 'prompt logits off' 'prompt logits on' 'exact-pruned best 1' 'exact-pruned best 16' \
    'exact-pruned best 64' auto preload lazy 'preload int8/group' 'lazy int8/tensor'; do
    out_has "^| $row  *| "
done
! grep -q '^| [a-z /0-9]* list ' out || die 'a list of one tile'
out_has '^| beside a published example'
# what is exact gives what dense gives
for row in dense 'exact-pruned best 16' preload lazy; do out_has "^| $row  *| .*|  *0 |  *100.00 |  *100.00 |"; done

# sixteen tiles: capacities, lists; options narrow the matrix
# shellcheck disable=SC2086
expect 0 $run --lm-tile 64 --lm-quant native -o json --ids 2,105,621,107 --max-layers 2 --prefill-logits
for row in preload 'preload list 8' lazy 'lazy list 8' 'lazy of 8' 'lazy of 8 list 8'; do
    out_has "^    \"lm_head\": \"$row\",$"
done
! grep -q 'int8\|of 32\|list 16' out || die 'a row that was not asked for, or that tiny has too few tiles for'
out_has '^    "n_depth": 3,$'
# behind a list not all tiles are looked at; with half of them kept, half of them and one are read anew
sed -n '/"lm_head": "lazy list 8"/,/"verdict"/p' out | grep -q '"eval_tiles": 8.000000' || die 'a list of 8'
sed -n '/"lm_head": "lazy of 8"/,/"verdict"/p' out | grep -q '"misses": 108,' || die 'misses of lazy: 9 of 16 tiles, 12 steps'
sed -n '/"lm_head": "lazy list 8"/,/"verdict"/p' out | grep -q '"exact": false' || die 'a list is said to be exact'
cp out old.json
# shellcheck disable=SC2086
expect 0 $run --lm-tile 128 --lm-head lazy --lm-quant group --lm-cache-capacity 3 --lm-shortlist-tiles 2 -o csv
[ "$(wc -l <out)" = 5 ] || die "not a head, dense, two prompts and a row: $(cat out)"
out_has '^model_filename,version,.*,setup_ms_cold,setup_ms_cached,'
out_has '"lazy int8/group of 3 list 2"'
[ "$(awk -F, '{print NF}' out | sort -u | wc -l)" = 1 ] || die 'rows of other lengths'
# shellcheck disable=SC2086
expect 0 $run --lm-head exact-pruned -o jsonl
[ "$(grep -c '"strategy": "exact-pruned", "exact": true' out)" = 3 ] || die 'three rows that are exact'

# beside an older result: two runs on a busy machine may differ
code=0
# shellcheck disable=SC2086
"$CARAT" $run --lm-tile 64 --lm-quant native --lm-head preload --ids 2,105,621,107 --max-layers 2 --compare old.json >out 2>err || code=$?
[ $code = 0 ] || [ $code = 7 ] || die "compared: exit code $code"
out_has '^| preload list 8 .*\(same\|slower\|faster\|unclear\)'
echo '[{"n_gen":3}]' >wrong.json
refuse 2 bench lm-head tiny --compare wrong.json
err_has 'wrong.json: element 0 has no lm_head'
echo '[{"lm_head":"other","samples_ts":[3]}]' >wrong.json
refuse 2 bench lm-head tiny --compare wrong.json
err_has 'has no row of this run'
echo '[{"lm_head":"dense","samples_ts":[0]}]' >wrong.json
refuse 2 bench lm-head tiny --compare wrong.json
err_has 'no samples_ts'

# a model of that name
cp -r "$tiny" lm-head
expect 0 bench ./lm-head -p 8 -n 0 -r 1
out_has ' pp8 '
expect 0 bench -m lm-head lm-head --lm-head exact-pruned --steps 2 -r 1

for options in '-p 8' '-n 8' '-pg 8,8' '-npl 2' '-fa 1' '--prompt x' '--max-tokens 3' '--plot x' '--profile' '-d 100' '-t 1,2' \
    '-ub 8,16' '--json -o csv' '--audit 3' '--min-recall 0.5' '--draft-right 0.5'; do
    # shellcheck disable=SC2086
    refuse 2 bench lm-head tiny $options
    err_has 'bench lm-head: '
done
refuse 2 bench lm-head tiny --steps 1
refuse 2 bench lm-head tiny --lm-tile 63
refuse 2 bench lm-head tiny --ids 2,1024
refuse 1 bench lm-head tiny --steps 100000
err_has 'E_CONTEXT'
for options in '--ids 2' '--steps 3' '--prefill-logits'; do
    # shellcheck disable=SC2086
    refuse 2 bench tiny $options
    err_has 'goes with lm-head'
    # shellcheck disable=SC2086
    refuse 2 bench timeline tiny $options
done

# a random model of the same shape: exact strategies are exact on it, too
for spectrum in flat falling; do
    # shellcheck disable=SC2086
    expect 0 $run --spectrum $spectrum --lm-head exact-pruned
    out_has "^$spectrum, a random model like tiny: 6 steps"
    out_has '^| exact-pruned best 16  *| .*|  *0 |  *100.00 |  *100.00 |'
done
refuse 2 bench tiny --spectrum flat
refuse 2 bench lm-head tiny --spectrum steep
