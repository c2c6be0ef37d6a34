#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_compare.sh: `carat compare` over one prompt: who is compared in which mode, who drives, what is
# printed, and what is refused. Data sets are test_compare_dataset.sh's, the report test_report.sh's, numbers
# test/check/test_compare.c's.
. "$CARAT_SOURCE/test/cli/common.bash"

compare() { expect "$1" compare "${@:2}"; }
field() { sed -n "s/^ *\"$1\": *\([^,]*\),*$/\1/p" out | head -1; } # the first of that name
numbers() { sed '/"timings"/,$d; /"command"/d' out; }                  # what no machine may change
flat() { tr -d ' \n' <out; }
is() { [ "$(field "$1")" = "$2" ] || die "$1 is $(field "$1"), expected $2: $(head -c 300 out)"; }
prompt='Where is the bed?'

# ---- the whole way ----

compare 0 tiny tiny --ref exact -p "$prompt" -n 32
head -1 out | grep -q '^healthy: mean KL(ref||test) is ' || die "the verdict does not come first: $(head -1 out)"
out_has '^ref   tiny, exact, BF16'
out_has 'parts nowhere'
[ "$(wc -L <out)" -le 80 ] || die 'a line is wider than 80 columns'
COLUMNS=40 "$CARAT" compare tiny tiny --ref exact -p "$prompt" -n 32 >out
[ "$(wc -L <out)" -le 80 ] || die 'a line is wider than 80 columns'
compare 0 tiny --ref exact -p "$prompt" -n 32 --json
numbers >a
compare 0 tiny tiny --ref exact -p "$prompt" -n 32 --json
numbers >b
same a b # one model in two modes is the model twice

# The command that repeats it does.
compare 0 tiny --exact --test kv=q8,threads=1 -sys "Don't shout." -p "$prompt" -n 5 --top 3 --near-tie 0.1 --ignore-eos -t 1 --json
numbers >told
sed -n 's/^ *"command": "\(.*\)"$/\1/p' out | sed 's/\\\\/\\/g; s/\\"/"/g' >line
grep -q "^carat compare tiny " line || die "no command: $(cat line)"
! grep -q -e threads -e '-t 1' line || die 'the command has what changes nothing'
sed "s|^carat |'$CARAT' |; s/$/ --json/" line >again
bash again >out
numbers >told_again
same told told_again

# No number depends on threads, level, chunk.
for how in '-t 1' '-t 3' '--isa ref' '--chunk 1' '--test chunk=7' '--ref exact,threads=2'; do
    # shellcheck disable=SC2086 # options
    compare 0 tiny --ref exact -p "$prompt" -n 32 --json $how
    numbers >b
    same a b
done

# A model against itself.
for mode in '' chunk=5 threads=2 isa=ref head=exact-pruned; do
    compare 0 tiny --test "$mode" -p "$prompt" --ignore-eos -n 40 --json
    flat | grep -q '"kl":{"mean":0.0,"median":0.0,"p90":0.0,"p99":0.0,"max":0.0' || die "mode $mode: KL is not 0"
    flat | grep -q '"match_rate":{"mean":1.0' || die "mode $mode: not all match"
    is whole '"healthy"'
done

# ---- modes ----

compare 0 tiny --test kv=q8 -p "$prompt" --json
is whole '"healthy"'
flat | grep -q '"mode":"kv=q8"' || die 'the mode of the test is not told'
refuse 2 compare tiny --test layers=3 -p "$prompt" --ids 2,105
compare 7 tiny --test layers=3 -p "$prompt" --json
is whole '"concerning"'
for bad in 'fast' 'exact=1' 'kv' 'kv=f64' 'layers=x' 'layers=9' 'isa=sse' 'head=none' ',' 'exact,,' 'chunk='; do
    refuse 2 compare tiny --ref "$bad" -p "$prompt"
    refuse 2 compare tiny --test "$bad" -p "$prompt"
