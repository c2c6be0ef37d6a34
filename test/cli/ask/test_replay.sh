#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_replay.sh: `run --receipt` and `carat replay`: an answer is confirmed, also through other kernels; an
# altered one is refused or named by its token; of private ones the ids are the caller's.
. "$CARAT_SOURCE/test/cli/common.bash"

expect 0 run tiny 'Turn on the kitchen lights' --receipt r.json
out_is $'The kitchen lights are now on.\n'
[ "$(wc -l <r.json)" = 1 ] || die 'the receipt is not one line'
[ "$(wc -c <r.json)" -lt 1536 ] || die "the receipt has $(wc -c <r.json) bytes"
grep -q "$work\|$(hostname)" r.json && die 'the receipt names a path or a machine'
expect 0 replay r.json tiny
grep -qE '^confirmed: 8 tokens, [0-9.]+ s$' out || die "$(cat out)"
expect 0 replay r.json tiny --isa ref -t 1 --chunk 3
expect 0 replay r.json -m tiny --states
expect 0 replay - tiny --sample 0.5 --json <r.json
out_has '"confirmed":true'

# ---- settings ----

for i in 1 2 3; do
    expect 0 run tiny 'Tell me of a lamp' -n 70 --ignore-eos --temp 1 --seed $i --dry-multiplier 0.8 --receipt "$i.json" -t $i
done
cat 1.json 2.json 3.json >all.json
expect 0 replay all.json 3.json tiny
[ "$(grep -c 'confirmed: 70 tokens' out)" = 4 ] || die "$(cat out)"
out_has 'all.json: line 2: confirmed'
expect 0 run tiny 'Tell me of a lamp' -n 70 --ignore-eos --temp 1 --seed 1 --dry-multiplier 0.8 --receipt again.json --isa ref --chunk 1 -t 1
cmp 1.json again.json || die 'the receipt depends on the kernels'

# ---- altered ----

sed 's/"seed":"1"/"seed":"2"/' 1.json >bad.json
expect 7 replay bad.json tiny
out_has 'differs at token'
out_has 'apart'
sed 's/"digest":"./"digest":"x/' r.json >bad.json
refuse 4 replay bad.json tiny
err_has 'bad.json: predicate.digest at byte'
sed 's/"content":"......../"content":"00000000/' r.json >bad.json
refuse 4 replay bad.json tiny
err_has 'header.content is 00000000'
: >empty.json
refuse 4 replay empty.json tiny
refuse 1 replay none.json tiny
refuse 2 replay r.json
refuse 2 run tiny hello --receipt-private
refuse 2 run tiny hello --receipt r2.json --context-shift

truncate -s 1G large.json
refuse 4 replay large.json tiny
err_has 'expected at most 16 MiB of receipts'

# ---- more tokens than a context, another engine than the model can have ----

twos=$(printf '2,%.0s' {1..3000})
sed "s/\"prompt\":{\"ids\":\[[0-9,]*\],\"n\":[0-9]*/\"prompt\":{\"ids\":[${twos%,}],\"n\":3000/; s/\"context\":2048/\"context\":4000/" r.json >bad.json
refuse 4 replay bad.json tiny
err_has 'bad.json: predicate.prompt.n and predicate.answer.n are 3007 tokens, whose K and V need [0-9.]* MB, expected at most the 2048'
sed 's/"layers":6/"layers":7/' r.json >bad.json
refuse 4 replay bad.json tiny
err_has 'bad.json: predicate.header: layers is 7'
sed 's/"layers":6/"layers":7/; s/"content":"......../"content":"00000000/' r.json >bad.json
refuse 4 replay bad.json tiny
err_has 'header.content is 00000000'

# ---- another model: the same weights in BF16 ----

expect 0 convert tiny q8.gguf --type q8_0
expect 0 run q8.gguf 'Turn on the kitchen lights' --receipt q8.json
expect 0 replay q8.json q8.gguf
refuse 4 replay q8.json tiny
err_has "has weights of other types"

# ---- several: each is checked, whatever becomes of the others ----

