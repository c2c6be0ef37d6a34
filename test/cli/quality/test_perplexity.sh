#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_perplexity.sh: `carat perplexity`: how windows are cut and counted, the model's turns of conversations,
# that no way to compute changes a byte, and what is refused. That the numbers are right is
# test/cli/quality/test_score_vectors.sh's.
. "$CARAT_SOURCE/test/cli/common.bash"

# without the time
told() { sed 's/,"timings":{[^}]*}//' out; }
number() { sed -n "$1s/.*\"$2\":\\([-0-9.e+]*\\).*/\\1/p" out; }

for i in $(seq 20); do
    echo "The lights in room $i are on, and nobody knows why the door of the kitchen is open."
done >text

# ---- windows ----

printf '%s' "$(cat text)" >bare # the newline at the end of a file is not part of the text
expect 0 tokenize tiny --json -f bare
ids=$(grep -o '[0-9][0-9]*' out | wc -l)
expect 0 perplexity tiny text -c 64 --jsonl
windows=$((ids / 64))
[ "$(grep -c '^{"window":' out)" = $windows ] || die "not the $windows windows that $ids ids have"
[ "$(number 1 first) $(number 2 first) $(number 1 scored)" = '33 97 31' ] || die 'windows are cut otherwise'
[ "$(number '$' scored)" = $((31 * windows)) ] || die 'not 31 ids of every window are scored'
[ "$(number '$' left_over)" = $((ids - 64 * windows)) ] || die 'what is left over'
told >lines
# the result is the mean of the windows
awk -F'"loss":' '/^{"window"/ { split($2, a, ","); sum += a[1]; n++ } /^{"result"/ { split($2, a, ",");
    d = a[1] - sum / n; exit !(d < 1e-7 && d > -1e-7) }' lines || die 'the loss is not the mean of those of the windows'
expect 0 perplexity tiny text -c 64
out_has '^perplexity  [0-9.]* +/- [0-9.]*$'
out_has "^scored      $((31 * windows)) ids in $windows windows of 64\$"
expect 0 perplexity tiny - -c 64 --jsonl <text
sed -i 's/"file":"standard input"/"file":"text"/' out
told >others
same lines others
expect 0 perplexity tiny bare -c 64 --jsonl
sed -i 's/"file":"bare"/"file":"text"/' out
told >others
same lines others
# as llama-perplexity is called
expect 0 perplexity -m tiny -f text --ctx-size 64 --jsonl
told >others
same lines others

# ---- every id once ----

stride=16 bar=800 # and so many lines take longer than a bar waits
[ -z "${CARAT_CFLAGS:-}" ] || stride=40 bar=900 # sanitizers take their time
expect 0 perplexity tiny text -c 64 --stride $stride --json
[ "$(number 1 scored)" = $((ids - 1)) ] || die 'not every id is scored'
told >strided
loss=$(number 1 loss)
# in one window the session goes on where it stands
expect 0 perplexity tiny text -c 2048 --stride 100 --json
[ "$(number 1 scored)" = $((ids - 1)) ] || die 'not every id is scored in one window'
whole=$(number 1 loss)
expect 0 perplexity tiny text -c 2048 --stride 2047 --json
[ "$(number 1 loss)" = "$whole" ] || die "windows of a text that fits give $whole, one window $(number 1 loss)"
[ "$whole" != "$loss" ] || die 'a longer context changes nothing'

# ---- conversations ----

cat >talk.jsonl <<'END'
{"id":"a","messages":[{"role":"user","content":"Where is the bed?"},{"role":"assistant","content":"The bed is in the bedroom."},{"role":"user","content":"Turn on the kitchen lights"},{"role":"assistant","content":"The kitchen lights are now on."}]}
[{"role":"user","content":"Where is the bed?"},{"role":"model","content":"The bed is in the office."}]
END
expect 0 perplexity tiny --messages talk.jsonl --jsonl
told >talks
expect 0 tokenize tiny --json --no-bos 'The bed is in the bedroom.'
first=$(grep -o '[0-9][0-9]*' out | wc -l)
expect 0 tokenize tiny --json --no-bos 'The kitchen lights are now on.'
second=$(grep -o '[0-9][0-9]*' out | wc -l)
cp talks out
# each turn ends with <end_of_turn>
[ "$(number 1 scored)" = $((first + second + 2)) ] || die "$(number 1 scored) ids are scored of turns of $first and $second"
out_has '^{"line":1,"turns":2,"tokens":[0-9]*,"status":"ok","id":"a",'
awk -F'"loss":' '{ split($2, a, ","); loss[NR] = a[1] } END { exit !(loss[1] < 0.1 && loss[2] > 1) }' talks ||
    die 'what tiny answers is not likelier than what it does not'
expect 0 perplexity tiny --messages talk.jsonl
out_has ' ids in 2 conversations$'

# ---- the same bytes ----

