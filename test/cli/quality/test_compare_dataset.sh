#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_compare_dataset.sh: `carat compare --dataset`: that nothing but the question changes a byte of the
# results, that a run which was killed goes on to the same bytes, whose results are refused, and what a line
# of the data may not be.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/interrupt.bash"

# the prompt of each kind, of the held-out conversations
heldout=$CARAT_SOURCE/test/data/tiny_heldout.jsonl
sed -n 's/.*"prompt_ids":\(\[[0-9,]*\]\).*"hf_ids":\(\[[0-9,]*\]\).*/{"ids":\1,"answer_ids":\2}/p' "$heldout" | head -n 3 >data.jsonl
[ "$(wc -l <data.jsonl)" = 3 ] || die 'the held-out lines are otherwise'
cat >>data.jsonl <<'E2'
{"id":"a","messages":[{"role":"user","content":"Where is the bed?"}],"prompt":"not this","text":"nor this"}

{"id":"b","prompt":"Turn on the kitchen lights","answer":"The kitchen lights are now on."}
{"id":3,"text":"<start_of_turn>user\nHello\u0000<end_of_turn>\n<start_of_turn>model\n"}
E2
printf '{"ids":[2,105,534],"prompt":"not this"}' >>data.jsonl # the last line has no end
compare=(compare tiny tiny --ref exact --dataset data.jsonl -n 12)

# ---- nothing but the question changes a byte ----

expect 0 "${compare[@]}" --out one
head -n 1 out | grep -q '^healthy: ' || die 'the verdict is not first'
[ "$(wc -l <one/results.jsonl)" = 7 ] || die 'not a line for each prompt'
sed 's/^{"id":\("*[a-z0-9]*"*\),"status":"ok".*/\1/' one/results.jsonl | tr '\n' ' ' >ids
[ "$(cat ids)" = '1 2 3 "a" "b" 3 8 ' ] || die "the prompts are $(cat ids)"
[ "$(grep -c '"run":' one/results.jsonl)" = 1 ] || die 'the first line alone says who is compared'
ls one >files
[ "$(tr '\n' ' ' <files)" = 'report.html results.jsonl summary.json ' ] || die "DIR has $(cat files)"

for other in '-t 1 --chunk 1' '-t 2 --chunk 7 --parallel 1' '-t 3 --chunk 64 --parallel 9' '--test chunk=3,threads=2'; do
    # shellcheck disable=SC2086 # options and their values
    expect 0 "${compare[@]}" --out other --restart $other
    same one/results.jsonl other/results.jsonl
done
levels='avx2 avx512 vnni amx neon ref' many=200
[ -z "${CARAT_CFLAGS:-}" ] || levels=avx2 many=40 # sanitizers look at memory, and take their time
for isa in $levels; do
    "$CARAT" "${compare[@]}" --out other --restart --isa "$isa" >out 2>err || { err_has isa && continue; die "--isa $isa"; }
    same one/results.jsonl other/results.jsonl
done

# summary and report are functions of the lines, but for the time it took
without_timings() { sed '/"timings": {/,/}/d' "$1"; }
expect 0 "${compare[@]}" --out other --json
without_timings other/summary.json >a
without_timings one/summary.json >b
same a b
same one/report.html other/report.html
without_timings out >a
same a b

# answers are followed in whole chunks; one that the template renders ends with its turn
expect 0 "${compare[@]}" --out text --driver text --ignore-eos
sed -n 's/^{"id":"b".*"ids":\[\([0-9,]*\)\],.*/\1/p' text/results.jsonl >ids
[ "$(tr ',' '\n' <ids | wc -l)" -ge 7 ] || die "the answer of b is $(cat ids)"
case $(cat ids) in *,106) ;; *) die "the answer of b does not end its turn: $(cat ids)" ;; esac
expect 0 "${compare[@]}" --out other --restart --driver text --ignore-eos --chunk 5 --parallel 2 -t 3
same text/results.jsonl other/results.jsonl
expect 0 "${compare[@]}" --out at --at 5,10,12 --ignore-eos
out_has 'tokens  *KL  *corr. *match %  *parts'
out_has '^after the stop'
out_has '^  *12  '

