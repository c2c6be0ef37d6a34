#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_ollama.sh: Ollama's routes of `carat serve`: chat and generate, whole and in lines, with tools,
# forms and options; what is said of the model; and errors in their shape. The texts are those of carat run.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
messages='"model":"tiny","messages":[{"role":"user","content":"Turn on the kitchen lights"}]'
prompt='"model":"tiny:latest","prompt":"Turn on the kitchen lights"'

# The text of a reply, whole or in lines, as JSON spells it.
heard() { grep -oE '"(content|response)":"[^"]*"' body | sed -E 's/^"[a-z]+":"//; s/"$//' | tr -d '\n'; }

start_server tiny -np 2

# ---- answers ----

while IFS='|' read -r options fields; do
    # shellcheck disable=SC2086 # several options
    "$CARAT" run tiny $options --json "Turn on the kitchen lights" </dev/null >run.json 2>err
    wanted=$(grep -o '"text": *"[^"]*"' run.json | sed 's/^"text": *"//; s/"$//')
    for request in "chat {$messages" "generate {$prompt"; do
        ask 200 POST "/api/${request%% *}" "${request#* },\"stream\":false,\"options\":{$fields}}"
        [ "$(heard)" = "$wanted" ] || die "$request, $fields: '$(heard)', expected '$wanted'"
        body_has '"done":true,"done_reason":"'
        ask 200 POST "/api/${request%% *}" "${request#* },\"options\":{$fields}}"
        [ "$(heard)" = "$wanted" ] || die "$request, $fields, in lines: '$(heard)', expected '$wanted'"
        head_has '^Content-Type: application/x-ndjson'
        head_has '^carat-seed: [0-9]'
        [ "$(tail -n 1 body | grep -c '"done":true')" = 1 ] || die "the last line: $(tail -n 1 body)"
        ! grep -vqE '^\{"model":"tiny","created_at":"20[0-9-]{8}T[0-9:]{8}\.[0-9]{6}Z",' body || die "a line: $(cat body)"
    done
