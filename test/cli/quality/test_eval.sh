#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_eval.sh: `carat eval`: what is counted, Wilson's interval, --min, that no way to compute changes a
# byte, and what is refused. That the log-probabilities are right is test/cli/quality/test_score_vectors.sh's.
. "$CARAT_SOURCE/test/cli/common.bash"

told() { sed 's/,"timings":{[^}]*}//' out; }

cat >items.jsonl <<'END'
{"question":"Where is the bed?","choices":["The bed is in the bedroom.","The bed is in the office."],"answer":0,"subject":"home"}
{"question":"Where is the sofa?","choices":["The sofa is in the kitchen.","The sofa is in the living room."],"answer":"b","subject":"home","context":"Say it."}
{"question":"Turn on the kitchen lights","choices":["The kitchen lights are now on.","no","x y z"],"answer":"A","subject":"lights","id":7}
{"question":"Turn on the kitchen lights","choices":["The kitchen lights are now on.","no","x y z"],"answer":2,"subject":"lights","id":8}
END
expect 0 eval tiny items.jsonl --chat --jsonl
told >lines
out_has '^{"line":1,"status":"ok","answer":0,"letter":{"chosen":[01],"logprobs":\[-[0-9.]*,-[0-9.]*\]},"likelihood":{"chosen":0,'
out_has '^{"line":2,"status":"ok","answer":1,.*"likelihood":{"chosen":1,'
out_has '^{"line":3,"status":"ok","answer":0,.*"likelihood":{"chosen":0,.*"subject":"lights","id":7}$'
# Wilson's interval of three in four and of all of two
out_has '"likelihood":{"right":3,"accuracy":0.75,"interval":\[0.30064[0-9]*,0.95441[0-9]*\]}'
out_has '"subjects":\[{"items":2,.*"likelihood":{"right":2,"accuracy":1.0,"interval":\[0.34238[0-9]*,1.0\]}.*"subject":"home"},{"items":2,'
# one divided by the bytes of the text
awk -F'"logprobs":' '/^{"line":1/ { split($3, a, /[[,\]]/); split($4, b, /[[,\]]/); d = a[2] / 26 - b[2]
    exit !(d < 1e-9 && d > -1e-9) }' lines || die 'per byte is not the likelihood by the bytes'
expect 0 eval tiny items.jsonl --chat
out_has '^all: 4 items$'
out_has '^  likelihood  *3 right   75.0 %  (95 %: 30.1 to 95.4)$'
out_has '^home: 2 items$'
expect 0 eval tiny - --chat --jsonl <items.jsonl
sed -i 's/"file":"standard input"/"file":"items.jsonl"/' out
told >others
same lines others
expect 0 eval tiny items.jsonl --jsonl
told >plain
differ lines plain

# --min is about the letter, by which more of these are right than by likelihood
expect 0 eval tiny items.jsonl
out_has '^  letter  *[0-9] right'
right() { sed -n "2,4s/^  $1 *\([0-9]\) right.*/\1/p" out; }
letter=$(right letter)
likelihood=$(right likelihood)
[ "$letter" != "$likelihood" ] || die 'the items do not tell the ways apart'
expect 0 eval tiny items.jsonl --min 0."$((letter * 25))"
refuse 7 eval tiny items.jsonl --min 0."$((letter * 25 + 1))"
err_has "E_CHECK: eval: the accuracy by letter is 0\.[0-9]*, below --min 0.$((letter * 25 + 1))"
out_has '^all: 4 items$'

for options in '-t 1' '-t 2' '-t 3' '--chunk 1' '--chunk 7' '--chunk 64' '--isa avx2' '--isa avx512' '--isa vnni'; do
    # shellcheck disable=SC2086 # words
    "$CARAT" eval tiny items.jsonl --chat --jsonl $options >out 2>err || { err_has 'isa' && continue; die "$options"; }
    told >others
    same lines others
done

# ---- what is refused: file, line and byte, before anything is evaluated ----

