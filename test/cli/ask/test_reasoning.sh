#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_reasoning.sh: a model that thinks, in run and chat: thoughts go to standard error or into JSON, the
# answer alone to standard output; where they end; that the next turn goes on where the model's turn began,
# with the answers of a fresh session; what is refused. How thoughts are divided from answers is
# engine/test_thoughts.c's, what is rendered text/test_chat_gemma4.c's.
. "$CARAT_SOURCE/test/cli/common.bash"

# models/tiny with Gemma 4's control tokens at Gemma 4's ids: weights that know nothing of thoughts
mkdir thinker
cp "$tiny/config.json" "$tiny/model.safetensors" "$tiny/generation_config.json" thinker
sed -e 's/<start_of_turn>/<|turn>/g; s/<end_of_turn>/<turn|>/g; s/<unused92>/<|think|>/g' \
    -e 's/<unused94>/<|channel>/g; s/<unused95>/<channel|>/g; s/<unused0>/thought/g' \
    -e 's/<start_function_/<|tool_/g; s/<end_function_call>/<tool_call|>/g; s/<escape>/<|\\"|>/g' \
    "$tiny/tokenizer.json" >thinker/tokenizer.json
# a chain that has it think: <|channel>, thought and an empty line are drawn once, <channel|> never
small=(--chat-template gemma4-small --temp 0)
thinks=(-l 100+900 -l 6+800 -l 108+700 -l 101-inf --presence-penalty 1000 --repeat-last-n -1)
prompt='Turn on the kitchen lights'
# field NAME: a text or a list in the JSON of the file out, as JSON writes it
field() { sed -nE "s/.*\"$1\": *(\"([^\"\\\\]|\\\\.)*\"|\[[^]]*\]).*/\\1/p" out | tr -d ' '; }
# text FILE: what is in the file as one line of JSON, without its last line break and without spaces
text() { printf '"%s"\n' "$(sed -z 's/\n$//; s/\n/\\n/g' "$1")" | tr -d ' '; }

# ---- what goes where ----