done <<'END'
--temp 0 -n 200|"temperature":0,"num_predict":200
--seed 7 -n 200|"seed":7,"num_predict":200,"num_ctx":4096
--seed 8 -n 200 --temp 2 --top-k 0 --top-p 1|"seed":8,"num_predict":200,"temperature":2,"top_k":0,"top_p":1
--temp 0 --stop lights|"temperature":0,"stop":["lights"]
END
ask 200 POST /api/chat "{$messages,\"stream\":false,\"options\":{\"temperature\":0,\"num_predict\":3}}"
body_has '"done_reason":"length","total_duration":'
body_has '"prompt_eval_count":14,'
body_has '"eval_count":3,'
ask 200 POST /api/chat "{$messages,\"stream\":false,\"options\":{\"temperature\":0,\"num_predict\":-1}}"
body_has '"done_reason":"stop"'
"$CARAT" run tiny --raw --temp 0 -n 5 --json "Turn on" </dev/null >run.json 2>err
ask 200 POST /api/generate '{"model":"tiny","prompt":"Turn on","raw":true,"stream":false,"options":{"temperature":0,"num_predict":5}}'
[ "$(heard)" = "$(grep -o '"text": *"[^"]*"' run.json | sed 's/^"text": *"//; s/"$//')" ] || die "raw: $(cat body run.json)"
ask 200 POST /v1/chat/completions '{"messages":[{"role":"system","content":"Be brief"},{"role":"user","content":"Hello"}],"temperature":0,"max_tokens":9}'
wanted=$(told) tokens=$(grep -o '"prompt_tokens":[0-9]*' body)
ask 200 POST /api/generate '{"model":"tiny","prompt":"Hello","system":"Be brief","stream":false,"options":{"temperature":0,"num_predict":9}}'
[ "$(heard)" = "$wanted" ] || die "system: '$(heard)', expected '$wanted'"
body_has "\"prompt_eval_count\":${tokens#*:},"
# how likely ids are: what OpenAI's clients are told, in the lines with their texts
likely() { grep -oE '"(token|logprob|bytes)":("[^"]*"|\[[^]]*\]|[-0-9.e]+)' body; }
ask 200 POST /v1/chat/completions "{$messages,\"seed\":5,\"temperature\":2,\"logprobs\":true,\"top_logprobs\":3}"
likely >wanted
for request in "chat {$messages" "generate {$prompt"; do
    for stream in false true; do
        ask 200 POST "/api/${request%% *}" "${request#* },\"stream\":$stream,\"logprobs\":true,\"top_logprobs\":3,\"options\":{\"seed\":5,\"temperature\":2}}"
        cmp <(likely) wanted || die "$request, stream $stream: $(cat body)"
        grep -qF ',"logprobs":[{"token":"' body || die "$(cat body)"
        [ $stream = true ] || body_has '"top_logprobs":[{"token":"The","'
        [ $stream = true ] || body_has '}]},{"token":"'
    done
    ask 200 POST "/api/${request%% *}" "${request#* },\"logprobs\":false}"
    ! grep -qF logprob body || die "nobody asked: $(cat body)"
    ask 400 POST "/api/${request%% *}" "${request#* },\"top_logprobs\":2}"
    ask 400 POST "/api/${request%% *}" "${request#* },\"logprobs\":true,\"top_logprobs\":21}"
done
for route in chat generate; do # nothing is to be answered
    ask 200 POST /api/$route '{"model":"tiny"}'
    body_has '"done":true,"done_reason":"load"}'
    ask 200 POST /api/$route '{"model":"tiny","keep_alive":0}'
    body_has '"done":true,"done_reason":"unload"}'
done

# ---- tools and forms ----

tools="\"tools\":$(tr -d '\n' <"$tiny/tools.json")"
for more in '' ',"stream":false'; do
    ask 200 POST /api/chat "{$messages,$tools,\"options\":{\"temperature\":0}$more}"
    body_has '"tool_calls":[{"function":{"name":"turn_on_lights","arguments":{"room":"kitchen"}}}]'
done
call='{"role":"assistant","content":"","thinking":"","tool_calls":[{"function":{"name":"turn_on_lights","arguments":{"room":"kitchen"}}}]}'
ask 200 POST /api/chat "{${messages%]},$call,{\"role\":\"tool\",\"tool_name\":\"turn_on_lights\",\"content\":\"{\\\"ok\\\":true}\"}],$tools,\"stream\":false,\"options\":{\"temperature\":0}}"
body_has '"message":{"role":"assistant","content":"'
count=$(grep -o '"prompt_eval_count":[0-9]*' body)
ask 200 POST /api/chat "{${messages%]},$call,{\"role\":\"tool\",\"tool_name\":\"some_other_tool_of_the_kitchen\",\"content\":\"{\\\"ok\\\":true}\"}],$tools,\"stream\":false,\"options\":{\"temperature\":0}}"
! grep -qF "$count," body || die "the name of a tool's result is not told: $(cat body)"
ask 400 POST /api/chat "{${messages%]},{\"role\":\"tool\",\"tool_name\":\"turn_off\",\"content\":\"\"}],$tools}"
body_has 'messages[1]'
schema='{"type":"object","properties":{"room":{"enum":["kitchen","office"]}},"required":["room"],"additionalProperties":false}'
ask 200 POST /api/chat "{$messages,\"format\":$schema,\"stream\":false,\"options\":{\"temperature\":0,\"num_predict\":40}}"
grep -qE '\\"room\\": *\\"(kitchen|office)\\"[^}]*\}"' body || die "a schema: $(cat body)"
ask 200 POST /api/generate "{$prompt,\"format\":\"json\",\"stream\":false,\"options\":{\"temperature\":0,\"num_predict\":40}}"
grep -qE '"response":"[^{"]*\{' body || die "json: $(cat body)"

# ---- the model ----

ask 200 GET /
[ "$(cat body)" = 'Ollama is running' ] || die "GET /: $(cat body)"
talk $'HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
grep -q '^Content-Length: 17' reply && [ "$(tail -c 4 reply | od -An -tx1)" = ' 0d 0a 0d 0a' ] || die "HEAD /: $(cat reply)"
ask 200 GET /api/version
grep -qE '^\{"version":"[0-9]+\.[0-9]+\.[0-9]+"' body || die "version: $(cat body)"
for list in tags ps; do
    ask 200 GET /api/$list
    body_has '{"models":[{"name":"tiny","model":"tiny","size":'
    body_has '"quantization_level":"BF16"}' # its mix by name
done
for field in model name; do
    ask 200 POST /api/show "{\"$field\":\"tiny\"}"
    body_has '"capabilities":["completion","tools"]'
    body_has '"gemma3.context_length":2048'
done

# ---- any other name is answered by the model that is served, as on other surfaces (--strict-model) ----

while IFS='|' read -r route body; do
    ask 200 POST "/api/$route" "$body"
    [ "$route" = show ] || body_has '"model":"tiny"'
done <<'END'
chat|{"model":"other","messages":[{"role":"user","content":"a"}],"options":{"num_predict":1}}
generate|{"model":"gemma","prompt":"a","options":{"num_predict":1}}
generate|{"model":"latest","prompt":""}
show|{"model":"tin"}
END

# ---- what is wrong ----

while IFS='|' read -r status says route body; do
    ask "$status" POST "/api/$route" "$body"
    body_has '{"error":"'
    body_has "$says"
done <<END
400|model is required|show|{}
400|model is required|chat|{"messages":[{"role":"user","content":"a"}]}
400|does not support thinking|chat|{$messages,"think":true}
400|expected true, false, low, medium or high|chat|{$messages,"think":"much"}
400|expected true, false or a string|chat|{$messages,"think":1}
400|options.temperature at byte|chat|{$messages,"options":{"temperature":-1}}
400|did you mean options.temperature?|chat|{$messages,"options":{"temperatur":1}}
400|did you mean messages?|chat|{"model":"tiny","message":[]}
400|there is no such way to draw|chat|{$messages,"options":{"mirostat":1}}
400|messages[0].images|chat|{"model":"tiny","messages":[{"role":"user","content":"a","images":["YQ=="]}]}
400|messages[1]|chat|{"model":"tiny","messages":[{"role":"user","content":"a"},1]}
400|messages[0].role|chat|{"model":"tiny","messages":[{"role":"x","content":"y"}]}
400|expected json or a JSON schema|chat|{$messages,"format":"xml"}
400|format: |chat|{$messages,"format":{"type":"hiccup"}}
400|the model fills no gaps|generate|{$prompt,"suffix":"a"}
400|the model reads text alone|generate|{$prompt,"images":["YQ=="]}
400|/api/chat takes the messages|generate|{$prompt,"context":[1]}
400|body: at byte|generate|{$prompt,}
501|carat pull|pull|{"model":"x"}
501|carat rm|copy|{}
400|carat embed|embed|{"model":"tiny"}
END
ask 200 POST /api/generate "{$prompt,\"suffix\":\"\",\"images\":[],\"context\":[],\"template\":\"\",\"odd\":1,\"options\":{\"mirostat\":0,\"temperature\":0,\"num_predict\":1,\"num_thread\":4}}"
head_has '^carat-ignored: odd'
head_has '^carat-without-effect: options.num_thread'
ask 501 DELETE /api/delete '{"model":"x"}'
ask 405 GET /api/chat
body_has '{"error":"this path does not take GET"}'
ask 404 GET /api/other
body_has '{"error":"'
talk $'GET /api/tags HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n'
grep -q '^{"error":"at byte' reply || die "two hosts: $(cat reply)"
long=$(printf 'word %.0s' {1..3000})
ask 400 POST /api/generate "{\"model\":\"tiny\",\"prompt\":\"$long\"}"
body_has 'and the context 2048 positions'
stop_server 0

# ---- the port where clients look that are told nothing; it may be another's ----

"$CARAT" help serve | grep -q -e '--ollama' || die 'the page of serve has no --ollama'
if (exec 9<>/dev/tcp/127.0.0.1/11434) 2>/dev/null; then
    refuse 6 serve tiny --ollama --port 0
    err_has 'cannot listen at 127.0.0.1, port 11434: '
else
    start_server tiny --ollama -np 1
    grep -q '^Ollama      http://127.0.0.1:11434$' serve.out || die "carat serve --ollama says: $(cat serve.out)"
    first=$port
    for port in "$first" 11434; do
        ask 200 GET /api/version
        ask 200 GET /v1/models
    done
    refuse 6 serve tiny --ollama --port 0
    err_has 'cannot listen at 127.0.0.1, port 11434: '
    stop_server 0
fi
