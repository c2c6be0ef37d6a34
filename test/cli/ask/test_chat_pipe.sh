#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_chat_pipe.sh: carat chat through a pipe: one message a line, answers alone on standard output; that
# only what is new is evaluated, whatever was taken back; conversations in files; what is refused. The
# terminal is test_chat.sh's.
. "$CARAT_SOURCE/test/cli/common.bash"

# talk CODE ARGUMENTS...: a conversation with tiny; standard input is in the file in.
talk() {
    local wanted=$1 code=0
    shift
    "$CARAT" chat tiny "$@" <in >out 2>err || code=$?
    [ "$code" = "$wanted" ] || die "carat chat tiny $*: exit code $code, expected $wanted"
}
say() { printf '%s\n' "$@" >in; }
# The tokens that the turns evaluated, one number a turn, and of how many.
evaluated() { sed -nE 's/^prompt ([0-9]+) .*/\1/p' err | tr '\n' ' '; }
whole() { sed -nE 's/^prompt ([0-9]+ of )?([0-9]+) token.*/\2/p' err | tr '\n' ' '; }

# ---- what goes in and comes out ----

say 'Turn on the kitchen lights' 'Is it on?'
talk 0
[ "$(wc -l <out)" = 2 ] || die "not two answers: $(cat out)"
out_has '^The kitchen lights are now on'
[ ! -s err ] || die 'there are messages'
cp out two
# the same answers as from one pass over the whole conversation
expect 0 run tiny 'Turn on the kitchen lights'
same out <(head -n 1 two)
printf '[{"role":"user","content":"Turn on the kitchen lights"},{"role":"assistant","content":"%s"},{"role":"user","content":"Is it on?"}]' \
    "$(head -n 1 two)" >messages.json
expect 0 run tiny --messages messages.json
same out <(tail -n 1 two)
printf 'Turn on the kitchen lights\r\n\n  \nIs it on?' >in # ends of lines from elsewhere, none at the end, empty ones
talk 0
same two out
say 'Turn on the kitchen lights' 'Is it on?'
talk 0 -st
same out <(head -n 1 two)
talk 0 -p 'Turn on the kitchen lights' -st
same out <(head -n 1 two)
"$CARAT" run tiny -cnv <in >out
same two out
: >in
talk 0
out_is ''
say '"""Turn on' 'the kitchen lights' '"""'
talk 0 -v
cp err several
[ "$(wc -l <out)" = 1 ] || die 'three lines between quotes are not one message'
say '"""Turn on the kitchen lights"""' '/bye' 'x'
talk 0
same out <(head -n 1 two)
for leave in /quit /exit /q; do
    say '"""Turn on the kitchen lights"""' $leave 'x'
    talk 0
    same out <(head -n 1 two)
done
# bytes that a terminal would obey go out as they are: chat is a filter here
say hi
talk 0 --ignore-eos -n 64 --temp 2 --seed 3
cp out wild
talk 0 --ignore-eos -n 64 --temp 2 --seed 3 --isa ref -t 1
same wild out

# ---- only what is new is evaluated ----

say 'Turn on the kitchen lights' 'Is it on?' '/undo' 'Is it on?' '/regen' '/edit Is it off?'
talk 0 -v
all=$(whole) new=$(evaluated)
read -r a b c d e <<<"$all"
read -r p q r s t <<<"$new"
[ "$p" = "$a" ] || die "the first turn: $p of $a"
# the last token of the answer, <end_of_turn>, and the new message
[ "$q" -lt $((b - a)) ] && [ "$b" = "$c" ] && [ "$c" = "$d" ] || die "the second turn: $new of $all"
[ "$r" -le "$q" ] && [ "$s" = 1 ] || die "taken back, and answered again: $new of $all"
[ "$t" -lt "$q" ] || die "a changed message: $new of $all, $e"
say 'Turn on the kitchen lights' '/regen'
talk 0 --temp 5 --top-k 0 --top-p 1 --seed 4 -n 12
differ <(head -n 1 out) <(tail -n 1 out)

