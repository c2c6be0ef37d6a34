#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_run_lines.sh: `run --jsonl`: a file of prompts is answered in its order, several together, and each
# answer and receipt is what the line alone gives; a wrong line is named before anything is answered.
. "$CARAT_SOURCE/test/cli/common.bash"

# text N FILE: the text of line N.
text() { sed -n "$1s/.*\"text\":\"\\([^\"]*\\)\".*/\\1/p" "$2"; }

cat >p.jsonl <<'END'
{"prompt": "Turn on the kitchen lights"}
{"messages": [{"role": "user", "content": "Tell me of a lamp"}], "id": "b"}
{"ids": [2, 5, 9], "id": 3, "answer": "what other columns a data set has is of no matter"}
{"text": "The lights", "seed": 7}
{"prompt": "Is it on?"}
{"prompt": "Tell me of a lamp", "seed": 0}
{"prompt": "Turn on the kitchen lights"}
END
lines=$(wc -l <p.jsonl)
expect 0 run tiny --jsonl p.jsonl -n 40 --temp 1 --seed 5 --receipt r.jsonl
cp out together
[ "$(wc -l <together) $(wc -l <r.jsonl)" = "$lines $lines" ] || die "$(cat together)"
for i in $(seq "$lines"); do
    sed -n "${i}p" together | grep -q "^{\"line\":$i,.*\"stop\":\"\\(stop\\|length\\)\"" || die "line $i: $(cat together)"
done
sed -n 2p together | grep -q '^{"line":2,"id":"b",' || die 'an id is not given back'
sed -n 4p together | grep -q '"seed":7,' || die 'line 4 has a seed of its own'
sed -n 5p together | grep -q '"seed":9,' || die 'line 5 draws with --seed 5 and 4 more'

# ---- as each alone ----

for n in 1 2 3 8; do
    for how in '-t 1 --isa ref' '-t 2 --chunk 3' '--lookup on'; do
        # shellcheck disable=SC2086 # words of a command line
        expect 0 run tiny --jsonl p.jsonl -n 40 --temp 1 --seed 5 --receipt again.jsonl --parallel $n $how
        same together out
        same r.jsonl again.jsonl
    done
done
expect 0 run tiny 'Turn on the kitchen lights' -n 40 --temp 1 --seed 5 --receipt alone.jsonl
[ "$(cat out)" = "$(text 1 together)" ] || die "$(cat out)"
expect 0 run tiny 'Tell me of a lamp' -n 40 --temp 1 --seed 6 --receipt more.jsonl
cat more.jsonl >>alone.jsonl
expect 0 run tiny --ids 2,5,9 -n 40 --temp 1 --seed 7 --receipt more.jsonl
cat more.jsonl >>alone.jsonl
expect 0 run tiny --raw 'The lights' -n 40 --temp 1 --seed 7 --receipt more.jsonl
cat more.jsonl >>alone.jsonl
head -4 r.jsonl >four
same four alone.jsonl
expect 0 replay r.jsonl tiny
[ "$(grep -c ': confirmed: ' out)" = "$lines" ] || die "$(cat out)"

# ---- more lines than sessions, standard input, private receipts, none ----

for i in $(seq 40); do echo "{\"prompt\": \"Tell me of lamp $((i % 7))\", \"id\": $i}"; done >many.jsonl
"$CARAT" run tiny --jsonl - -n 25 --temp 1.3 --seed 1 -np 5 --receipt many.r --receipt-private <many.jsonl >out 2>err || die "$(cat err)"
[ "$(wc -l <out) $(wc -l <many.r)" = '40 40' ] || die "$(cat out)"
grep -q '"prompt":{"ids"' many.r && die 'a private receipt has ids'
expect 0 run tiny --jsonl many.jsonl -n 0
[ "$(grep -c '"ids":\[\],"text":"","stop":"length"' out)" = 40 ] || die "$(cat out)"
expect 0 run tiny --jsonl many.jsonl -n 3 -v
err_has '40 answers, up to 8 together'

# ---- forms, tools, thoughts, probabilities ----

