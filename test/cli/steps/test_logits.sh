#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_logits.sh: `carat logits`: the file format, and that cache, chunks and threads do not change a bit.
. "$CARAT_SOURCE/test/cli/common.bash"

ids=2
for i in $(seq 1 23); do ids=$ids,$((i * 37 % 250 + 6)); done # 24 ids

expect 0 logits tiny --ids "$ids" --out last.npy
[ ! -s out ] || die 'text on standard output'
vocab=$(head -c 128 last.npy | tr -d '\0' | sed -n "s/.*'shape': (\([0-9]*\),).*/\1/p" | head -n 1)
[ -n "$vocab" ] || die 'no shape'
[ "$(head -c 6 last.npy | od -An -tx1 | tr -d ' ')" = 934e554d5059 ] || die 'no magic'
[ "$(od -An -tu1 -j6 -N2 last.npy | tr -d ' ')" = 10 ] || die 'not version 1.0'
length=$(od -An -tu1 -j8 -N1 last.npy | tr -d ' ')
[ $(((length + 10) % 64)) = 0 ] || die 'the data is not aligned'
head -c 128 last.npy | grep -aq "'descr': '<f4', 'fortran_order': False" || die 'wrong type'
[ "$(wc -c <last.npy)" = $((length + 10 + 4 * vocab)) ] || die 'wrong size'

# every row; its last is the file above
expect 0 logits tiny --ids "$ids" --all --out all.npy
head -c 128 all.npy | grep -aq "'shape': (24, $vocab)" || die 'wrong shape'
tail -c $((4 * vocab)) last.npy >a
tail -c $((4 * vocab)) all.npy >b
same a b

# the oracle, and everything that must not matter
expect 0 logits tiny --ids "$ids" --all --naive --out naive.npy
same all.npy naive.npy
expect 0 logits tiny --ids "$ids" --naive --out naive.npy
same last.npy naive.npy
for chunk in 1 5 16 1000; do
    expect 0 logits tiny --ids "$ids" --all --chunk $chunk --out other.npy
    same all.npy other.npy
    expect 0 logits tiny --ids "$ids" --chunk $chunk --out other.npy
    same last.npy other.npy
done
for threads in 1 2 3; do
    expect 0 logits tiny --ids "$ids" --all -t $threads --out other.npy
    same all.npy other.npy
done
expect 0 logits tiny --ids "$ids" --all --isa ref --out other.npy
same all.npy other.npy
for kv in bf16 f16 f32 q8; do
    expect 0 logits tiny --ids "$ids" --all --kv $kv --out cached.npy
    expect 0 logits tiny --ids "$ids" --all --kv $kv --naive --out naive.npy
    same cached.npy naive.npy
done
expect 0 logits tiny --ids "$ids" --all --exact --out cached.npy
expect 0 logits tiny --ids "$ids" --all --exact --naive --out naive.npy
same cached.npy naive.npy

# longer than any window of the model, last row only
long=$ids
for i in 1 2 3 4; do long=$long,$long; done # 384 ids, six windows of tiny
expect 0 logits tiny --ids "$long" --out cached.npy
expect 0 logits tiny --ids "$long" --naive --out naive.npy
same cached.npy naive.npy
expect 0 logits tiny --ids "$long" --chunk 5 --out other.npy
same cached.npy other.npy

# through a pipe; nothing half written; the highest first
"$CARAT" logits tiny --ids "$ids" --out - | cat >other.npy
same last.npy other.npy
refuse 1 logits tiny --ids 2 --out ./absent/x.npy
ls ./*.part 2>/dev/null && die 'a partial file was left'
expect 0 logits tiny --ids "$ids" --top 5
[ "$(wc -l <out)" = 5 ] || die 'not five lines'
cut -f 2 out >values
sort -g -r values >sorted
same values sorted
expect 0 logits tiny --ids "$ids" --top 1 --json
best=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' out)
expect 0 run tiny --ids "$ids" -n 1 --temp 0 --json --ignore-eos
out_has "\"ids\":\[$best\]"

# other values than logits: a row for each id, the same for any chunk, and those of an engine with fewer
# layers
expect 0 logits tiny --ids "$ids" --tap layer.2 --out whole.npy
[ ! -s out ] || die 'text on standard output'
head -c 128 whole.npy | grep -aq "'shape': (24, 256)" || die 'wrong shape of a tap'
for chunk in 1 5 16; do
    expect 0 logits tiny --ids "$ids" --tap layer.2 --chunk $chunk --out other.npy
    same whole.npy other.npy
done
expect 0 logits tiny --ids "$ids" --tap layer.2 --max-layers 3 --out other.npy
same whole.npy other.npy
for tap in embed final_norm layer.0 layer.5.attn layer.5.q layer.0.k layer.3.v; do
    expect 0 logits tiny --ids "$ids" --tap $tap --out other.npy
    head -c 128 other.npy | grep -aq "'shape': (24, " || die "wrong rows of $tap"
    cmp -s whole.npy other.npy && die "$tap is layer.2"
done
expect 0 logits tiny --ids "$ids" --max-layers 6 --out other.npy # all of them
same last.npy other.npy
expect 0 logits tiny --ids "$ids" --max-layers 5 --out other.npy
cmp -s last.npy other.npy && die 'five layers give what six give'
refuse 2 logits tiny --ids "$ids" --tap layer.6 --out other.npy
err_has 'there is no such value; did you mean layer'
refuse 2 logits tiny --ids "$ids" --tap layer.2 --max-layers 2 --out other.npy
refuse 2 logits tiny --ids "$ids" --tap embd --out other.npy
err_has 'did you mean embed'
refuse 2 logits tiny --ids "$ids" --tap embed
for layers in 0 -1 7; do
    refuse 2 run tiny hi --max-layers $layers
    err_has 'max-layers'
done