sed 's/"seed":"2"/"seed":"3"/' 2.json >bad.json
cat 1.json q8.json bad.json 3.json >mixed.jsonl
expect 7 replay mixed.jsonl tiny
[ "$(cut -d : -f 2-3 out | grep -c '^ line [14]: confirmed')" = 2 ] || die "$(cat out)"
out_has '^mixed.jsonl: line 3: differs at token'
err_has 'mixed.jsonl: line 2: header.content is'
cat q8.json 3.json >mixed.jsonl
expect 4 replay - tiny <mixed.jsonl
out_has '^standard input: line 2: confirmed'

# ---- conversations, forms, tools ----

printf 'Turn on the kitchen lights\nAnd now?\n/regen\n/edit Is it on?\n/undo\nTell me of a lamp\n' | "$CARAT" chat tiny --receipt chat.json >out 2>err || die 'chat fails'
[ "$(wc -l <chat.json)" = 5 ] || die "chat.json has $(wc -l <chat.json) lines"
digest=$(sed -n '1s/.*"digest":"\([0-9a-f]*\)","digests".*/\1/p' chat.json)
sed -n 2p chat.json | grep -q "\"previous\":\"$digest\"" || die 'the second answer does not name the first'
expect 0 replay chat.json tiny
[ "$(grep -c confirmed out)" = 5 ] || die "$(cat out)"
expect 0 run tiny 'Is it on?' --regex '(yes|no)!' --receipt form.json
refuse 4 replay form.json tiny
err_has 'header.constraint'
refuse 4 replay form.json tiny --regex '(yes|no).'
err_has 'header.constraint.sha256'
expect 0 replay form.json tiny --regex '(yes|no)!'
expect 0 replay form.json tiny --states
expect 0 run tiny 'Turn on the kitchen lights' --tools "$tiny/tools.json" --tool-choice required --receipt calls.json
expect 0 replay calls.json tiny --tools "$tiny/tools.json" --tool-choice required

# ---- with a drafter, and with thoughts ----

tiny4=$CARAT_SOURCE/test/fixtures/tiny4
for how in '--temp 0' '--seed 5 --temp 1.3' '--seed 3 --reasoning on'; do
    # shellcheck disable=SC2086  # words of a command line
    expect 0 run "$tiny4" 'Turn on the kitchen lights' $how -n 60 --receipt alone.json
    # shellcheck disable=SC2086
    expect 0 run "$tiny4" 'Turn on the kitchen lights' $how -n 60 -md "$tiny4-assistant" --spec-type draft-mtp -v --receipt drafts.json
    err_has 'of the drafter [1-9]'
    cmp -s alone.json drafts.json || die "$how: a drafter changes the receipt"
    expect 0 replay drafts.json "$tiny4"
    out_has '^confirmed'
done

# ---- signed as it stands ----

if command -v ssh-keygen >/dev/null; then
    ssh-keygen -q -t ed25519 -N '' -f key
    ssh-keygen -q -Y sign -f key -n receipt r.json 2>/dev/null
    echo "me $(cat key.pub)" >signers
    ssh-keygen -q -Y verify -f signers -I me -n receipt -s r.json.sig <r.json >out 2>&1 || die "$(cat out)"
    sed 's/817/818/' r.json | ssh-keygen -q -Y verify -f signers -I me -n receipt -s r.json.sig >out 2>&1 && die 'an altered receipt is signed'
fi

# ---- private ----

expect 0 run tiny 'Turn on the kitchen lights' --receipt p.json --receipt-private
grep -q '"ids"' p.json && die 'a private receipt has ids'
refuse 4 replay p.json tiny
err_has 'private'
prompt=$(sed 's/.*"prompt":{"ids":\[\([0-9,]*\).*/\1/' r.json) answer=$(sed 's/.*"ids":\[\([0-9,]*\)\],"n":7.*/\1/' r.json)
expect 0 replay p.json tiny --prompt-ids "$prompt" --answer-ids "$answer"
refuse 4 replay p.json tiny --prompt-ids "$prompt" --answer-ids "${answer/817/818}"
err_has 'the given answer has another hash'
echo ok