head -2 p.jsonl >two.jsonl
expect 0 run tiny --jsonl p.jsonl --regex '(yes|no)!' --temp 0 --receipt form.jsonl
[ "$(grep -cE '"text":"(yes|no)!","stop":"stop"' out)" = "$lines" ] || die "$(cat out)"
expect 0 replay form.jsonl tiny --regex '(yes|no)!'
expect 1 run tiny --jsonl two.jsonl --tools "$tiny/tools.json" --tool-choice required -l 48-inf
err_has 'two.jsonl: line 2: each token that the form of the answer allows is banned'
[ "$(grep -c '"stop":"constraint"' out)" = 2 ] || die "$(cat out)"
printf '{"prompt": "Turn on the kitchen lights"}\n{"prompt": "Turn on the kitchen lights", "tools": %s}\n' "$(tr -d '\n' <"$tiny/tools.json")" >calls.jsonl
expect 0 run tiny --jsonl calls.jsonl --temp 0
sed -n 1p out | grep -q '"calls":\[\]}$' || die "$(cat out)"
sed -n 2p out | grep -q '"calls":\[{"name":"' || die "$(cat out)"
expect 0 run tiny --jsonl calls.jsonl --temp 0 --tools "$tiny/tools.json"
[ "$(grep -c '"calls":\[{"name":"' out)" = 2 ] || die "$(cat out)"
expect 0 run tiny --jsonl p.jsonl -n 2 --logprobs 1
[ "$(grep -c '"logprobs":' out)" = "$lines" ] || die "$(cat out)"
tiny4=$CARAT_SOURCE/test/fixtures/tiny4
expect 0 run "$tiny4" --jsonl two.jsonl --seed 3 --reasoning on -n 60 --receipt thoughts.jsonl
expect 0 replay thoughts.jsonl "$tiny4"
expect 0 run "$tiny4" --jsonl two.jsonl --seed 3 --reasoning on -n 60 --receipt drafts.jsonl -md "$tiny4-assistant" --spec-type draft-mtp
same thoughts.jsonl drafts.jsonl

# ---- what is refused, before anything is answered ----

# wrong LINE MESSAGE: behind a good one.
wrong() {
    printf '{"prompt": "hello"}\n%s\n' "$1" >wrong.jsonl
    refuse 2 run tiny --jsonl wrong.jsonl --receipt none.jsonl
    err_has "wrong.jsonl: line 2.*$2"
    [ ! -s out ] || die "$1: $(cat out)"
    [ ! -e none.jsonl ] || die "$1: a file of receipts"
}
wrong '{"question": "x"}' 'it has no prompt'
wrong 'x' 'this is not JSON'
wrong '[1]' 'it is not a JSON object'
wrong '{"ids": [99999]}' 'id 99999 of the prompt is outside the vocabulary'
wrong '{"messages": [{"role": "nobody", "content": "x"}]}' 'messages'
wrong '{"prompt": "x", "seed": -1}' 'byte 24: "seed" is no whole number'
wrong '{"prompt": "x", "seed": "1"}' '"seed" is no whole number'
wrong '{"prompt": "x", "prompt": "y"}' 'duplicate'
wrong "$(printf '{"prompt": "\xff"}')" 'this is not JSON'
printf '{"text": "%s"}\n' "$(seq 900)" | tr '\n' ' ' >long.jsonl
refuse 1 run tiny --jsonl long.jsonl -c 200
err_has 'long.jsonl: line 1: the prompt has .* tokens and the context 200 positions'
: >empty.jsonl
refuse 2 run tiny --jsonl empty.jsonl
refuse 1 run tiny --jsonl none.jsonl
refuse 2 run tiny --jsonl p.jsonl --receipt -
refuse 2 run tiny --jsonl p.jsonl --parallel 0
for option in hello '-p x' '-f p.jsonl' '--messages p.jsonl' '--ids 2' -cnv --json '--prompt-cache x' --context-shift '--tool-command x'; do
    # shellcheck disable=SC2086 # an option and its value
    refuse 2 run tiny --jsonl p.jsonl $option
    err_has 'and --jsonl contradict each other'
done
if [ -w /dev/full ]; then
    code=0
    "$CARAT" run tiny --jsonl p.jsonl -n 3 >/dev/full 2>err || code=$?
    [ "$code" = 1 ] || die "/dev/full: exit code $code"
    refuse 1 run tiny --jsonl p.jsonl -n 3 --receipt /dev/full
fi

# ---- Ctrl-C: what has come so far is given, with receipts ----

"$CARAT" run tiny --jsonl many.jsonl --ignore-eos -c 2048 --receipt cut.jsonl >cut.out 2>err &
pid=$!
until [ -s cut.jsonl ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -INT $pid
code=0
wait $pid || code=$?
[ "$code" = 130 ] || die "Ctrl-C: exit code $code"
[ "$(wc -l <cut.out)" -lt 40 ] || die 'all were answered'
[ "$(wc -l <cut.out)" = "$(wc -l <cut.jsonl)" ] || die "$(wc -l cut.out cut.jsonl)"
grep -q '"stop":"cancelled"' cut.out || die "$(cut -c 1-80 cut.out)"
expect 0 replay cut.jsonl tiny
echo ok