refuse 2 eval tiny
refuse 2 eval tiny items.jsonl --json --jsonl
refuse 2 eval tiny items.jsonl --chat-template gemma3
refuse 2 eval tiny items.jsonl --min 1.5
refuse 2 eval - - <items.jsonl
refuse 1 eval tiny nowhere
: >empty
refuse 2 eval tiny empty
good=$(head -n 1 items.jsonl)
bad() {
    printf '%s\n' "$good" "$1" >bad.jsonl
    refuse 2 eval tiny bad.jsonl --jsonl
    err_has "E_USAGE: bad.jsonl: line 2, byte $2: $3"
    [ ! -s out ] || die "$1: something was scored before"
}
bad 'no' 2 'this is not JSON'
bad '' 0 'this is not JSON'
bad '[1]' 0 'this is not a JSON object'
bad '{"choices":["a","b"],"answer":0}' 0 'there is no "question"'
bad '{"question":"","choices":["a","b"],"answer":0}' 12 '"question" is empty'
bad '{"question":7,"choices":["a","b"],"answer":0}' 12 '"question" is not a string'
bad '{"question":"q\u0000","choices":["a","b"],"answer":0}' 12 '"question" has a NUL'
bad '{"question":"q","answer":0}' 0 'there is no list "choices"'
bad '{"question":"q","choices":["a"],"answer":0}' 26 '"choices" are 1, expected 2 to 26'
many=$(printf '"c%d",' $(seq 26))
bad "{\"question\":\"q\",\"choices\":[$many\"x\"],\"answer\":0}" 26 '"choices" are 27, expected 2 to 26'
bad '{"question":"q","choices":["a","b","a"],"answer":0}' 35 '"choices"\[0\] and \[2\] are the same'
bad '{"question":"q","choices":["a",""],"answer":0}' 31 '"choices"\[1\] is empty'
bad '{"question":"q","choices":["a",1],"answer":0}' 31 '"choices"\[1\] is not a string'
bad '{"question":"q","choices":["a","b"]}' 0 'there is no "answer"'
bad '{"question":"q","choices":["a","b"],"answer":2}' 45 '"answer" is none of the 2 choices, expected 0 to 1 or A to B'
bad '{"question":"q","choices":["a","b"],"answer":-1}' 45 '"answer" is none'
bad '{"question":"q","choices":["a","b"],"answer":"C"}' 45 '"answer" is none'
bad '{"question":"q","choices":["a","b"],"answer":"AB"}' 45 '"answer" is neither an index nor a letter'
bad '{"question":"q","choices":["a","b"],"answer":true}' 45 '"answer" is neither'
bad '{"question":"q","choices":["a","b"],"answer":0,"subject":3}' 57 '"subject" is not a string'
bad $'{"question":"\377","choices":["a","b"],"answer":0}' 13 'this is not UTF-8 (found 0xff)'
bad '{"question":"q","question":"q","choices":["a","b"],"answer":0}' 26 'this is not JSON: duplicate'

# longer than the context: the others are scored
printf '%s\n' "$good" "{\"question\":\"$(seq -s ' ' 60)\",\"choices\":[\"a\",\"b\"],\"answer\":0}" "$good" >long.jsonl
expect 1 eval tiny long.jsonl -c 64 --jsonl
err_has 'E_CONTEXT: long.jsonl: 1 of 3 items are longer than the context of 64; line 2 has [0-9]* tokens'
out_has '^{"line":2,"status":"context","tokens":[0-9]*}$'
[ "$(grep -c '"status":"ok"' out)" = 2 ] || die 'the others were not scored'

# NaN is named
mkdir broken
cp -r "$tiny"/. broken/
chmod -R u+w broken
size=$(od -An -t u8 -N 8 broken/model.safetensors | tr -d ' ')
printf '\x80\x7f' | dd of=broken/model.safetensors bs=1 seek=$((size + 8 + 16)) conv=notrunc status=none
refuse 4 eval broken --no-cache items.jsonl
err_has 'E_NUMERIC: items.jsonl: line 1: .*NaN or infinity'
