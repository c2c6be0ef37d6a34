#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_tools_json.sh: tools of a model whose vocabulary has no tokens for calls: models/tiny with these
# renamed. --regex has it write any answer: calls, what only begins like calls, and calls that are broken.
. "$CARAT_SOURCE/test/cli/common.bash"

tools=$tiny/tools.json
"$CARAT_SOURCE/tools/plain_tiny.sh" "$tiny" plain
"$CARAT" run plain Hi --chat-template gemma3 -n 1 >/dev/null 2>err || die 'the model does not run' # packs it
run() { "$CARAT" run plain "$request" --chat-template gemma3 --no-perf "$@"; }
request='Turn on the kitchen lights'

# the prompt
printf '[{"role":"user","content":"%s"}]' "$request" >messages.json
expect 0 render plain --messages messages.json --tools "$tools" --chat-template gemma3
out_has '^{"name": "turn_on_lights", "description": "Switches the lights of a room on.", "parameters": {"type": "object", '
expect 0 render plain --messages messages.json --tools "$tools" --chat-template gemma
out_has '^{"name": function name, "parameters": dictionary of argument name and its value}$'

# each choice; text and calls as of other models
for seed in 1 2 3 4 5 6 7 8 9 10; do
    for choice in required play_music auto none; do
        run --tools "$tools" --tool-choice $choice --temp 2 --top-k 0 --seed $seed -n 80 --json >out 2>err ||
            die "$choice: exit code $?"
        ! grep -q '"error"' out || die "$choice: a wrong call: $(cat out)"
        [ $choice != none ] || out_has '"calls":\[\]'
        case $choice in required | play_music) out_has '"text":"",.*"calls":\[{"name":"' ;; esac
        [ $choice != play_music ] || ! grep -qE '"name":"(turn_on|set_temp)' out || die "another function: $(cat out)"
    done
done

answer() { # REGEX OPTIONS...: the answer is this
    local regex=$1
    shift
    run --tools "$tools" --temp 0 --regex "$regex" "$@" >out 2>err || die "$regex: exit code $?"
}
play='\{"name": "play_music", "parameters": \{"genre": "[ab]{2}"\}\}'
one='{"name":"play_music","arguments":{"genre":"[ab]*"}}'
answer "$play"
[ "$(wc -l <out)" = 1 ] && out_has "^$one\$" || die 'not one call'
answer "\`\`\`json\n\[$play,\n$play\]\n\`\`\`"
[ "$(grep -cx "$one" out)" = 2 ] && [ "$(wc -l <out)" = 2 ] || die 'not two calls'
answer "$play Done\." --json
out_has "\"text\":\"Done.\",.*\"calls\":\[$one\]"
out_has '"stop":"tool_calls"'
answer "$play" --raw-calls
out_has '^{"name": "play_music", "parameters": {"genre": "[ab]*"}}$'

# what only begins so is text, whole
for text in '{"city": "Rome"}' '{' '[1, 2]' '```json\n[]\n```' '{"name' '   x' '[{"name" 1}]'; do
    answer "$(sed 's/[][{}\\"`]/\\&/g; s/\\\\n/\\n/g' <<<"$text")" --json
    out_has "\"text\":\"$(sed 's/\\/\\\\/g; s/"/\\\\"/g; s/[][]/\\&/g; s/\\\\\\\\n/\\\\n/g' <<<"$text")\""
    out_has '"calls":\[\]'
    out_has '"stop":"stop"'
done
# without tools nothing is a call
run --temp 0 --regex "$play" --json >out 2>err
out_has '"calls":\[\]'

# calls that are broken, cut off, or not declared
answer '\{"name": "play_music", "parameters": \{"genre": x\}\}'
out_has '^{"name":"play_music","arguments":null,"text":"{.*","error":"at byte 47: expected a value, found .x.","token":'
err_has '^note: a call of play_music is not as it should be, at byte 47: '
answer '\[\{"name": "fly", "parameters": \{\}\}, '"$play\]"
sed -n 1p out | grep -q '"error":"at byte 9: the function \\"fly\\" is not declared"' || die 'fly is not refused'
sed -n 2p out | grep -qx "$one" || die 'the second call is not read'
answer '\{"name": "play_music", "parameters": \{"loud": 1\}\}'
out_has 'the key \\"loud\\" is not declared'
answer "$play, $play" --stop ', ' --json # stop strings end an answer within calls
err_has 'a stop string ended the answer within the call of a function'
answer ' x' --stop x --json
out_has '"text":" "'

# results go to the model, in the next turn, where calls may come but need not
cat >program <<'E2'
#!/bin/sh
cat >>calls
echo '{"status":"on"}'
E2
chmod +x program
echo '[{"name":"play","parameters":{"type":"object","properties":{"genre":{"enum":["jazz","rock"]}},"required":["genre"]}}]' >few
run --tools few --tool-choice play --temp 0 -n 400 --tool-command ./program --log-jsonl log >out 2>err || die "exit code $?"
grep -xE '\{"name":"play","arguments":\{"genre":"(jazz|rock)"\}\}' out >wanted || die "no call: $(cat out)"
same wanted calls
[ "$(grep -c '"event":"prompt"' log)" = 2 ] || die 'no two prompts'
printf '%s\n' "$request" "$request" >turns
"$CARAT" chat plain --chat-template gemma3 --tools few --tool-choice play --temp 0 -n 400 --tool-command ./program \
    <turns >out 2>err || die "chat: exit code $?"
grep '^{"name":' out >>wanted || die "no call: $(cat out)"
same wanted calls
