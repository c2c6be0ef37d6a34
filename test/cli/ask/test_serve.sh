#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve.sh: `carat serve`: the line with curl that it prints, models, chat completions whole and streamed
# with the text of carat run, calls, forms, errors, what it does with hosts, and how it ends.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
chat=/v1/chat/completions
messages='"messages":[{"role":"user","content":"Turn on the kitchen lights"}]'

start_server tiny -np 4
if command -v curl >/dev/null; then
    sed -n 's/^curl /curl -sf /p' serve.out >line
    bash line >body 2>err || die "the line with curl: $(cat line)"
    body_has '"content":"The kitchen lights'
fi

ask 200 GET /v1/models
body_has '{"object":"list","data":[{"id":"tiny","object":"model"'
ask 200 GET /v1/models/tiny
ask 404 GET /v1/models/other
body_has '"code":"model_not_found"'
for path in /livez /readyz /health; do ask 200 GET $path; done

# ---- what answers depend on: once a thread has read all weights, or a packed file says it ----

content=$("$CARAT" verify tiny | sed -n 's/^content .*XXH3-128 \([0-9a-f]*\) .*/\1/p')
version=$("$CARAT" version | sed -n 's/^carat //p')
fingerprint="\"system_fingerprint\":\"carat-$version-fast-numerics1-drawing"
known() {
    local i
    for ((i = 0; i < 500; i++)); do
        ask 200 GET /props
        if ! grep -q '"system_fingerprint":null' body; then break; fi
        sleep 0.02
    done
    while read -r path fields; do
        ask 200 POST "$path" "{$fields,\"max_tokens\":1}"
        body_has "$fingerprint"
        body_has "-bf16-$content\""
    done <<END
$chat $messages
/v1/completions "prompt":"x"
END
}
known

# ---- the text is that of carat run ----

while IFS='|' read -r options fields; do
    # shellcheck disable=SC2086 # several options
    "$CARAT" run tiny $options --json "Turn on the kitchen lights" </dev/null >run.json 2>err
    wanted=$(grep -o '"text": *"[^"]*"' run.json | sed 's/^"text": *"//; s/"$//')
    ask 200 POST $chat "{$messages,$fields}"
    [ "$(told)" = "$wanted" ] || die "$options: '$(told)', expected '$wanted'"
    head_has '^carat-seed: [0-9]'
    ask 200 POST $chat "{$messages,$fields,\"stream\":true}"
    [ "$(told)" = "$wanted" ] || die "$options, streamed: '$(told)', expected '$wanted'"
    [[ $(tail -n 2 body) == 'data: [DONE]'* ]] || die "a stream without its last line: $(cat body)"
done <<'END'
--temp 0 -n 200|"temperature":0,"max_tokens":200
--seed 7 -n 200|"seed":7,"max_tokens":200
--seed 8 -n 200 --temp 2 --top-k 0 --top-p 1|"seed":8,"max_tokens":200,"temperature":2,"top_k":0,"top_p":1
--seed 9 -n 5 --temp 3|"seed":9,"max_tokens":5,"temperature":3
--temp 0 --stop lights|"temperature":0,"stop":"lights"
END
ask 200 POST $chat "{$messages,\"seed\":7,\"n\":3,\"logprobs\":true,\"top_logprobs\":2}"
for i in 0 1 2; do body_has "\"index\":$i,"; done
body_has '"top_logprobs":[{"token":"The","logprob":'
body_has '"bytes":[84,104,101]'
# they end with the text: "here", which completes the stop string, has no part in it
ask 200 POST /v1/completions '{"prompt":"Once upon","max_tokens":12,"temperature":0,"logprobs":0,"stop":"the"}'
body_has '"text":"ponpon a time ","logprobs":{"tokens":["pon","pon"," a"," ","ti","me"," t"],'
# each choice has draws of its own, whatever others there are
contents() {
    ask 200 POST $chat "{$messages,\"seed\":8,\"temperature\":2,\"top_k\":0,\"top_p\":1,\"n\":$1,\"max_tokens\":20}"
    grep -o '"content":"[^"]*"' body
}
contents 3 >three
[ "$(sort -u three | wc -l)" = 3 ] || die "choices are alike: $(cat body)"
[ "$(contents 2)" = "$(head -n 2 three)" ] || die "other choices beside fewer: $(cat body)"
ask 200 POST $chat "{$messages,\"temperature\":0,\"stream\":true,\"stream_options\":{\"include_usage\":true}}"
body_has '"choices":[],"usage":{"prompt_tokens":14,"completion_tokens":7,"total_tokens":21,"prompt_tokens_details":{"cached_tokens":13}'

