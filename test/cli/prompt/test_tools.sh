#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_tools.sh: `carat run --tool-command`: calls go to a program, its results to the model, which goes on in
# the same turn; only results are evaluated. Programs that fail, hang, flood, or read nothing; calls that
# would be commands.
. "$CARAT_SOURCE/test/cli/common.bash"

tools=$CARAT_SOURCE/models/tiny/tools.json
lights='Turn on the kitchen lights'
program() { # NAME: the text of a program from standard input
    { echo '#!/bin/sh'; cat; } >"$1"
    chmod +x "$1"
}

# the call, the result, the answer
program answer <<'E2'
cat >>calls
printf '%s\n' "$# $*" >>words
echo '{"status":"on"}'
E2
expect 0 run tiny --tools "$tools" "$lights" --tool-command './answer now  please' --log-jsonl log
printf '%s\n' '{"name":"turn_on_lights","arguments":{"room":"kitchen"}}' >call
same call calls
[ "$(cat words)" = '2 now please' ] || die "the program's words: $(cat words)"
head -1 out | cmp - call || die 'the call is not printed'
[ "$(sed 1d out)" = 'The kitchen lights are now on.' ] || die "the answer: $(sed 1d out)"

# every token is evaluated once: what was held, what was generated and the result make the next prompt
numbers() { grep "\"event\":\"$1\"" log | sed "s/.*\"$2\":\([0-9]*\).*/\1/"; }
[ "$(numbers prompt tokens | wc -l)" = 2 ] || die 'no two prompts'
first=$(numbers prompt tokens | head -1) second=$(numbers prompt tokens | tail -1)
given=$(numbers generation tokens | head -1) evaluated=$(numbers prompt evaluated | tail -1)
[ $((first + given + evaluated)) = "$second" ] || die "$first + $given tokens are held, $evaluated of $second evaluated"

# in JSON: the calls of all answers, the last text; the first user is a message like any other
expect 0 run tiny --tools "$tools" "$lights" --tool-command ./answer --json
out_has '"text":"The kitchen lights are now on."'
out_has '"calls":\[{"name":"turn_on_lights","arguments":{"room":"kitchen"}}\]'
out_has '"stop":"stop"'
printf '[{"role":"user","content":"%s"}]' "$lights" >messages.json
expect 0 run tiny --tools "$tools" --messages messages.json --tool-command ./answer
[ "$(sed 1d out)" = 'The kitchen lights are now on.' ] || die "the answer to messages: $(sed 1d out)"

# rounds end: the last calls stay without results
program asks_again <<'E2'
cat >>calls
E2
: >calls
expect 0 run tiny --tools "$tools" "$lights" --tool-command ./asks_again --tool-rounds 1
[ "$(wc -l <calls)" = 1 ] || die 'more rounds than asked for'

# three rounds in a conversation: every token is evaluated once, but those that render differently
rm -f log
printf '%s\n' "$lights" 'Turn on the bedroom lights' "$lights" >turns
"$CARAT" chat tiny --tools "$tools" --tool-command ./answer --log-jsonl log <turns >out 2>err || die 'chat ended otherwise'
[ "$(grep -c turn_on_lights out)" = 3 ] || die "no three calls: $(cat out)"
[ "$(grep -c 'lights are now on' out)" = 3 ] || die "no three answers: $(cat out)"
numbers prompt tokens >tokens
numbers prompt evaluated >evaluated
numbers generation tokens >given
[ "$(wc -l <tokens)" = 6 ] || die 'no six prompts'
paste tokens evaluated given | {
    held=0 line=0
    while read -r n new answer; do
        line=$((line + 1))
        [ $((held + new)) = "$n" ] || die "prompt $line: $held tokens are held, $new of $n evaluated"
        held=$((n + answer))
    done
}

# programs that do not do their part: one line, the call stands, nothing is left running
fails() { # TEXT COMMAND
    expect 1 run tiny --tools "$tools" "$lights" --tool-command "$2"
    head -1 out | cmp - call || die "$2: the call is not printed"
    [ "$(wc -l <err)" = 1 ] || die "$2: $(cat err)"
    err_has "$1"
}
fails 'cannot start ./absent: No such file' ./absent
program three <<<'exit 3'
fails 'ended with code 3, expected 0' './three'
program dies <<<'kill -9 $$'
fails 'was ended by signal 9' './dies'
program floods <<<'exec yes'
fails 'wrote more than 65536 bytes' './floods'
program nul <<<'printf "a\0b"'
fails 'a NUL byte at offset 1' './nul'
program latin <<<'printf "\\351\\n"'
fails 'byte 0xe9 at offset 0' './latin'
pgrep -x yes >/dev/null && die 'yes is still running'

# one that reads nothing and one that writes nothing are none the worse for it
expect 0 run tiny --tools "$tools" "$lights" --tool-command 'echo ok'
expect 0 run tiny --tools "$tools" "$lights" --tool-command true

# what the model writes is never a command or a word of one
program shows <<'E2'
tr '\0' ' ' </proc/$$/cmdline >cmdline
cat >/dev/null
echo '{"status":"$(touch touched) `touch touched`; touch touched"}'
E2
expect 0 run tiny --tools "$tools" "$lights" --tool-command './shows ;touch touched'
[ ! -e touched ] || die 'a shell has run'
! grep -q kitchen cmdline || die 'the call is in a command line'

# usage
refuse 2 run tiny "$lights" --tool-command ./answer
err_has '--tools declares'
refuse 2 run tiny --tools "$tools" "$lights" --tool-command ./answer --tool-rounds 0
expect 2 run tiny --tools "$tools" "$lights" --tool-command ' '
err_has 'is empty, expected a program'

# Ctrl-C ends one that hangs, with what it has started
program hangs <<'E2'
sleep 1000 &
echo $! >sleeper
wait
E2
"$CARAT" run tiny --tools "$tools" "$lights" --tool-command ./hangs >out 2>err &
pid=$!
until [ -s sleeper ]; do sleep 0.05; done
kill -INT $pid
code=0
wait $pid || code=$?
[ $code = 130 ] || die "Ctrl-C: code $code"
runs() { grep -qs '^State:[[:space:]]*[RSDTtI]' "/proc/$1/status"; } # a dead one may wait for its parent
runs "$(cat sleeper)" && sleep 1
! runs "$(cat sleeper)" || die 'what the program has started still runs'
