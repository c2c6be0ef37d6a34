#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_compare_recorded.sh: `carat compare --ref-logits` with the logits that transformers gave for the small
# models of the shared vectors: what is left is the rounding of float32.
. "$CARAT_SOURCE/test/cli/common.bash"

vectors=${CARAT_SHARED:-}
[ -d "$vectors/expect" ] || { echo 'CARAT_SHARED names no vectors' && exit 77; }
compared=0
for model in "$vectors"/models/*; do
    for prompt in p5 long w5; do
        expected=$vectors/expect/$(basename "$model")/$prompt
        grep -qs '"positions": "all"' "$expected.json" || continue
        expect 0 compare "$model" --ref-logits "$expected.npy" --ids "@$expected.json" --exact --no-cache --json
        tr -d ' \n' <out >line
        kl=$(sed -n 's/.*"kl":{"mean":[^,]*,"median":[^,]*,"p90":[^,]*,"p99":[^,]*,"max":\([^,]*\),.*/\1/p' line)
        awk -v kl="$kl" 'BEGIN { exit !(kl != "" && kl >= 0 && kl < 1e-9) }' || die "$expected: KL is $kl"
        grep -q '"match_rate_clear":{"mean":1.0,' line || die "$expected: highest ids differ"
        compared=$((compared + 1))
    done
done
[ $compared -ge 8 ] || die "only $compared prompts were found"