expect 0 run thinker "${small[@]}" -n 20 "$prompt" # which packs it
expect 0 run thinker "${small[@]}" -n 20 "$prompt"
[ -s out ] && [ ! -s err ] || die 'there are messages'
expect 0 run thinker "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5 "$prompt"
cp out answer
cp err thought
[ "$(wc -l <thought)" = 2 ] && [ "$(wc -l <answer)" = 1 ] || die 'a thought or an answer is not as long'
grep -q thought thought answer && die 'the name of the channel is printed'
expect 0 run thinker "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5 --hidethinking "$prompt"
same answer out
[ ! -s err ] || die 'a hidden thought is printed'
expect 0 run thinker "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5 --json "$prompt"
[ ! -s err ] || die 'with --json a thought is printed'
[ "$(field text)" = "$(text answer)" ] || die 'the answer in JSON is another one'
[ "$(field thinking)" = "$(text thought)" ] || die 'the thought in JSON is another one'
[[ "$(field ids)" =~ ^\[100,6,108,([0-9]+,){4}101, ]] || die "not these ids: $(field ids)"
expect 0 run thinker "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5 --json --hidethinking "$prompt"
if grep -q '"thinking"' out; then die 'a hidden thought is in JSON'; fi
expect 0 run thinker "${small[@]}" -n 20 --json "$prompt"
if grep -q '"thinking"' out; then die 'there is a thought without one'; fi
# standard error and output on one terminal
"$CARAT" run thinker "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5 "$prompt" >both 2>&1
same both <(cat thought answer)

# on a terminal a thought is dim, an empty line follows it, and no byte of it is obeyed
if command -v script >/dev/null; then
    read -r escape <<<"$("$CARAT" tokenize thinker --no-bos $'\x1b')"
    TERM=xterm script -qec "'$CARAT' run thinker ${small[*]} ${thinks[*]} -l $escape+600 -n 20 --reasoning-budget 5 \
        --no-perf '$prompt'" /dev/null | tr -d '\r' >screen
    grep -qF $'\\x1b\x1b[0m' screen && ! sed $'s/\x1b\\[[02]m//g' screen | grep -q $'\x1b' ||
        die "an escape in a thought is obeyed: $(cat -v screen)"
    grep -q $'\x1b\\[2m.*ow' screen || die "a thought is not dim: $(cat -v screen)"
    [ "$(tail -n 2 screen | head -n 1)" = '' ] || die "no line between thought and answer: $(cat -v screen)"
fi

# ---- where thoughts end ----

# within the budget of the whole answer: there is no answer
expect 0 run thinker "${small[@]}" "${thinks[@]}" -n 7 "$prompt"
[ "$(tr -d '\n' <out)" = '' ] && [ -s err ] || die 'a thought that was cut off is no thought'
[ "$(tail -c 1 err | wc -l)" = 1 ] || die 'its line does not end'
tail -n 1 err | grep -q '^note: the answer ended inside its thought, after 7 tokens: --reasoning-budget N ' ||
    die 'nobody says why there is no answer'
expect 0 chat thinker "${small[@]}" "${thinks[@]}" -n 7 <<<"$prompt"
grep -q '^note: the answer ended inside its thought, after 7 tokens' err || die 'chat does not say it'
expect 0 run thinker "${small[@]}" "${thinks[@]}" -n 7 --json "$prompt"
[ "$(field text)" = '""' ] && [ "$(field stop)" = '"length"' ] && [ -n "$(field thinking)" ] || die 'as JSON'
# at once, and by itself: an empty thought
expect 0 run thinker "${small[@]}" "${thinks[@]}" -n 8 --reasoning-budget 0 "$prompt"
[ ! -s err ] && [ -s out ] || die 'an empty thought is printed'
expect 0 run thinker "${small[@]}" -l 100+900 -l 6+800 -l 108+700 -l 101+600 --presence-penalty 1000 \
    --repeat-last-n -1 -n 8 -v "$prompt"
grep -q 'thought 4 tokens' err && ! grep -q 'up to the budget' err || die 'not a thought of four tokens'
expect 0 run thinker "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5 -v "$prompt"
grep -q 'thought 8 tokens, up to the budget' err || die 'no word of the budget'
# the same however it is made
for way in --naive '--lookup on' '--lm-head exact-pruned' '--isa ref'; do
    # shellcheck disable=SC2086
    expect 0 run thinker "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5 $way "$prompt"
    same answer out
    same thought err
done
# a stop string is searched for in the answer alone
word=$(tr -d '\n' <thought | tr -s ' ' '\n' | awk 'length > 1' | head -n 1)
expect 0 run thinker "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5 --stop "$word" "$prompt"
same answer out
# a thought that the prompt begins goes on where a context that is full is shifted, and drops its beginning
expect 0 run thinker --ids 2,105,502,107,100,6,107 --temp 0 --ignore-eos --ban 100,101 -c 64 -n 90 --context-shift
grep -q 'was full 2 times' err || die 'nothing was shifted'
[ "$(tr -d '\n' <out)" = '' ] || die "a thought goes on as an answer: $(cat out)"
# --log-jsonl counts them
expect 0 run thinker "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5 --log-jsonl log "$prompt"
grep -q '"thought_tokens": *8' log || die 'the log does not count thoughts'

# ---- what is rendered ----

printf '[{"role":"user","content":"%s"}]' "$prompt" >messages.json
for how in '' '--reasoning off' '--reasoning auto' '--think false'; do
    # shellcheck disable=SC2086
    expect 0 render thinker --chat-template gemma4 --messages messages.json $how
    printf '<bos><|turn>user\n%s<turn|>\n<|turn>model\n<|channel>thought\n<channel|>' "$prompt" | same out -
done
for how in '--reasoning on' '--think' '-rea on'; do
    # shellcheck disable=SC2086
    expect 0 render thinker --chat-template gemma4 --messages messages.json $how
    printf '<bos><|turn>system\n<|think|>\n<turn|>\n<|turn>user\n%s<turn|>\n<|turn>model\n' "$prompt" | same out -
done
expect 0 run thinker "${small[@]}" --reasoning on --json -n 1 "$prompt"
field prompt_ids | tr -d '[]' | tr , ' ' >ids
expect 0 render thinker --chat-template gemma4-small --messages messages.json --reasoning on --ids
same out ids
CARAT_ARG_REASONING=on expect 0 render thinker --chat-template gemma4-small --messages messages.json --ids
same out ids

# ---- conversations ----

talk() {
    local code=0
    "$CARAT" chat thinker "$@" <in >out 2>err || code=$?
    [ "$code" = 0 ] || die "carat chat thinker $*: exit code $code: $(cat err)"
}
evaluated() { sed -nE 's/^prompt ([0-9]+) .*/\1/p' err | tr '\n' ' '; }
whole() { sed -nE 's/^prompt ([0-9]+ of )?([0-9]+) token.*/\2/p' err | tr '\n' ' '; }
# next FEWER ARGUMENTS...: the second turn evaluates what follows the first prompt but for its last FEWER
# tokens, and says what a fresh session says
next() {
    local fewer=$1 a b c d answer
    shift
    printf '%s\n' "$prompt" 'Is it on?' >in
    talk "$@" -v
    read -r a b <<<"$(whole)"
    read -r c d <<<"$(evaluated)"
    [ "$c" = "$a" ] && [ "$d" = $((b - a + fewer)) ] || die "chat $*: $c of $a, then $d of $b evaluated"
    head -n 1 out >first
    tail -n +2 out >second
    answer=$(sed 's/[\\"]/\\&/g' first)
    printf '[{"role":"user","content":"%s"},{"role":"assistant","content":"%s"},%s]' "$prompt" "$answer" \
        '{"role":"user","content":"Is it on?"}' >history.json
    expect 0 run thinker "$@" --messages history.json
    same out second
}
# answers longer than the window of 64 tokens; with thoughts, without, and with an empty one in the prompt
next 0 "${small[@]}" "${thinks[@]}" --reasoning on --reasoning-budget 40 -n 130 --ignore-eos --ban 107,109,110
next 4 --chat-template gemma4 --temp 0 --ignore-eos -n 90 --ban 107,108,109,110
next 4 --chat-template gemma4 --temp 0 -n 90
printf '%s\n' '/set reasoning' '/set reasoning true' '/show' "$prompt" '/set reasoning off' '/show' "$prompt" >in
"$CARAT" chat thinker "${small[@]}" -n 9 -v <in >out 2>err && die '/set reasoning without a value is taken'
sed -i 1d in
talk "${small[@]}" -n 9 -v
grep -q '^reasoning on$' err && grep -q '^reasoning off$' err || die '/show does not say it'
read -r a b <<<"$(whole)"
read -r _ d <<<"$(evaluated)"
[ "$d" = $((b - 2)) ] || die "without the system turn that asks for thoughts all is new: $d of $b after $a"
# a conversation in a file has its thoughts
printf '%s\n' "$prompt" '/save kept' >in
talk "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5
grep -qa '"reasoning_content":"' kept || die 'the thought is not kept'
printf '%s\n' '/load kept' 'Is it on?' >in
talk "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5
cp out loaded
printf '%s\n' "$prompt" 'Is it on?' >in
talk "${small[@]}" "${thinks[@]}" -n 20 --reasoning-budget 5
same loaded <(tail -n 1 out)

# ---- a model that was trained to think ----

tiny4=$CARAT_SOURCE/test/fixtures/tiny4 question='Does the horse have more legs than the duck?'
said() { grep -v '^note:' err; }
expect 0 run "$tiny4" --temp 0 --reasoning on "$question"
out_is $'Yes, the horse has more legs.\n'
[ "$(said)" = 'The horse has four legs. The duck has two legs.' ] || die "it thinks: $(said)"
expect 0 run "$tiny4" --temp 0 --reasoning on --reasoning-budget 3 "$question"
[ "$(said)" = 'The horse has' ] || die "within three tokens it thinks: $(said)"
expect 0 run "$tiny4" --temp 0 "$question"
if said; then die 'it thinks unasked'; fi
cat >tools.json <<'T'
[{"type":"function","function":{"name":"get_temperature","description":"Measures a room.","parameters":
{"type":"object","properties":{"room":{"type":"string"}},"required":["room"]}}},{"type":"function","function":
{"name":"set_lights","description":"Switches lights.","parameters":{"type":"object","properties":
{"on":{"type":"boolean"},"room":{"type":"string"}},"required":["on","room"]}}}]
T
expect 0 run "$tiny4" --temp 0 --reasoning on --tools tools.json --tool-command 'echo ok' \
    'Could you turn on the attic lights?'
same out - <<'T'
{"name":"set_lights","arguments":{"on":true,"room":"attic"}}
The attic lights are now on.
T
[ "$(said)" = $'I can call set_lights.\nIt worked.' ] || die "with a call it thinks: $(said)"
# the turn of the call goes on as it was written, thought and all; the next one where the first began
printf '%s\n' 'Could you turn on the attic lights?' ok 'Where does the bear live?' >in
code=0
"$CARAT" chat "$tiny4" --temp 0 --reasoning on --tools tools.json -v <in >out 2>err || code=$?
[ "$code" = 0 ] && [ "$(tail -n 1 out)" = 'The bear lives in the cave.' ] || die 'no conversation'
read -r a b c <<<"$(whole)"
read -r _ q r <<<"$(evaluated)"
[ "$q" -lt 20 ] && [ "$b" -gt $((a + 40)) ] || die "behind the call $q of $b are evaluated, $a before"
[ "$r" = $((c - a)) ] || die "in the next turn $r of $c are evaluated, $a before the first answer"

# ---- what is refused ----

expect 2 run tiny --reasoning on hi
err_has '--reasoning on: the functiongemma template has no thoughts'
expect 2 run thinker --reasoning on hi
err_has 'has no chat template, so it takes no --reasoning on'
expect 2 run tiny --raw --reasoning on hi
err_has '--raw uses no chat template, so it takes no --reasoning on'
expect 2 chat tiny --reasoning on
err_has '--reasoning on: the functiongemma template has no thoughts'
expect 2 run tiny --reasoning perhaps hi
err_has 'perhaps'
expect 2 run tiny --reasoning-budget -2 hi
printf '/set reasoning on\n' >in
"$CARAT" chat tiny <in >out 2>err && die '/set reasoning on is taken where nobody thinks'
err_has '--reasoning on: the functiongemma template has no thoughts'
expect 0 run tiny --reasoning off --reasoning-budget 5 -n 1 hi
err_has '--reasoning-budget changes nothing'
