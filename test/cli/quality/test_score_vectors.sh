#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_score_vectors.sh: losses of `carat perplexity` and log-probabilities of `carat eval` are those that
# tools/make_score_vectors.py got from the logits of transformers for models/tiny, in float32, to 1e-5 of
# each.
. "$CARAT_SOURCE/test/cli/common.bash"
data=$CARAT_SOURCE/test/data/score

# one line for each of the output: KIND and its numbers
losses() { sed -n "s/^{\"\\(window\\|line\\)\".*\"loss\":\\([-0-9.e]*\\),.*/$1 \\2/p" out; }
choices() {
    sed -n 's/^{"line".*"letter":{"chosen":[0-9]*,"logprobs":\[\([^]]*\)\].*"likelihood":{"chosen":[0-9]*,"logprobs":\[\([^]]*\)\].*/'"$1"'letter \1\n'"$1"'likelihood \2/p' out |
        tr , ' '
}

for size in 64 100; do
    expect 0 perplexity tiny "$data/text.txt" -c $size --exact --jsonl
    losses window$size
done >found
expect 0 perplexity tiny "$data/text.txt" -c 64 --stride 24 --exact --jsonl
losses stride >>found
expect 0 perplexity tiny --messages "$data/talks.jsonl" --exact --jsonl
losses talk >>found
expect 0 eval tiny "$data/items.jsonl" --exact --jsonl
choices '' >>found
expect 0 eval tiny "$data/items.jsonl" --exact --jsonl --chat
choices chat- >>found

[ "$(wc -l <found)" = "$(wc -l <"$data/expected.txt")" ] || die "$(wc -l <found) lines, expected as in expected.txt"
paste -d ' ' found "$data/expected.txt" | awk '
    { n = NF / 2; bad = n != int(n) || $1 != $(n + 1) }
    { for (i = 2; i <= n; i++) { d = $i - $(n + i); if (d < 0) d = -d; s = $(n + i) < 0 ? -$(n + i) : $(n + i)
          if (d > 1e-5 * s) bad = 1; if (d / s > worst) worst = d / s } }
    bad { print "differs: " $0; wrong = 1 }
    END { print "largest relative difference: " worst; exit wrong }' >compared || die "$(grep differs compared)"
cat compared

# ---- llama-perplexity (llama-cpp-python 0.3.36), models/tiny as F32 GGUF, K and V in f32: to 0.1 %, its
# error to 0.2 % ----

near() { awk "BEGIN { d = $1 / $2 - 1; exit !(d < $3 && d > -$3) }" || die "$4: $1, not $2"; }
field() { sed -n "s/.*\"$1\":\([0-9.]*\),.*/\1/p" out; }
while read -r size perplexity error; do
    for arithmetic in '--exact' ''; do
        # shellcheck disable=SC2086 # a word or none
        expect 0 perplexity tiny "$data/text.txt" -c "$size" $arithmetic --json
        near "$(field perplexity)" "$perplexity" 1e-3 "-c $size $arithmetic"
        near "$(field perplexity_error)" "$error" 2e-3 "-c $size $arithmetic, the error"
    done
done <<END
64 2172.1941 876.01502
128 2114.1616 880.45778
END