# ---- commands ----

say '/set' '/set temp 0.5' '/set seed 7' '/set predict 3' '/set top-k 5' '/set' 'hi' '/show' '/help'
talk 0 --temp 1 --seed 1
err_has '^temp 1, top-k 64, top-p 0.95, min-p 0, seed 1, predict -1$'
err_has '^temp 0.5, top-k 5, top-p 0.95, min-p 0, seed 7, predict 3$'
err_has '^model tiny, context [0-9]* of 2048 positions, 2 messages$'
err_has '^/regen .*again'
[ "$(wc -l <out)" = 1 ] || die 'a command prints to standard output'
cp out set
say hi
talk 0 --temp 0.5 --seed 7 -n 3 --top-k 5
same set out
say '/set system Be brief.' hi
talk 0 -v
cp out set
whole >size
say hi
talk 0 -v -sys 'Be brief.'
same set out
[ "$(whole)" = "$(cat size)" ] || die '/set system is another system message than -sys'
say hi '/clear' hi
talk 0 -v
[ "$(whole)" = "$(whole | awk '{print $1, $1, ""}')" ] || die "/clear forgets nothing: $(whole)"
say '/etc/hosts' '/' ' /help'
talk 0
[ "$(wc -l <out)" = 3 ] || die 'a path, or a line with a space first, is taken for a command'
printf 'the kitchen lights' >notes.txt
say '/read notes.txt' 'Turn on that'
talk 0 -v
err_has '^note: notes.txt: 18 bytes, which go before your next message$'
whole >size
say '"""the kitchen lights' '' 'Turn on that"""'
talk 0 -v
[ "$(whole)" = "$(cat size)" ] || die '/read is not the text before the message'

# ---- files ----

say 'Turn on the kitchen lights' 'Is it on?' '/save kept' 'Thank you'
talk 0 -v
tail -n 1 out >last
read -r a b c <<<"$(whole)"
say '/load kept' 'Thank you'
talk 0 -v
same last out
[ "$(whole)" = "$c " ] && [ "$(evaluated)" -lt $((c - b)) ] || die "loaded: $(evaluated) of $(whole)"
for other in '--kv q8' --exact '--max-layers 2'; do
    talk 0 -v $other
    [ "$(evaluated)" = "$(whole)" ] && [ "$(whole)" = "$c " ] || die "$other: $(evaluated) of $(whole)"
    err_has '^note: kept: is a timeline .*; the conversation is evaluated with your next message$'
done
say '/load kept' '/regen' '/save again'
talk 0
cmp kept again || die 'a conversation that is loaded and answered again is saved as another file'
say '/load kept' '/save q8'
talk 0 --kv q8
say '/load q8' 'Thank you'
talk 0
same last out
expect 0 run tiny x -n 0 --prompt-cache plain
cp kept damaged
printf x | dd of=damaged bs=1 seek=300 conv=notrunc 2>/dev/null
for file in absent plain damaged . in; do
    say 'hello' "/load $file" 'x'
    talk 1 # not what would say that there is no model, or none that is sound
    [ "$(grep -c "^error: E_[A-Z_]*: $file" err)" = 1 ] && [ "$(wc -l <out)" = 1 ] || die "$file: not one error"
done
printf '[{}]' >tools.json
printf '\377' >bytes
say 'hello'
talk 2 --tools tools.json
err_has '^error: E_ARGUMENT: tools.json: tools\[0\]'
talk 2 -sysf bytes
err_has '^error: E_USAGE: bytes is not UTF-8 at byte 0 '
say 'hello' '/save ./'
talk 1
say '/save x'
talk 2
say 'hello' '/save x/y'
talk 1