# a model against itself: nothing differs
expect 0 compare tiny --dataset data.jsonl -n 12 --out itself --test chunk=5 --json
[ "$(tr -d ' \n' <out | sed 's/.*"kl":{"mean":\([^,]*\),.*"max":\([^,]*\),"interval".*"correlation":{"mean":1.0.*/\1 \2/')" != '' ]
tr -d ' \n' <out | grep -q '"kl":{"mean":0.0,"median":0.0,"p90":0.0,"p99":0.0,"max":0.0,"interval":\[0.0,0.0\]}' || die 'KL is not 0'
out_has '"whole": "healthy"'

# ---- a kill at any moment ----

begin=${EPOCHREALTIME/./}
expect 0 "${compare[@]}" --out killed
took=$((${EPOCHREALTIME/./} - begin))
rm -r killed
kills=0 tries=0 most=10
[ -z "${CARAT_CFLAGS:-}" ] || most=3 # each takes ten times as long with sanitizers
while [ $kills -lt $most ]; do
    tries=$((tries + 1))
    [ $tries -lt 60 ] || die "only $kills runs of $tries were killed"
    "$CARAT" "${compare[@]}" --out killed >out 2>err &
    pid=$!
    sleep "$(printf '%d.%06d' 0 $((RANDOM * 32768 % took + RANDOM)))"
    kill -KILL $pid 2>/dev/null || true
    code=0
    wait $pid 2>/dev/null || code=$?
    case $code in 137) kills=$((kills + 1)) ;; 0) rm -r killed ;; *) die "exit code $code" ;; esac
done
expect 0 "${compare[@]}" --out killed
same one/results.jsonl killed/results.jsonl
same one/report.html killed/report.html
touch killed/report.html.12.part killed/notes.part # the first is what a kill leaves
expect 0 "${compare[@]}" --out killed
ls killed >files
[ "$(tr '\n' ' ' <files)" = 'notes.part report.html results.jsonl summary.json ' ] || die "DIR has $(cat files)"
# and at every place of a line
size=$(wc -c <one/results.jsonl)
for n in 0 1 100 $((size / 2)) $((size - 1)); do
    head -c "$n" one/results.jsonl >killed/results.jsonl
    expect 0 "${compare[@]}" --out killed
    same one/results.jsonl killed/results.jsonl
done
# Ctrl-C leaves a directory that goes on
for _ in $(seq $many); do sed -n '4p' data.jsonl; done >many.jsonl
"$CARAT" compare tiny tiny --ref exact --dataset many.jsonl -n 12 --out stopped --parallel 1 >out 2>err &
pid=$!
while [ ! -s stopped/results.jsonl ] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -INT $pid
within 20 $pid
[ "$code" = 130 ] || die "Ctrl-C: exit code $code"
[ "$(wc -l <stopped/results.jsonl)" -lt $many ] || die 'it was not interrupted'
# wherever in a prompt it comes, that one has no line before it is whole
for _ in $(seq 12); do
    interrupted "0.0$((RANDOM % 10))" compare tiny tiny --ref exact --dataset many.jsonl -n 12 --out stopped --parallel 3 || break
done
expect 0 compare tiny tiny --ref exact --dataset many.jsonl -n 12 --out stopped
[ "$(wc -l <stopped/results.jsonl)" = $many ] || die 'it did not go on'
[ "$(grep -o '"ids":\[[^]]*\]' stopped/results.jsonl | sort -u | wc -l)" = 1 ] || die 'a prompt was cut short'

# ---- somebody else's results, and places that take none ----

