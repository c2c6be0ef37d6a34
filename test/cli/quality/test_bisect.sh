#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_bisect.sh: `carat compare --bisect`: a damaged row is named, in words and as JSON, of one prompt and of
# a data set; where nothing is wrong that is said; what cannot be bisected is refused. What is found is
# test/check/test_bisect.c's.
. "$CARAT_SOURCE/test/cli/common.bash"

# JSON in one line.
flat() { tr -d ' \n' <"$1" >flat && mv flat "$1"; }

# A copy with one row of a matrix negated: the sign of each of its 256 bf16 values.
mkdir damaged
cp "$CARAT_SOURCE"/models/tiny/* damaged/
name=model.layers.3.mlp.down_proj.weight file=damaged/model.safetensors
header=$(od -An -tu8 -N8 "$file" | tr -d ' ')
at=$(head -c $((8 + header)) "$file" | tail -c +9 | grep -o "\"$name\":{[^}]*}" | sed 's/.*"data_offsets": *\[\([0-9]*\),.*/\1/')
from=$((8 + header + at + 17 * 512))
tail -c +$((from + 1)) "$file" | head -c 512 >row
od -An -v -tu1 -w2 row | while read -r low high; do
    printf %b "\\x$(printf %02x "$low")\\x$(printf %02x $((high ^ 128)))"
done | dd of="$file" bs=1 seek="$from" conv=notrunc 2>/dev/null

expect 0 compare tiny damaged -p "Where is the bed?" --ignore-eos -n 90 --bisect --no-cache
out_has "^begins layer 3, down, channel 17, $name: a channel is off by more than half"
out_has "^! down "
expect 0 compare tiny damaged -p "Where is the bed?" --ignore-eos -n 90 --bisect --rows 7 --json --no-cache
flat out
out_has '"flagged":{"layer":3,"operation":"down","tensor":"'$name'",.*"channel":17,'
out_has '"rows":\[1,'
[ "$(grep -o '"operation":"q"' out | wc -l)" = 6 ] || die "a layer is missing from the table"

expect 0 compare tiny --ref exact,kv=f32 --test kv=q8 -p "Where is the bed?" -n 8 --bisect --no-cache
out_has "^begins nowhere: no operation stands out"

printf '%s\n' '{"ids": [2, 105, 300]}' '{"prompt": "Where is the bed?", "answer": "In the bedroom."}' >data.jsonl
expect 0 compare tiny damaged --dataset data.jsonl --out results --driver text --bisect --no-cache
out_has "^begins layer 3, down, channel 17, $name"
flat results/summary.json
grep -q '"bisect":{"tokens":' results/summary.json || die "summary.json says nothing of it"
cp results/summary.json before.json
expect 0 compare tiny damaged --dataset data.jsonl --out results --driver text --bisect --no-cache # all is there already
flat results/summary.json
diff <(sed 's/"timings.*//' before.json) <(sed 's/"timings.*//' results/summary.json) || die "another summary"

# A NaN in that row: the comparison and its files are there all the same, and say where it is.
printf '\300\177' | dd of="$file" bs=1 seek="$from" conv=notrunc 2>/dev/null
expect 7 compare tiny damaged -p "Where is the bed?" -n 4 --bisect --no-cache
out_has "^begins NaN or infinity in the test: layer 3, down, channel 17 at position 1"
expect 7 compare tiny damaged --dataset data.jsonl --out broken --driver text --bisect --no-cache
out_has "^begins NaN or infinity in the test: layer 3, down, channel 17 at position 1"
grep -q 'NaN or infinity in the test: layer 3, down' broken/report.html || die "the report says nothing of it"

expect 2 compare tiny -p x -n 2 --rows 4
err_has "compare: --rows belongs to --bisect"
expect 2 compare tiny -p x -n 2 --bisect --rows 65
expect 2 compare tiny --ref-logits none.npy --ids 2,3 --bisect
err_has "compare: --bisect looks into two models, and recorded logits are none"

# Models of other shapes are refused before anything is compared.
expect 4 compare tiny --test layers=3 -p x -n 2 --bisect --no-cache
err_has "the reference has a number of layers of 6 and the test 3, expected the same"
expect 4 compare tiny --test layers=3 --dataset data.jsonl --out other --driver text --bisect --no-cache
err_has "the reference has a number of layers of 6 and the test 3, expected the same"
[ ! -s other/results.jsonl ] || die "prompts were compared before"