# a timeline of --prompt-cache: of the first prompt, or with -all of everything
say 'Turn on the kitchen lights' 'Is it on?'
talk 0 --prompt-cache first
talk 0 --prompt-cache first -v
[ "$(evaluated | cut -d ' ' -f 1)" = 0 ] || die "--prompt-cache: $(evaluated)"
talk 0 --prompt-cache all --prompt-cache-all
cp all before
talk 0 --prompt-cache all --prompt-cache-ro -v
same two out
same before all
[ "$(evaluated | cut -d ' ' -f 1)" = 1 ] || die "--prompt-cache-all: $(evaluated)"

# ---- calls ----

say 'Turn on the kitchen lights' '{"status":"ok"}' 'Thank you'
talk 0 --tools "$tiny/tools.json" -v
grep -qx '{"name":"turn_on_lights","arguments":{"room":"kitchen"}}' <(head -n 1 out) || die "no call: $(cat out)"
[ "$(wc -l <out)" = 3 ] || die 'a call, what follows from its result, and an answer'
read -r a b c <<<"$(whole)"
read -r p q r <<<"$(evaluated)"
[ "$p" = "$a" ] && [ "$q" -lt 30 ] && [ "$r" -lt 30 ] || die "with calls: $(evaluated) of $(whole)"
say 'Turn on the kitchen lights' '/undo' 'Hello'
talk 0 --tools "$tiny/tools.json"
[ "$(wc -l <out)" = 2 ] || die 'a call that is taken back'
say 'Turn on the kitchen lights' ''
talk 0 --tools "$tiny/tools.json"
[ "$(wc -l <out)" = 2 ] || die 'an empty result'
say 'Turn on the kitchen lights' '/save called'
talk 0 --tools "$tiny/tools.json"
say '/load called' '{"status":"ok"}'
talk 0 --tools "$tiny/tools.json" -v
[ "$(evaluated)" -lt 30 ] && [ "$(wc -l <out)" = 1 ] || die 'a call that is loaded goes not on'

# ---- what is refused, and the end of the context ----

for line in /foo '/save' '/read' '/set temp' '/set temp x' '/set nothing 1' '/bye now' /regen /undo /edit '/read absent'; do
    say "$line" hello
    "$CARAT" chat tiny <in >out 2>err && die "$line: exit code 0"
    [ "$(wc -l <err)" = 1 ] && grep -q '^error: E_' err || die "$line: not one line"
    out_is ''
done
say '/regn'
talk 2
err_has 'did you mean /regen'
refuse 2 chat tiny --raw
err_has 'carat run MODEL --raw PROMPT continues a text'
refuse 2 chat tiny hello
refuse 2 chat tiny --json
refuse 2 chat - <in
err_has 'cannot both be standard input'
refuse 2 chat tiny -sys a -sysf in
printf 'hello\nG\374te\n' >in
talk 2
err_has "line 2 of standard input.*UTF-8"
talk 0 --lossy
printf 'a\0b\n' >in
talk 2
err_has 'line 1 of standard input has a NUL byte at offset 1'
code=0
"$CARAT" chat tiny <&- >out 2>err || code=$?
[ $code = 1 ] && err_has 'standard input: cannot be read' || die "closed: $code"
say hello
code=0
"$CARAT" chat tiny <in >/dev/full 2>err || code=$?
[ $code = 1 ] && err_has 'cannot write to standard output' || die "a full disk: $code"
head -c 10000000 /dev/zero | tr '\0' x >in
talk 1
[ "$(wc -l <err)" = 1 ] || die 'not one line'
err_has '^error: E_CONTEXT: the conversation has [0-9]* tokens, and the context of this model 2048 positions: /undo'
say 'Turn on the kitchen lights' 'Is it on?' 'Turn it off'
talk 1 -c 40
err_has '^error: E_CONTEXT: the conversation has .* the context 40 positions: .*-c '
say 'Turn on the kitchen lights'
talk 0 -c 18
err_has '^note: the context of 18 positions is full: /clear begins anew'
