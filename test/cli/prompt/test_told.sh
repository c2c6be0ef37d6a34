#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_told.sh: what ends an answer and what is told of its tokens at the command line: --stop, --ban,
# --loop-guard, --logprobs, in run and chat. What they do to generations is test_generate_stop.c's and
# test_generate_told.c's.
. "$CARAT_SOURCE/test/cli/common.bash"

ask='Turn on the kitchen lights'
answer='The kitchen lights are now on.'
run() { expect 0 run tiny "$ask" --temp 0 "$@"; }
ids_of() { sed 's/.*"ids":\(\[[0-9,]*\]\),"text".*/\1/' out; }

run
out_is "$answer
"

# --stop: the match is not printed, whatever makes the tokens
for how in '' '--lookup on' '--naive' '--isa ref' '--chunk 1 -t 1'; do
    # shellcheck disable=SC2086  # words of a command line
    run --stop 'en lights a' $how
    out_is 'The kitch
'
done
run -r nowhere --reverse-prompt ' now' --stop=on.
out_is 'The kitchen lights are
'
run --stop "$answer"
out_is '
'
run --stop "$answer!" --stop "x$answer" -v # held back, and not lost
out_is "$answer
"
err_has 'stopped: stop'
run --stop 'lights' --json
out_has '"text":"The kitchen ","stop":"stop_string"'
run --stop 'lights!' -n 3 --json
out_has '"text":"The kitchen lights","stop":"length"'
run --context-shift -c 24 --ignore-eos -n 60 --loop-guard off
mv out shifted
run --context-shift -c 24 --ignore-eos -n 60 --loop-guard off --stop "$answer..........." --stop ' oniwas'
same shifted out

# a call that a stop string cuts is no call
expect 0 run tiny "$ask" --tools "$tiny/tools.json" --temp 0
mv out calls
expect 0 run tiny "$ask" --tools "$tiny/tools.json" --temp 0 --stop 'l>call' --stop '>c' --stop nowhere
same calls out
expect 0 run tiny "$ask" --tools "$tiny/tools.json" --temp 0 --stop '{room'
out_is '
'
err_has 'within the call of a function'

# --ban
run --ban 528 --json
ids_of >ids
if grep -qw 528 ids; then die 'a banned id'; fi
printf '528, 817' >list
run --ban @list --ignore-eos -n 40 --json
ids_of >ids
if grep -qwE '528|817' ids; then die 'a banned id'; fi

# --loop-guard: where only words of the answer may come, the last one comes for ever
seq 0 1023 | grep -vxE '528|817|605|606|660|650|953' >few
for how in '' '--lookup on' '--isa ref' '--loop-guard 96'; do
    # shellcheck disable=SC2086  # words of a command line
    run --ban @few -n 150 --json $how
    out_has '"stop":"loop"'
    ids_of >"ids of $how"
    same 'ids of ' "ids of $how"
    err_has "^note: 1 token went round and round, which ended the answer: '.' (953); --loop-guard off lets it go on"
    [ "$(wc -l <err)" = 1 ] || die 'not one line'
done
run --ban @few -n 150 --loop-guard 10 -v
[ "$(wc -c <out)" -lt 60 ] || die 'it went round for longer'
err_has 'stopped: loop'
run --ban @few -n 150 --loop-guard off --json
out_has '"stop":"length"'
[ ! -s err ] || die 'a note without need'

# --logprobs
run --json
ids_of >plain
if grep -q logprobs out; then die 'log-probabilities that nobody asked for'; fi
run --json --logprobs 2
ids_of >with
same plain with
out_has '"logprobs":{"content":\[{"token":"The","logprob":-[0-9.e-]*,"bytes":\[84,104,101\],"id":528,"top_logprobs":\[{"token":"The",'
out_has '{"token":" kitchen","logprob":-[0-9.e-]*,"bytes":\[32,107,105,116,99,104,101,110\],"id":817,'
[ "$(grep -o '"top_logprobs":\[{[^]]*\][^]]*\]' out | wc -l)" = 7 ] || die 'not all tokens'
run --json --logprobs 0
out_has '"top_logprobs":\[\]'
run --logprobs 1
out_is "$answer
"
err_has '^"The" -[0-9.e-]* ([0-9.]* %): "The" -'
[ "$(wc -l <err)" = 7 ] || die 'not one line a token'

# in a conversation the answer is what was printed
printf '%s\n%s\n' "$ask" "/save kept" | "$CARAT" chat tiny --temp 0 --stop ' lights are' >out 2>err || die 'chat'
out_is 'The kitchen
'
grep -aq '"assistant","content":"The kitchen"' kept || die 'another answer is kept'
echo "$ask" | "$CARAT" chat tiny --temp 0 --ban @few >out 2>err || die 'chat'
err_has '^note: 1 token went round'

# what is refused
long=$(head -c 1025 /dev/zero | tr '\0' x)
for wrong in '--stop=' "--stop=$long" $'--stop=\xff' '--ban=1024' '--ban=-1' '--ban=x' '--loop-guard=0' '--loop-guard=4097' \
    '--loop-guard=on' '--logprobs=21' '--logprobs=-1'; do
    refuse 2 run tiny hi "$wrong"
    name=${wrong%%=*}
    err_has "$name"
done
many=()
for i in $(seq 17); do many+=(--stop "$i"); done
refuse 2 chat tiny "${many[@]}"
err_has "option --stop: '17' is one too many, at most 16 are taken"