# ---- calls and forms ----

tools="\"tools\":$(tr -d '\n' <"$tiny/tools.json")"
for more in '' ',"tool_choice":"required"' ',"parallel_tool_calls":false' ',"stream":true'; do
    ask 200 POST $chat "{$messages,$tools,\"temperature\":0$more}"
    body_has '"function":{"name":"turn_on_lights","arguments":"{\"room\":\"kitchen\"}"}'
    body_has '"finish_reason":"tool_calls"'
done
ask 200 POST $chat "{$messages,$tools,\"tool_choice\":\"none\",\"temperature\":0}"
[ "$(told)" = 'The kitchen lights are now on.' ] || die "tool_choice none: $(cat body)"
schema='{"type":"object","properties":{"room":{"enum":["kitchen","office"]}},"required":["room"],"additionalProperties":false}'
ask 200 POST $chat "{$messages,\"temperature\":0,\"max_tokens\":40,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"x\",\"schema\":$schema}}}"
grep -qE '\\"room\\": *\\"(kitchen|office)\\"[^}]*\}"' body || die "a schema: $(cat body)"

# ---- messages of one role that follow each other: the template takes them as they come ----

two='"messages":[{"role":"user","content":"Turn on"},{"role":"user","content":[{"type":"text","text":"the kitchen "},{"type":"text","text":"lights"}]}]'
ask 200 POST $chat "{$two,\"temperature\":0,\"max_tokens\":20}"
! grep -q '"warnings"' body || die "two messages: $(cat body)"
ask 200 POST /apply-template "{$two}"
body_has 'user\nTurn on<end_of_turn>\n<start_of_turn>user\nthe kitchenlights<end_of_turn>'

# ---- what is wrong: the status, what the reply says, and fields beside the messages ----

while IFS='|' read -r status says fields; do
    ask "$status" POST $chat "{$messages,$fields}"
    body_has "$says"
done <<'END'
400|"param":"temperature"|"temperature":-1
400|"param":"temperature"|"temperature":"hot"
400|"param":"top_p"|"top_p":1.5
400|"param":"top_k"|"top_k":2147483648
400|"param":"n"|"n":0
400|"param":"n"|"n":9
400|expected at most 4, the answers at once|"n":5
400|"param":"max_tokens"|"max_tokens":0
400|"param":"seed"|"seed":18446744073709551616
400|"param":"seed"|"seed":1.5
400|"param":"stop"|"stop":""
400|"param":"stop"|"stop":["a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a"]
400|"param":"logit_bias"|"logit_bias":{"abc":1}
400|"param":"logit_bias"|"logit_bias":{"1":101}
400|"param":"top_logprobs"|"top_logprobs":2
400|"param":"top_logprobs"|"logprobs":true,"top_logprobs":21
400|"param":"stream"|"stream":"yes"
400|"param":"stream_options"|"stream_options":{"include_usage":true}
400|"param":"tool_choice"|"tool_choice":"required"
400|"param":"tools[0].function.name"|"tools":[{"type":"function","function":{"name":1}}]
400|"param":"response_format.type"|"response_format":{"type":"yaml"}
400|"param":"response_format"|"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"hiccup"}}}
400|did you mean temperature?|"temprature":1
400|no completion is stored|"store":true
400|duplicate key|"seed":1,"seed":2
400|body: at byte|"seed":1,
400|surrogate|"user":"\ud800"
200|"object":"chat.completion"|"seed":18446744073709551615
200|"object":"chat.completion"|"store":false,"user":"x","metadata":{},"temperature":null
END
ask 200 POST $chat "{$messages,\"user\":\"x\",\"bluetooth\":1}"
head_has '^carat-ignored: bluetooth'
head_has '^carat-without-effect: user'
warnings='"warnings":["bluetooth: no field of this name is known here, and it was ignored","wifi: no field of'
while read -r path fields; do
    for stream in false true; do
        ask 200 POST "$path" "{\"model\":\"tiny\",$fields,\"stream\":$stream,\"bluetooth\":1,\"wifi\":2}"
        [ "$(grep -oF "$warnings" body | wc -l)" = 1 ] || die "$path, stream $stream: no warning in $(cat body)"
    done
    ask 200 POST "$path" "{\"model\":\"tiny\",$fields}"
    grep -q warnings body && die "$path: a warning of nothing: $(cat body)"
