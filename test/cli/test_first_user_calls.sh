#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_first_user_calls.sh: conversations of several turns, calls of functions, ids from files, and texts into
# tokens, as somebody who comes for the first time tries them.
. "$CARAT_SOURCE/test/cli/common.bash"

tools=$tiny/tools.json
request='Turn on the kitchen lights'

# 7: several turns come from a file or from standard input, and are the ids that render gives
echo '[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."},{"role":"user","content":"And?"}]' >talk.json
expect 0 render tiny --messages talk.json --ids
ids=$(tr ' ' ',' <out)
expect 0 run tiny --messages talk.json -n 0 --json
out_has "\"prompt_ids\":\[$ids\]"
cp out wanted
expect 0 run tiny --messages - -n 0 --json <talk.json
[ "$(grep -o '"prompt_ids":[^]]*' out)" = "$(grep -o '"prompt_ids":[^]]*' wanted)" ] || die 'standard input is another prompt'
code=0
{ "$CARAT" run tiny --messages talk.json -n 2 >out 2>err || code=$?; cat >rest; } <<<'a line of a script'
[ "$code" = 0 ] && [ -s rest ] || die 'standard input is touched'
refuse 2 run tiny --messages talk.json -sys 'Be brief.'
refuse 2 run tiny --messages talk.json --raw
refuse 2 run tiny --messages talk.json -p x
refuse 2 run tiny x --messages talk.json

# 7: what is wrong in a file is said with its name; 19: with the code that malformed lines have
echo '{' >broken.json
for verb in run logits render; do
    refuse 2 $verb tiny --messages broken.json
    err_has ' broken.json: messages: '
    refuse 1 $verb tiny --messages absent.json
    err_has ' absent.json: '
done
refuse 2 run tiny x --tools broken.json
err_has ' broken.json: tools: '
refuse 2 tokenize tiny --jsonl broken.json
refuse 2 detokenize tiny --jsonl broken.json

# 7: a template whose calls are JSON refuses tools where the vocabulary has tokens for calls, in both verbs
refuse 2 render tiny --messages talk.json --tools "$tools" --chat-template gemma3
cp err wanted
refuse 2 run tiny --messages talk.json --tools "$tools" --chat-template gemma3
same wanted err
err_has 'the gemma3 template has calls as JSON'
cp -r "$tiny" plain # the same in a checkpoint whose own template is such
chmod -R u+w plain
rm -f plain/chat_template.json
printf '%s' '{{ bos_token }}{% for m in messages %}<start_of_turn>{{ m.role }}' >plain/chat_template.jinja
if "$CARAT" show plain 2>err | grep -q gemma3; then
    refuse_noted() { # notes about the template may come first
        expect "$@"
        [ "$(grep -c '^error: ' err)" = 1 ] || die "$*: not one error"
        err_has 'the gemma3 template has calls as JSON'
    }
    refuse_noted 2 run plain x --tools "$tools"
    refuse_noted 2 render plain --messages talk.json --tools "$tools"
fi

# 7: a parameter without a type is noted, not told as an empty one in silence
echo '[{"name":"f","parameters":{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]},"b":{"$ref":"#/x"},"c":{"type":"string"}}}}]' >any.json
for verb in "run tiny x -n 0 --no-perf" "render tiny --messages talk.json"; do
    expect 0 $verb --tools any.json
    err_has 'note: any.json: tools\[0\]: property "a" has anyOf'
    err_has 'property "b" has \$ref'
    [ "$(grep -c '^note: .*property' err)" = 2 ] || die 'a note too many'
done