other_run() { # WORDS ARGUMENTS...: refused with these words
    refuse 1 "${compare[@]}" --out one "${@:2}"
    err_has "$1"
    err_has 'restart'
}
cp one/results.jsonl before
other_run 'options.max_tokens is 12 there and 11 here' -n 11
other_run 'options.ignore_eos' --ignore-eos
other_run 'options.top' --top 5
other_run 'options.near_tie' --near-tie 0.1
other_run 'driver is "ref" there and "test" here' --driver test
other_run 'test.mode' --test kv=f32
other_run 'ref.mode' --kv f32
other_run 'data.raw' --raw
sed '1s/"numerics":[0-9]*/"numerics":0/' before >one/results.jsonl
other_run 'numerics is 0 there'
sed '1s/"content":"[0-9a-f]*"/"content":"0123"/' before >one/results.jsonl
other_run 'ref.content is "0123" there'
cp before one/results.jsonl
sed '2s/2,/3,/' data.jsonl >changed.jsonl
refuse 1 compare tiny tiny --ref exact --dataset changed.jsonl -n 12 --out one
err_has 'data.hash'
same one/results.jsonl before
for text in 'hello' '{"id":1}' '[]'; do
    echo "$text" >one/results.jsonl
    other_run 'results'
done
expect 0 "${compare[@]}" --out one --restart
same one/results.jsonl before

refuse 1 "${compare[@]}" --out data.jsonl
( # while another process writes there
    flock -n 9
    refuse 1 "${compare[@]}" --out one --restart
    err_has 'another process'
) 9<>one/results.jsonl
same one/results.jsonl before
mkdir itself-data
cp data.jsonl itself-data/results.jsonl
refuse 2 compare tiny --dataset itself-data/results.jsonl --out itself-data --restart
same data.jsonl itself-data/results.jsonl
refuse 1 "${compare[@]}" --out absent/below
mkdir -p place/results.jsonl locked full
refuse 1 "${compare[@]}" --out place
if [ "$(id -u)" != 0 ]; then
    chmod 555 locked
    refuse 1 "${compare[@]}" --out locked
fi
ln -s /dev/full full/results.jsonl
refuse 1 "${compare[@]}" --out full
(
    ulimit -f 8 # KiB: as a full disk
    trap '' XFSZ
    refuse 1 "${compare[@]}" --out short
    err_has 'cannot be written'
)
expect 0 "${compare[@]}" --out short
same one/results.jsonl short/results.jsonl
refuse 2 compare tiny tiny --dataset data.jsonl
refuse 2 compare tiny tiny --out one -p Hello
refuse 2 "${compare[@]}" --out one -p Hello

# ---- lines that are wrong, before anything is evaluated ----

bad_line() { # BYTE WORDS LINE
    { head -n 2 data.jsonl; printf '%s\n' "$3"; } >bad.jsonl
    refuse 2 compare tiny tiny --dataset bad.jsonl --out bad
    err_has "bad.jsonl: line 3, byte $1: .*$2"
    [ ! -e bad ] || die 'DIR was made before the data was read'
}
bad_line 12 'not JSON' '{"prompt":"a'
bad_line 0 'not a JSON object' '[1]'
bad_line 0 'no prompt' '{"id":"x","answer":"y"}'
bad_line 12 'id 1024 of "ids" is outside the vocabulary of 1024' '{"ids":[2 , 1024]}'
bad_line 10 'not a token id' '{"ids":[2,-1]}'
bad_line 7 'list of token ids' '{"ids":[]}'
bad_line 7 '"ids" is no list' '{"ids":"2"}'
bad_line 8 'empty' '{"text":""}'
bad_line 10 'NUL' '{"prompt":"a\u0000"}'
bad_line 10 'no string' '{"prompt":7}'
bad_line 12 'role' '{"messages":[{"role":"nobody","content":"a"}]}'
bad_line 12 'list of messages' '{"messages":[]}'
bad_line 52 'tools' '{"messages":[{"role":"user","content":"a"}],"tools":[7]}'
bad_line 6 '"id" is no string' '{"id":[],"text":"a"}'
bad_line 18 'duplicate' '{"text":"a","text":"b"}'
printf '\n \n' >bad.jsonl
refuse 2 compare tiny tiny --dataset bad.jsonl --out bad
refuse 1 compare tiny tiny --dataset . --out bad
refuse 1 compare tiny tiny --dataset /dev/null --out bad