done <<END
$chat $messages,"max_tokens":2
/v1/completions "prompt":"x","max_tokens":2
/completion "prompt":"x","n_predict":2
/v1/responses "input":"x","max_output_tokens":2
/v1/messages $messages,"max_tokens":2
/api/chat $messages,"options":{"num_predict":2}
/api/generate "prompt":"x","options":{"num_predict":2}
END
for body in '' '{}' '[]' null '{"messages":[]}' '{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/"}}]}]}'; do
    ask 400 POST $chat "$body"
    body_has '"type":"invalid_request_error"'
done
ask 400 POST $chat "{\"messages\":[{\"role\":\"user\",\"content\":\"$(printf 'a %.0s' {1..2048})\"}]}"
body_has '"code":"context_length_exceeded","n_prompt_tokens":'

# ---- paths, methods, hosts ----

ask 404 GET /../etc/passwd
ask 400 POST /v1/embeddings '{}'
ask 405 GET $chat
head_has '^Allow: OPTIONS, POST'
ask 204 OPTIONS $chat
ask 200 HEAD /v1/models
[ ! -s body ] || die 'HEAD has a body'
ask 415 POST $chat '{}' 'Content-Encoding: gzip'
ask 403 GET /v1/models '' 'Origin: http://elsewhere.example'
ask 200 GET /v1/models '' 'Origin: http://localhost:3000'
crlf=$'\r\n'
talk "GET /v1/models HTTP/1.1${crlf}Host: evil.example${crlf}Connection: close$crlf$crlf"
grep -q '^HTTP/1.1 403 ' reply || die 'another host is served'
talk "GET /livez HTTP/1.1${crlf}Host: a${crlf}Host: b$crlf$crlf"
grep -q '^HTTP/1.1 400 ' reply || die 'two hosts are taken'
# pipelined: three answers in their order, then the end
request="GET /livez HTTP/1.1${crlf}Host: localhost$crlf"
talk "$request${crlf}POST $chat HTTP/1.1${crlf}Host: localhost${crlf}Content-Length: 2$crlf$crlf{}${request}Connection: close$crlf$crlf"
[ "$(grep -o 'HTTP/1.1 [24]00 ' reply | tr -d '\n')" = 'HTTP/1.1 200 HTTP/1.1 400 HTTP/1.1 200 ' ] || die "three requests: $(cat reply)"

# ---- the end ----

refuse 6 serve tiny --port "$port"
err_has 'address already in use; --port takes another, or with 0 any that is free'
refuse 2 serve tiny --host 0.0.0.0
refuse 2 serve tiny --alias ''
err_has '--alias is empty'
stop_server 0
[ ! -s serve.err ] || die "the server says $(cat serve.err)"
start_server tiny --alias model-x --strict -np 1 --no-cache
known
ask 200 GET /v1/models/model-x
ask 400 POST $chat "{$messages,\"bluetooth\":1}"
body_has '"param":"bluetooth"'
# a stream under way is given to its end
exec 9<>"/dev/tcp/127.0.0.1/$port"
body="{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"stream\":true,\"logit_bias\":{\"1\":-100,\"106\":-100},\"max_tokens\":500}"
printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' $chat ${#body} "$body" >&9
IFS= read -r _ <&9
stop_server 0
timeout 20 cat <&9 >reply
grep -q '^data: \[DONE\]' reply || die "a stream is cut by SIGTERM: $(tail -n 3 reply)"
