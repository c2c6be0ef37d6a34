#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_prepare.sh: POST /v1/prepare of `carat serve`: the prompts of bodies of every surface are
# evaluated before they are answered, and the answers are those of a server that was asked at once.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
prepare=/v1/prepare

# said MEMBER: the number of a member of the reply.
said() { grep -o "\"$1\":[0-9]*" body | head -n 1 | tr -dc 0-9; }
# The text of a reply, whatever the surface.
heard() { grep -oE '"(content|text|response)":"[^"]*"' body | sed -E 's/^"[a-z]+":"//; s/"$//'; }

bodies() {
    cat <<'END'
/v1/chat/completions|"messages":[{"role":"user","content":"Turn on WHAT"}],"temperature":0,"max_tokens":12
/v1/chat/completions|"messages":[{"role":"user","content":"Is WHAT here"}],"temperature":2,"seed":7,"n":2,"max_tokens":12,"receipt":true
/v1/completions|"prompt":"The WHAT is","temperature":0,"max_tokens":9
/v1/completions|"prompt":["A WHAT","Two WHAT are"],"temperature":0,"max_tokens":9,"n":2
/v1/completions|"prompt":"Some WHAT or other","temperature":0,"max_tokens":0,"echo":true,"logprobs":2
/v1/messages|"messages":[{"role":"user","content":"Find WHAT"}],"temperature":0,"max_tokens":12
/api/chat|"model":"tiny","messages":[{"role":"user","content":"See WHAT"}],"stream":false,"options":{"temperature":0,"num_predict":12}
/api/generate|"model":"tiny","prompt":"Say WHAT","stream":false,"format":{"type":"object"},"options":{"temperature":0,"num_predict":30}
/v1beta/models/tiny:generateContent|"contents":[{"parts":[{"text":"Buy WHAT"}]}],"generationConfig":{"temperature":0,"maxOutputTokens":12}
/completion|"prompt":"Every WHAT","temperature":0,"n_predict":9,"grammar":"root ::= \"yes\""
END
}

start_server tiny -np 3
while IFS='|' read -r path fields; do
    ask 200 POST "$path" "{${fields//WHAT/"the lamp"}}"
    heard
done < <(bodies) >alone
stop_server 0

start_server tiny -np 3
while IFS='|' read -r path fields; do
    body="{${fields//WHAT/"the lamp"}}"
    [ "$path" != /completion ] || ask 200 POST /v1/completions '{"prompt":"Every","max_tokens":1}' # a prefix of its prompt
    ask 200 POST "$prepare$path" "$body"
    [[ $(cat body) == '{"object":"preparation","model":"tiny","tokens":'* ]] || die "$path: $(cat body)"
    head_has '^Content-Type: application/json'
    tokens=$(said tokens)
    [ "$tokens" -ge 3 ] && [ $(($(said cached) + $(said evaluated))) = "$tokens" ] && [ "$(said evaluated)" -gt 1 ] || die "$path: $(cat body)"
    ask 200 POST "$prepare$path" "$body"
    [ "$(said tokens)" = "$tokens" ] && [ "$(said evaluated)" -le 2 ] || die "$path, again: $(cat body)"
    ask 200 POST "$path" "$body"
    heard
done < <(bodies) >later
same alone later
# the surface is found by the body too, and a stream is prepared as the whole is
ask 200 POST $prepare '{"contents":[{"parts":[{"text":"Sell the lamp"}]}]}'
tokens=$(said tokens)
ask 200 POST /v1beta/models/tiny:generateContent '{"contents":[{"parts":[{"text":"Sell the lamp"}]}],"generationConfig":{"maxOutputTokens":1}}'
body_has "\"promptTokenCount\":$tokens,"
body_has "\"cachedContentTokenCount\":$((tokens - 1)),"
for path in /v1/chat/completions ''; do
    ask 200 POST $prepare$path '{"messages":[{"role":"user","content":"Clean the lamp"}],"stream":true,"stream_options":{"include_usage":true}}'
    [[ $(cat body) == '{"object":"preparation",'* ]] || die "a stream: $(cat body)"
done
ask 200 POST "$prepare/v1beta/models/tiny:streamGenerateContent" '{"contents":[{"parts":[{"text":"Sell the lamp"}]}]}'
[ "$(said evaluated)" = 1 ] || die "a list in pieces: $(cat body)"
# all of the context, and one token more
ids() { printf '[2'; for ((i = 1; i < $1; i++)); do printf ',%d' $((i * i % 250 + 260)); done; printf ']'; }
ask 200 POST $prepare/v1/completions "{\"prompt\":$(ids 2048)}"
[ "$(said tokens)" = 2048 ] || die "a whole context: $(cat body)"
ask 400 POST $prepare/v1/completions "{\"prompt\":$(ids 2049)}"
body_has '"code":"context_length_exceeded"'

while IFS='|' read -r status says path body; do
    ask "$status" POST "$prepare$path" "$body"
    body_has "$says"
done <<'END'
400|"param":"temperature"|/v1/chat/completions|{"messages":[{"role":"user","content":"a"}],"temperature":-1}
400|"param":"messages"||{}
404|no answers are drawn at the path /v1/models|/v1/models|{}
404|no answers are drawn at the path /v1/prepare|/v1/prepare|{}
404|no answers are drawn at the path /v1beta/models/tiny:countTokens|/v1beta/models/tiny:countTokens|{}
400|body: at byte||{
END
ask 405 GET $prepare
stop_server 0