done
err_has 'error: E_USAGE: --test: '

# ---- drivers ----

ids=2,105,534,107,772,631,756,786,521,785,580,972,106,107,105,530,107,528,785,580,611,521,849,953,106
compare 0 tiny --ref exact --driver text --ids $ids --json
is positions 24
for driver in ref hf; do
    compare 0 tiny --ref exact --driver $driver -p "$prompt" --json
    is driver '"ref"'
done
for driver in test coreml; do
    compare 0 tiny --ref exact --driver $driver -p "$prompt" --json
    is driver '"test"'
done
compare 7 tiny --test layers=5 --driver free -p "$prompt" --json
flat | grep -q '"first_divergence":{"prompt":1,"index":2,' || die 'they do not part at 2'
compare 0 --hf-reference tiny tiny --driver hf --no-think --ref exact -p "$prompt" --max-new-tokens 5 --json
is positions 5
compare 0 tiny --ref exact -p "$prompt" --ignore-eos --at 10,100,700
out_has '^ *700 '
[ "$(grep -cE '^ *(10|100|700) ' out)" = 3 ] || die 'there are not three lengths'
out_has 'after the stop: 692 positions'
compare 0 tiny --ref exact -p "$prompt" --ignore-eos --at 10,100,700 --json
# QUALITY.md's table: KL at most 1e-5, correlation at least 0.9999, all match
[ "$(flat | grep -o '"at":\[.*' | grep -oE '"(tokens|kl|correlation|match)":[0-9.e-]+' | awk -F: '
    /tokens/ {n++; next} /kl/ {bad += $2 > 1e-5 || $2 <= 0} /corr/ {bad += $2 < 0.9999} /match/ {bad += $2 != 1}
    END {print n, bad + 0}')" = '3 0' ] || die "fast is not near exact: $(flat | grep -o '"at":.*' | head -c 400)"
refuse 2 compare --hf-reference tiny tiny tiny -p "$prompt"
refuse 2 compare tiny tiny tiny -p "$prompt"
refuse 2 compare tiny --driver nobody -p "$prompt"
refuse 2 compare tiny
refuse 2 compare tiny -p "$prompt" --ids 2,3
refuse 2 compare tiny --ids 2,99999

# ---- limits ----

compare 7 tiny --ref exact -p "$prompt" --limits kl=1e-12:1e-10
out_has '^concerning: mean KL(ref||test) is .*, above 1e-10 is concerning'
compare 0 tiny --ref exact -p "$prompt" --limits kl=1e-12:1,match=90:80
out_has '^watch: '
for bad in kl=nan:1 kl=0.1 kl=0.1:0.01 match=90:98 match=:1 speed=1:2 kl=1:2:3 kl kl=1:2x; do
    refuse 2 compare tiny -p "$prompt" --limits "$bad"
    err_has 'limits'
done

# ---- models that cannot be compared ----

vectors=$CARAT_SOURCE/test/data/vectors/models
compare 4 tiny "$vectors/gemma3-f16-untied" --ids 2,5,9
err_has 'error: E_UNSUPPORTED: tiny has 1024 ids, 1024 of text, and .* 97, 97 of text'
cp -r "$CARAT_SOURCE/models/tiny" other
sed -i 's/"▁is": *580/"▁is": 9999/; s/"▁bed": *785/"▁bed": 580/; s/"▁is": 9999/"▁is": 785/' other/tokenizer.json
compare 4 tiny other -p "$prompt"
err_has "error: E_UNSUPPORTED: id 580 is '▁is' in tiny and '▁bed' in other"
refuse 3 compare tiny nothing -p "$prompt"

# ---- how it is run ----

compare 0 tiny --ref exact -p "$prompt" --json <&-
while read -r line; do compare 0 tiny --ref exact -p "$line" --json; done <<<"$prompt"
"$CARAT" compare tiny --ref exact -p "$prompt" | head -1 >out
out_has '^healthy'