# shellcheck disable=SC2086 # options are words
for options in '-t 1' '-t 2' '-t 3' '--chunk 1' '--chunk 7' '--chunk 64' '--isa avx2' '--isa avx512' '--isa vnni'; do
    case $options in *[37] | *avx2) ;; *) [ -z "${CARAT_CFLAGS:-}" ] || continue ;; esac # some will do with sanitizers
    "$CARAT" perplexity tiny text -c 64 --jsonl $options >out 2>err || { err_has 'isa' && continue; die "$options"; }
    told >others
    same lines others
    expect 0 perplexity tiny --messages talk.jsonl --jsonl $options
    told >others
    same talks others
done
expect 0 perplexity tiny --messages talk.jsonl --jsonl --isa ref
told >others
same talks others
expect 0 perplexity tiny text -c 64 --stride $stride --json -t 3 --chunk 7
told >others
same strided others

# ---- what is refused ----

refuse 2 perplexity tiny
refuse 2 perplexity tiny text --messages talk.jsonl
refuse 2 perplexity tiny text -f text
refuse 2 perplexity tiny --messages talk.jsonl --stride 4
refuse 2 perplexity tiny text --json --jsonl
refuse 2 perplexity tiny text -c 3
refuse 2 perplexity tiny text -c 64 --stride 64
refuse 2 perplexity tiny text --chat-template gemma3
refuse 2 perplexity - - <text
refuse 1 perplexity tiny nowhere
err_has 'nowhere'
refuse 2 perplexity tiny text -c $((ids / 2 + 1))
err_has "text has $ids ids, but perplexity needs two windows of $((ids / 2 + 1)) at least"
expect 0 perplexity tiny text -c $((ids / 2))
: >empty
refuse 2 perplexity tiny empty
refuse 2 perplexity tiny --messages empty
printf 'a' >one
refuse 2 perplexity tiny one -c 64
printf 'lights \377 on' >bytes
refuse 2 perplexity tiny bytes
err_has 'bytes is not UTF-8 at byte 7'
expect 0 perplexity tiny bytes --lossy --stride 4
printf '\n' >newline
refuse 2 perplexity tiny newline --stride 4

# conversations: file, line and byte, before anything is evaluated
good='[{"role":"user","content":"Hi"},{"role":"model","content":"Hi"}]'
bad() {
    printf '%s\n' "$good" "$1" >bad.jsonl
    refuse 2 perplexity tiny --messages bad.jsonl --jsonl
    err_has "E_USAGE: bad.jsonl: line 2, byte $2: $3"
    [ ! -s out ] || die "$1: something was scored before"
}
bad '' 0 'this is not JSON'
bad '{"messages":[]}' 12 "no message is the model's"
bad '{"messages":7}' 12 'there is no list "messages"'
bad '[1, x]' 5 'this is not JSON'
bad '{"messages":[' 13 'this is not JSON'
bad '{}' 0 'there is no list "messages"'
bad '[{"role":"user","content":"Hi"}]' 0 "no message is the model's"
bad '[]' 0 "no message is the model's"
bad '[{"role":"model","content":7}]' 0 'messages'
bad '[{"role":"nobody","content":"Hi"},{"role":"model","content":"Hi"}]' 0 'messages'
bad '{"messages":[{"role":"user","content":"Hi"},{"role":"model","content":"Hi"}],"tools":7}' 85 'tools'
bad $'["\377"]' 2 'this is not UTF-8 (found 0xff)'
# longer than the context: the others are scored
printf '%s\n' "$good" "$(head -n 1 talk.jsonl)" "$good" >long.jsonl
expect 1 perplexity tiny --messages long.jsonl -c 32 --jsonl
err_has 'E_CONTEXT: long.jsonl: 1 of 3 conversations are longer than the context of 32; line 2 has 4[0-9] tokens'
out_has '^{"line":2,"turns":2,"tokens":4[0-9],"status":"context","id":"a"}'
[ "$(grep -c '"status":"ok"' out)" = 2 ] || die 'the others were not scored'

# ---- NaN, Ctrl-C and the bar ----

mkdir broken
cp -r "$tiny"/. broken/
chmod -R u+w broken
size=$(od -An -t u8 -N 8 broken/model.safetensors | tr -d ' ')
printf '\x80\x7f' | dd of=broken/model.safetensors bs=1 seek=$((size + 8 + 16)) conv=notrunc status=none
refuse 4 perplexity broken --no-cache text -c 64
err_has 'E_NUMERIC: text: window 1: .*NaN or infinity'
refuse 4 perplexity broken --no-cache --messages talk.jsonl
err_has 'E_NUMERIC: talk.jsonl: line 1: .*NaN or infinity'

# shellcheck source=test/cli/interrupt.bash
. "$CARAT_SOURCE/test/cli/interrupt.bash"
for i in $(seq 100); do cat text; done >long
interrupted 0.3 perplexity tiny long -c 64 -t 1 || die "Ctrl-C: $(cat err)"
if command -v script >/dev/null; then
    head -n $bar long >some
    timeout 100 script -qec "$CARAT perplexity tiny some -c 64 -t 1" /dev/null </dev/null >out || die 'on a terminal'
    tr '\r' '\n' <out >lines
    grep -q '^scoring \[#* *\] *[0-9]* %  [0-9.]* tok/s  [0-9]* s left' lines || die "no bar: $(head -c 300 lines)"
fi
