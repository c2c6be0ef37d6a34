#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_ranges.sh: `carat show --ranges`: the same table for every number of threads and chunk, over a text or
# the one that is built in; the JSON says the same; values are those of `carat logits --tap`; mistakes are
# refused.
. "$CARAT_SOURCE/test/cli/common.bash"

head -c 600 "$CARAT_SOURCE/NUMERICS.md" >text.txt

expect 0 show "$tiny" --ranges -f text.txt -t 1 --chunk 7
cp out one
grep -q '^largest values over [0-9]* ids; room: times up to 65504,$' one || die "no heading"
grep -Eq '^ *5  residual_norm +post_ffw_norm +\* ' one || die "no last sum"
grep -Eq '^ *0  attend  ' one || die "no attention"
grep -q '^residual stream: at most .* in layer [0-9] at id [0-9]*$' one || die "no stream"
grep -q '^residual scale: 1$' one || die "no scale"
expect 0 show "$tiny" --ranges -f text.txt -t 2 --chunk 64 --no-cache
same one out
expect 0 show "$tiny" --ranges -f - <text.txt
same one out
expect 0 show "$tiny" --ranges
grep -q 'ids of a built-in text' out || die "the text is not named"
differ one out

# what leaves layer 2, as `carat logits --tap` writes it: f32 behind a header, whose largest value it is
expect 0 tokenize "$tiny" -f text.txt
ids=$(grep -oE '[0-9]+' out | paste -sd,)
expect 0 logits "$tiny" --ids "$ids" --tap layer.2 --out tap.npy
tail -c +129 tap.npy | od -An -v -t f4 -w1024 |
    awk '{ for (i = 1; i <= NF; i++) { v = $i < 0 ? -$i : $i; if (v > m) { m = v; at = NR - 1; k = i - 1 } } }
         END { printf "%.5g %d %d\n", m, at, k }' >tapped
awk '$1 == "2" && $3 == "post_ffw_norm" { printf "%.5g %d %d\n", $5, $6, $7 }' one >shown
same tapped shown

expect 0 show "$tiny" --ranges --json -f text.txt
grep -o '"residual_scale": *[0-9.]*' out | grep -q '1' || die "no scale in JSON"
[ "$(grep -o '"operation"' out | wc -l)" = "$(grep -cE '^ *([0-9]+|-)  ' one)" ] || die "JSON has other ranges"

refuse 2 show "$tiny" --ranges -f /dev/null
err_has 'standard input is empty\|/dev/null is empty'
printf '\377' >bad.txt
refuse 2 show "$tiny" --ranges -f bad.txt
expect 0 show "$tiny" --ranges -f bad.txt --lossy
expect 1 show "$tiny" --ranges -f missing.txt