# ---- what fails alone ----

# a prompt longer than the context: both numbers, and the others go on
{
    sed -n '1,2p' data.jsonl
    printf '{"id":"long","ids":[2%s]}\n' "$(printf ',%d' $(seq 300 399))"
    sed -n '3p' data.jsonl
} >long.jsonl
expect 1 compare tiny tiny --dataset long.jsonl --out long -n 8 -c 64
err_has 'E_CONTEXT: long.jsonl: prompt "long": .*101.*64'
out_has '1 longer than the context'
[ "$(grep -c '"status":"ok"' long/results.jsonl)" = 3 ] || die 'the others did not go on'
grep -q '"context": 1' long/summary.json || die 'the summary does not count it'

# ---- recorded logits ----

ids=$(sed -n '1s/.*"ids":\[\([0-9,]*\)\],.*/\1/p' data.jsonl)
expect 0 logits tiny --ids "$ids" --all --out rows.npy
printf '{"id":"r","ids":[%s],"logits":"rows.npy"}\n' "$ids" >recorded.jsonl
expect 0 compare tiny --dataset recorded.jsonl --out recorded --json
tr -d ' \n' <out | grep -q '"kl":{"mean":0.0,.*"interval":null' || die 'recorded logits are not the same'
expect 0 compare tiny --ref-logits rows.npy --ids "$ids"
refuse 2 compare tiny --dataset recorded.jsonl --out recorded --driver test
refuse 2 compare tiny tiny --dataset recorded.jsonl --out recorded

bad_npy() { # WORDS
    refuse 4 compare tiny --dataset recorded.jsonl --out bad
    err_has "$1"
    refuse 4 compare tiny --ref-logits rows.npy --ids "$ids"
    err_has "rows.npy: .*$1"
}
cp rows.npy good.npy
head -c -4 good.npy >rows.npy
bad_npy 'bytes of numbers are there'
sed '1s/<f4/<f8/' good.npy >rows.npy
bad_npy "type is '<f8', expected '<f4'"
sed '1s/<f4/>f4/' good.npy >rows.npy
bad_npy "type is '>f4', expected '<f4'"
sed '1s/False/True /' good.npy >rows.npy
bad_npy "Fortran"
sed '1s/1024)/1023)/' good.npy >rows.npy
bad_npy '1023), expected (.*1024)'
sed '1s/NUMPY/NUMPI/' good.npy >rows.npy
bad_npy 'begins with'
: >rows.npy
bad_npy '0 bytes'
rows=$(sed -n "1s/.*'shape': (\([0-9]*\),.*/\1/p" good.npy | tr -d '\0')
sed "1s/($rows, /($((rows - 1)), /" good.npy >rows.npy
refuse 4 compare tiny --ref-logits rows.npy --ids "$ids"
# NaN on one side: that prompt is concerning and named, and the run goes on
{ head -c -4096 good.npy; printf '\000\000\300\177'; tail -c 4092 good.npy; } >rows.npy
{ sed 's/"id":"r"/"id":"broken"/' recorded.jsonl; sed 's/rows/good/' recorded.jsonl; } >broken.jsonl
expect 7 compare tiny --dataset broken.jsonl --out broken
head -n 1 out | grep -q '^concerning: ' || die 'NaN is not concerning'
out_has 'prompt "broken": .*NaN'
grep -q '"status":"numeric"' broken/results.jsonl || die 'the prompt does not say so'
[ "$(grep -c '"status":"ok"' broken/results.jsonl)" = 1 ] || die 'the other did not go on'

# ---- on a narrow terminal ----

for columns in 80 40; do
    COLUMNS=$columns "$CARAT" "${compare[@]}" --out at --at 5,10,12 --ignore-eos >out
    awk -v most=$columns 'length > most { exit 1 }' out || die "a line is wider than $columns columns"
done