# 7: calls come out as JSON, a line each, and in --json as a list; raw where that is asked for
expect 0 run tiny "$request" --tools "$tools" --temp 0 --no-perf
grep -qx '{"name":"[a-z_]*","arguments":{"[^{}]*}}' out || die "no call: $(cat out)"
[ ! -s err ] || die 'there are messages'
cp out line
expect 0 run tiny "$request" --tools "$tools" --temp 0 --json
out_has "\"calls\":\[$(head -n 1 line | sed 's/[][\\.*^$]/\\&/g')\]}\$"
out_has '"text":""'
expect 0 run tiny "$request" --tools "$tools" --temp 0 --no-perf --raw-calls
out_has '^<start_function_call>call:.*<end_function_call>'
expect 0 run tiny "$request" --tools "$tools" --temp 0 --json --raw-calls
out_has '"text":"<start_function_call>call:'
! grep -q '"calls"' out || die '--raw-calls has calls'
out_has '"stop":"tool_calls"'
expect 0 run tiny Hello --temp 0 --json
out_has '"calls":\[\]}$'
# ... one that is cut off, or not declared, is there with what is wrong
expect 0 run tiny "$request" --tools "$tools" --temp 0 --no-perf -n 8
out_has '"arguments":null,"text":"<start_function_call>call:.*","error":"at byte [0-9]*: '
err_has '^note: a call'
echo '[{"name":"other","parameters":{"type":"object","properties":{"x":{"type":"string","description":"x"}}}}]' >other.json
expect 0 run tiny --temp 0 --no-perf --messages - --tools other.json -n 0 <talk.json
[ ! -s out ] || die 'there is output'

# 7: ids from a file and from standard input, more than an argument takes; the JSON of tokenize is taken back
expect 0 tokenize tiny "$request" --json
cp out ids.json
expect 0 detokenize tiny "$(cat ids.json)"
out_is "$request"
expect 0 detokenize tiny <ids.json
out_is "$request"
expect 0 detokenize tiny '[2, 5]' --special
list=$(sed 's/[^0-9,]//g' ids.json)
expect 0 logits tiny --ids "$list"
cp out wanted
for form in @ids.json -; do
    expect 0 logits tiny --ids "$form" <ids.json
    same wanted out
done
expect 0 run tiny --ids @ids.json -n 0 --json
out_has "\"prompt_ids\":\[$list\]"
printf '%s' "$list" >list
for _ in $(seq 1 14); do { cat list; printf ','; cat list; } >twice && mv twice list; done
[ "$(wc -c <list)" -gt 131072 ] || die 'the list is short'
refuse 1 run tiny --ids @list
err_has 'E_CONTEXT'
refuse 1 run tiny --ids @absent
err_has ' absent: '
for bad in '{"ids":2}' '{"ids":[2,-1]}' '[2' '{}' '["2"]'; do
    printf '%s' "$bad" >bad
    refuse 2 logits tiny --ids @bad
    err_has ' bad: '
    refuse 2 detokenize tiny "$bad"
done
refuse 2 run - --ids -

# 11: a line of JSON has a limit, and says it
head -c 67108870 /dev/zero | tr '\0' ' ' >long
printf '%s\n' '{"text":"hi"}' >>long
refuse 2 tokenize tiny --jsonl long
err_has 'long:1: the line is longer than the 64 MiB'
rm -f long

# 13: pieces; -p and -f of tokenize and logits, and a conversation's logits
expect 0 tokenize tiny 'Hello' --pieces
head -n 1 out | grep -qx $'2\t"<bos>"' || die "no piece: $(head -n 1 out)"
[ "$(cut -f 2 out | tail -n +2 | tr -d '"\n')" = Hello ] || die 'the pieces are another text'
expect 0 tokenize tiny 'Hello' --pieces --json
out_has '^{"ids":\[2,[0-9,]*\],"pieces":\["<bos>",".*"\]}$'
expect 0 tokenize tiny "$request"
cp out wanted
expect 0 tokenize tiny -p "$request"
same wanted out
printf '%s' "$request" >text
expect 0 tokenize tiny -f text
same wanted out
expect 0 tokenize tiny -f - <text
same wanted out
refuse 2 tokenize tiny x -p y
expect 0 logits tiny --ids "$ids"
cp out wanted
expect 0 logits tiny --messages talk.json
same wanted out
expect 0 run tiny Hi -n 0 --json
prompt=$(sed 's/.*"prompt_ids":\[\([0-9,]*\)\].*/\1/' out)
expect 0 logits tiny --ids "$prompt"
cp out wanted
expect 0 logits tiny -p Hi <talk.json
same wanted out
printf Hi >text
expect 0 logits tiny -f text
same wanted out
expect 0 logits tiny -p Hi --raw
differ wanted out
refuse 2 logits tiny
refuse 2 logits tiny -p Hi --ids 2

# 19: on a terminal the shell's prompt begins a line
if script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "'$CARAT' detokenize tiny '$list'" /dev/null </dev/null >out 2>err
    tail -c 1 out | od -An -c | grep -q '\\n' || die 'no newline on a terminal'
fi
