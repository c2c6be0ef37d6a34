#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_gemini.sh: Google's routes of `carat serve`: generateContent whole, as events and as a list in
# pieces, with functions, schemas and settings in both spellings; counts; models; and errors in their shape.
# The texts are those of carat run.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
base=/v1beta/models/tiny
contents='"contents":[{"role":"user","parts":[{"text":"Turn on the kitchen lights"}]}]'
greedy='"generationConfig":{"temperature":0}'

# The text of a reply, whole or in pieces, as JSON spells it.
heard() { grep -o '"text":"[^"]*"' body | sed 's/^"text":"//; s/"$//' | tr -d '\n'; }
# The same of one with quotes in it, without white space.
whole() { sed -n 's/.*"text":"\(.*\)"}\],"role".*/\1/p' body | sed 's/\\n//g; s/ //g'; }

start_server tiny -np 4

# ---- answers ----

while IFS='|' read -r options fields; do
    # shellcheck disable=SC2086 # several options
    "$CARAT" run tiny $options --json "Turn on the kitchen lights" </dev/null >run.json 2>err
    wanted=$(grep -o '"text": *"[^"]*"' run.json | sed 's/^"text": *"//; s/"$//')
    for at in $base /v1/models/any; do
        ask 200 POST "$at:generateContent" "{$contents,\"generationConfig\":{$fields}}"
        [ "$(heard)" = "$wanted" ] || die "$fields: '$(heard)', expected '$wanted'"
        head_has '^carat-seed: [0-9]'
        ask 200 POST "$at:streamGenerateContent?key=x&alt=sse" "{$contents,\"generationConfig\":{$fields}}"
        [ "$(heard)" = "$wanted" ] || die "$fields, as events: '$(heard)', expected '$wanted'"
        head_has '^Content-Type: text/event-stream'
        ! grep -qvE '^(data: \{"candidates":\[\{"content":.*,"responseId":"[0-9a-f]*"\}|)$' body || die "an event: $(cat body)"
        [ "$(tail -n 2 body | grep -c '"finishReason":.*"totalTokenCount":')" = 1 ] || die "the last event: $(tail -n 2 body)"
        ask 200 POST "$at:streamGenerateContent" "{$contents,\"generationConfig\":{$fields}}"
        [ "$(heard)" = "$wanted" ] || die "$fields, as a list: '$(heard)', expected '$wanted'"
        head_has '^Content-Type: application/json'
        [[ $(cat body) == '[{'*$'},\n{'*'}]' ]] || die "a list in pieces: $(cat body)"
    done
done <<'END'
--temp 0 -n 200|"temperature":0,"maxOutputTokens":200
--seed 7 -n 200|"seed":7,"max_output_tokens":200
--seed 8 -n 200 --temp 2 --top-k 0 --top-p 1|"seed":8,"maxOutputTokens":200,"temperature":2,"topK":0,"topP":1
--seed 9 -n 30 --temp 3 --top-k 40|"seed":9,"maxOutputTokens":30,"temperature":3,"top_k":40.0
--temp 0 -n 20 --presence-penalty 1.5|"temperature":0,"maxOutputTokens":20,"presencePenalty":1.5
--temp 0 -n 20 --frequency-penalty 1.5|"temperature":0,"maxOutputTokens":20,"frequency_penalty":1.5
--temp 0 --stop lights|"temperature":0,"stopSequences":["lights"]
END
ask 200 POST $base:generateContent "{$contents,$greedy}"
body_has '{"candidates":[{"content":{"parts":[{"text":"The kitchen lights are now on."}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":14,"candidatesTokenCount":7,"cachedContentTokenCount":13,"totalTokenCount":21,'
body_has '"modelVersion":"tiny","responseId":"'
ask 200 POST $base:generateContent "{$contents,\"generationConfig\":{\"temperature\":0,\"maxOutputTokens\":3}}"
body_has '"finishReason":"MAX_TOKENS"'
body_has '"candidatesTokenCount":3,'
ask 200 POST $base:generateContent "{$contents,\"generationConfig\":{\"seed\":5,\"temperature\":3,\"candidateCount\":3,\"maxOutputTokens\":9}}"
for i in 0 1 2; do body_has "\"index\":$i"; done
texts=$(grep -o '"text":"[^"]*"' body)
ask 200 POST "$base:streamGenerateContent?alt=sse" "{$contents,\"generationConfig\":{\"seed\":5,\"temperature\":3,\"candidateCount\":3,\"maxOutputTokens\":9}}"
for i in 0 1 2; do
    text=$(grep "\"index\":$i" body | grep -o '"text":"[^"]*"' | sed 's/^"text":"//; s/"$//' | tr -d '\n')
    grep -qF "\"text\":\"$text\"" <<<"$texts" || die "candidate $i of a stream is '$text', those of a whole reply $texts"
done
# the system's part, the turns and places of a conversation are those of a chat completion
ask 200 POST /v1/chat/completions '{"messages":[{"role":"system","content":"Be brief"},{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"},{"role":"user","content":"a"},{"role":"user","content":"b"}],"temperature":0,"max_tokens":9}'
wanted=$(told) tokens=$(grep -o '"prompt_tokens":[0-9]*' body)
rest='"contents":[{"parts":[{"text":"Hel"},{"text":"lo"}]},{"role":"model","parts":[{"text":"a thought","thought":true},{"text":"Hi","thoughtSignature":"eA=="}]},{"role":"user","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"b"}]}],"generationConfig":{"temperature":0,"maxOutputTokens":9}'
for system in '"systemInstruction":{"parts":[{"text":"Be brief"}]}' '"system_instruction":{"role":"system","parts":[{"text":"Be "},{"text":"brief"}]}' '"systemInstruction":"Be brief"'; do
    ask 200 POST $base:generateContent "{$system,$rest}"
    [ "$(heard)" = "$wanted" ] || die "$system: '$(heard)', expected '$wanted'"
    body_has "\"promptTokenCount\":${tokens#*:},"
done
ask 200 POST $base:generateContent '{"contents":[{"parts":[{"text":"Turn on the kitchen lights"}]},{"role":"model","parts":[{"text":"The kitchen"}]}],"generationConfig":{"temperature":0}}'
[ "$(heard)" = ' lights are now on.' ] || die "an answer that was begun: $(cat body)"
ask 200 POST $base:generateContent "{$contents,\"safetySettings\":[],\"generationConfig\":{\"temperature\":0,\"thinkingConfig\":{\"includeThoughts\":true,\"thinkingBudget\":100,\"thinkingLevel\":\"LOW\"},\"odd\":1}}"
head_has '^carat-without-effect: safetySettings, generationConfig.thinkingConfig'
head_has '^carat-ignored: generationConfig.odd'
warned='"warnings":["bluetooth: no field of this name is known here, and it was ignored"],"modelVersion"'
for end in :generateContent :streamGenerateContent ':streamGenerateContent?alt=sse'; do
    ask 200 POST "$base$end" "{$contents,$greedy,\"bluetooth\":1}"
    [ "$(grep -oF "$warned" body | wc -l)" = 1 ] || die "$end: no warning in $(cat body)"
    ask 200 POST "$base$end" "{$contents,$greedy}"
    ! grep -q warnings body || die "$end: a warning of nothing: $(cat body)"
done

# ---- how likely ids are: what OpenAI's clients are told ----

ask 200 POST /v1/chat/completions '{"messages":[{"role":"user","content":"Turn on the kitchen lights"}],"seed":5,"temperature":2,"logprobs":true,"top_logprobs":3}'
grep -oE '"logprob":[-0-9.e]+' body | sed 's/.*://' >wanted
# Those of the ids, each before what might have come for it too.
likely() {
    local chosen top
    mapfile -t chosen < <(grep -oE '"chosenCandidates":\[[^]]*\]' body | grep -oE '"logProbability":[-0-9.e]+' | sed 's/.*://')
    mapfile -t top < <(grep -oE '"topCandidates":\[.*\],"logProbabilitySum"' body | grep -oE '"logProbability":[-0-9.e]+' | sed 's/.*://')
    for ((i = 0; i < ${#chosen[@]}; i++)); do printf '%s\n' "${chosen[i]}" "${top[@]:3*i:3}"; done
}
for how in generateContent 'streamGenerateContent?alt=sse'; do
    ask 200 POST "$base:$how" "{$contents,\"generationConfig\":{\"seed\":5,\"temperature\":2,\"responseLogprobs\":true,\"logprobs\":3}}"
    cmp <(likely) wanted || die "$how: $(cat body)"
    body_has '{"token":"The","tokenId":'
done

# ---- functions ----

declared='"functionDeclarations":[{"name":"turn_on_lights","description":"Turns on the lights in a room.","parameters":{"type":"OBJECT","properties":{"room":{"type":"STRING","enum":["kitchen","office"],"format":"enum"}},"required":["room"]}}]'
called='{"functionCall":{"id":"call_'
for how in generateContent 'streamGenerateContent?alt=sse' streamGenerateContent; do
    for more in '' ',"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}' ',"tool_config":{"function_calling_config":{"mode":"VALIDATED"}}' \
        ',"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["turn_on_lights"]}}'; do
        ask 200 POST "$base:$how" "{$contents,$greedy,\"tools\":[{$declared}]$more}"
        body_has "$called"
        body_has '"name":"turn_on_lights","args":{"room":"kitchen"}}}'
        body_has '"finishReason":"STOP"'
    done
done
ask 200 POST $base:generateContent "{$contents,$greedy,\"tools\":[{$declared}],\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"NONE\"}}}"
[ "$(heard)" = 'The kitchen lights are now on.' ] || die "mode NONE: $(cat body)"
# the prompt is that of the same tools in OpenAI's form
same_tools='"tools":[{"type":"function","function":{"name":"turn_on_lights","description":"Turns on the lights in a room.","parameters":{"type":"object","properties":{"room":{"type":"string","enum":["kitchen","office"]}},"required":["room"]}}}]'
messages='"messages":[{"role":"user","content":"Turn on the kitchen lights"}'
call='{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"turn_on_lights","arguments":{"room":"kitchen"}}}]}'
ask 200 POST /v1/explain "{$messages],$same_tools}"
ids=$(grep -o '"ids":\[[0-9,]*\]' body)
ask 200 POST /v1/explain "{$contents,\"tools\":[{\"function_declarations\":[]},{$declared}]}"
body_has "$ids"
ask 200 POST /v1/explain "{$contents,\"tools\":[{\"functionDeclarations\":[{\"name\":\"other\"},${declared#*[}}],\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"ANY\",\"allowedFunctionNames\":[\"turn_on_lights\"]}}}"
body_has "$ids"
ask 200 POST /v1/explain "{$messages,$call,{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"{\\\"ok\\\":true}\"}],$same_tools}"
ids=$(grep -o '"ids":\[[0-9,]*\]' body)
for id in '"id":"c",' ''; do
    turns="${contents%]},{\"role\":\"model\",\"parts\":[{\"functionCall\":{$id\"name\":\"turn_on_lights\",\"args\":{\"room\":\"kitchen\"}}}]},{\"role\":\"user\",\"parts\":[{\"functionResponse\":{$id\"name\":\"turn_on_lights\",\"response\":{\"ok\":true}}}]}]"
    ask 200 POST /v1/explain "{$turns,\"tools\":[{$declared}]}"
    body_has "$ids"
done
ask 200 POST /v1/explain "{$contents,\"tools\":[{$declared}]}"
body_has '"constraint":null'
ask 200 POST /v1/explain "{$contents,\"tools\":[{$declared}],\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"VALIDATED\"}}}"
body_has '"constraint":{"form":"tools",'
# a text beside a result keeps its place
call="${contents%]},{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"turn_on_lights\"}}]},{\"parts\":["
result='{"functionResponse":{"name":"turn_on_lights","response":{}}}'
ask 200 POST /v1/explain "{$call$result,{\"text\":\"b\"}]}]}"
ask 400 POST /v1/explain/v1/models/any:generateContent "{$call{\"text\":\"b\"},$result]}]}"
body_has 'contents[2]'
json_schema='{"type":"object","properties":{"room":{"type":"string","enum":["kitchen","office"]}},"required":["room"]}'
ask 200 POST $base:generateContent "{$contents,$greedy,\"tools\":[{\"functionDeclarations\":[{\"name\":\"turn_on_lights\",\"description\":\"Turns on the lights in a room.\",\"parametersJsonSchema\":$json_schema}]}]}"
body_has '"name":"turn_on_lights","args":{"room":"kitchen"}}}'

# ---- schemas ----

format='"responseMimeType":"application/json","temperature":0,"maxOutputTokens":60'
google='{"type":"OBJECT","properties":{"b":{"type":"INTEGER","format":"int32","minimum":3,"maximum":3},"room":{"type":"STRING","format":"enum","enum":["kitchen","office"]},"none":{"type":"STRING","nullable":true,"enum":["a"]}},"required":["b","none","room"],"property_ordering":["room","none"]}'
ask 200 POST $base:generateContent "{$contents,\"generationConfig\":{$format,\"responseSchema\":$google}}"
whole | grep -qE '^\{\\"room\\":\\"(kitchen|office)\\",\\"none\\":(null|\\"a\\"),\\"b\\":3\}$' || die "a schema: $(cat body)"
ask 200 POST $base:generateContent "{$contents,\"generationConfig\":{$format,\"responseSchema\":{\"type\":\"ARRAY\",\"items\":{\"type\":\"TYPE_UNSPECIFIED\",\"anyOf\":[{\"type\":\"BOOLEAN\"}]},\"minItems\":\"2\",\"max_items\":\"2\"}}}"
whole | grep -qE '^\[(true|false),(true|false)\]$' || die "a list: $(cat body)"
google='{"type":"OBJECT","properties":{"a":{"ref":"#/$defs/One"}},"required":["a"],"additionalProperties":false,"$defs":{"One":{"type":"INTEGER","minimum":3,"maximum":3,"title":"x"}}}'
ask 200 POST $base:generateContent "{$contents,\"generationConfig\":{$format,\"responseSchema\":$google}}"
whole | grep -qE '^\{\\"a\\":3\}$' || die "a schema by its name: $(cat body)"
ask 200 POST $base:generateContent "{$contents,\"generationConfig\":{$format,\"responseJsonSchema\":$json_schema}}"
whole | grep -qE '^\{\\"room\\":\\"(kitchen|office)\\"\}$' || die "a JSON schema: $(cat body)"
ask 200 POST $base:generateContent "{$contents,\"generationConfig\":{$format}}"
whole | grep -qE '^(\{.*\}|\[.*\])$' || die "any JSON: $(cat body)"

# ---- counts and models ----

for body in "{$contents}" "{\"generateContentRequest\":{\"model\":\"models/tiny\",$contents}}"; do
    for at in $base /v1/models/tiny; do
        ask 200 POST "$at:countTokens" "$body"
        [[ $(cat body) == '{"totalTokens":14,'* ]] || die "a count: $(cat body)"
    done
done
ask 200 GET /v1beta/models
body_has '{"models":[{"name":"models/tiny","version":"tiny",'
body_has '"inputTokenLimit":2048,"outputTokenLimit":2048,"supportedGenerationMethods":["generateContent","countTokens"],'
ask 200 GET /v1beta/models/tiny
[[ $(cat body) == '{"name":"models/tiny",'* ]] || die "a model: $(cat body)"
ask 404 GET /v1beta/models/other
body_has '{"error":{"code":404,"message":"the model that is served is tiny","status":"NOT_FOUND"'
ask 200 GET /v1/models/tiny '' 'X-Goog-Api-Key: x'
[[ $(cat body) == '{"name":"models/tiny",'* ]] || die "a model for Google's client: $(cat body)"
ask 200 GET /v1/models/tiny
body_has '"object":"model"'

# ---- numbers as strings and as 5.0, lists of one without brackets, as Google's servers take them ----

spells() {
    ask 200 POST $base:generateContent "{$1}"
    [ "$(heard)" = "$2" ] || die "$1: '$(heard)', expected '$2'"
}
drawn='"seed":9,"maxOutputTokens":12,"temperature":3,"topK":40,"topP":0.5'
ask 200 POST $base:generateContent "{$contents,\"generationConfig\":{$drawn}}"
text=$(heard)
spells "$contents,\"generationConfig\":{\"seed\":\"9\",\"max_output_tokens\":\"12\",\"temperature\":\"3\",\"topK\":\"40\",\"topP\":\"5e-1\"}" "$text"
spells "$contents,\"generationConfig\":{\"seed\":9.0,\"maxOutputTokens\":12.0,\"temperature\":3,\"topK\":4e1,\"topP\":0.5,\"candidateCount\":\"1\"}" "$text"
spells "\"contents\":{\"parts\":{\"text\":\"Turn on the kitchen lights\"}},\"generationConfig\":{$drawn}" "$text"
ask 200 POST $base:generateContent "{$contents,\"systemInstruction\":{\"parts\":[{\"text\":\"Be short\"}]},\"generationConfig\":{$drawn}}"
spells "$contents,\"system_instruction\":{\"parts\":{\"text\":\"Be short\"}},\"generationConfig\":{$drawn}" "$(heard)"
ask 200 POST $base:generateContent "{$contents,\"generationConfig\":{\"temperature\":0,\"stopSequences\":[\"lights\"]}}"
spells "$contents,\"generationConfig\":{\"temperature\":0,\"stopSequences\":\"lights\"}" "$(heard)"
# what is beyond what can be computed with is the nearest that can be
ask 200 POST $base:generateContent "{$contents,\"generationConfig\":{\"temperature\":0}}"
for field in '"temperature":1e-8' '"temperature":3,"topP":0' '"temperature":3,"topP":1e-12'; do
    spells "$contents,\"generationConfig\":{\"seed\":1,$field}" "$(heard)"
done

# ---- what is wrong ----

while IFS='|' read -r field says body; do
    ask 400 POST $base:generateContent "{$body}"
    body_has '{"error":{"code":400,"message":"'
    body_has '"status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"'"$field"'",'
    body_has "$says"
done <<END
contents|contents has 0 elements|
contents|contents has 0 elements|"contents":[]
contents[0]|expected an object|"contents":["a"]
contents[0]|expected parts|"contents":[{"role":"user"}]
contents[0].role|expected user or model|"contents":[{"role":"assistant","parts":[{"text":"a"}]}]
contents[0].parts[1]|expected one of text|"contents":[{"parts":[{"text":"a"},{}]}]
contents[0].parts[0]|expected one of text|"contents":[{"parts":[{"text":"a","functionCall":{"name":"b"}}]}]
contents[0].parts[0].inlineData|the model reads text alone|"contents":[{"parts":[{"inline_data":{"mimeType":"image/png","data":"YQ=="}}]}]
contents[0].parts[0]|by the role model alone|"contents":[{"parts":[{"functionCall":{"name":"b"}}]}]
contents[1].parts[0]|by the role user|"contents":[{"parts":[{"text":"a"}]},{"role":"model","parts":[{"functionResponse":{"name":"b","response":{}}}]}]
contents[0].parts[0].functionResponse|expected a name and a response|"contents":[{"parts":[{"functionResponse":{"name":"b"}}]}]
contents[1].parts[0].functionCall|expected a name|"contents":[{"parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{}}]}]
contents[1].role|a tool message without a call|"contents":[{"parts":[{"text":"a"}]},{"parts":[{"functionResponse":{"name":"b","response":{}}}]}]
systemInstruction.parts[0].fileData|the model reads text alone|$contents,"systemInstruction":{"parts":[{"fileData":{}}]}
cachedContent|no content is kept by a name|$contents,"cachedContent":"cachedContents/x"
tools[1].codeExecution|nothing is run here|$contents,"tools":[{$declared},{"codeExecution":{}}]
tools[0].googleSearch|nothing is fetched|$contents,"tools":[{"googleSearch":{}}]
tools[0].functionDeclarations[0]|expected a name|$contents,"tools":[{"functionDeclarations":[{"description":"a"}]}]
tools[1].functionDeclarations[1].parameters.type|tools[1].functionDeclarations[1].parameters.type: expected|$contents,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},"tools":[{},{"functionDeclarations":[{"name":"a"},{"name":"b","parameters":{"type":"HICCUP"}}]}]
toolConfig.functionCallingConfig.mode|expected AUTO, ANY|$contents,"tools":[{$declared}],"toolConfig":{"functionCallingConfig":{"mode":"SOME"}}
toolConfig|there are no tools|$contents,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}
generationConfig.temperature|expected a number|$contents,"generationConfig":{"temperature":-1}
generationConfig.candidateCount|expected at most 4|$contents,"generationConfig":{"candidateCount":5}
generationConfig.seed|generationConfig.seed at byte|$contents,"generationConfig":{"seed":1.5}
generationConfig.stopSequences|expected strings|$contents,"generationConfig":{"stopSequences":[""]}
generationConfig.logprobs|generationConfig.logprobs|$contents,"generationConfig":{"logprobs":2}
generationConfig.maxOutputTokens|expected a whole number|$contents,"generationConfig":{"maxOutputTokens":0}
generationConfig.maxOutputToken|did you mean generationConfig.maxOutputTokens?|$contents,"generationConfig":{"maxOutputToken":1}
topP|is there twice|$contents,"generationConfig":{"topP":1,"top_p":1}
generationConfig.responseMimeType|expected text/plain|$contents,"generationConfig":{"responseMimeType":"text/xml"}
generationConfig.responseMimeType|a schema needs application/json|$contents,"generationConfig":{"responseSchema":{"type":"STRING"}}
generationConfig.responseJsonSchema|expected one of them|$contents,"generationConfig":{"responseMimeType":"application/json","responseSchema":{},"responseJsonSchema":{}}
generationConfig.responseSchema|hiccup|$contents,"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"HICCUP"}}
generationConfig.responseModalities|answers are text|$contents,"generationConfig":{"responseModalities":["AUDIO"]}
generationConfig.thinkingConfig.thinkingLevel|expected MINIMAL|$contents,"generationConfig":{"thinkingConfig":{"thinkingLevel":"SOME"}}
END
ask 200 POST $base:generateContent "{$contents,\"generationConfig\":{\"temperature\":0,\"responseModalities\":[\"TEXT\"],\"responseMimeType\":\"text/plain\"}}"
ask 400 POST $base:generateContent "{$contents,}"
body_has '"status":"INVALID_ARGUMENT"}}'
ask 400 POST "$base:streamGenerateContent?alt=sse" '{"contents":[]}'
head_has '^Content-Type: application/json'
ask 400 POST $base:generateContent "{\"contents\":[{\"parts\":[{\"text\":\"$(printf 'a %.0s' {1..2048})\"}]}]}"
body_has '"field":"contents"'
ask 404 POST /v1beta/files '{}'
body_has '"status":"NOT_FOUND"'
for at in v1 v1beta; do
    for what in embedContent batchEmbedContents; do
        ask 400 POST /$at/models/tiny:$what '{}'
        body_has '{"error":{"code":400,"message":"vectors are not given here: /v1/embeddings and /api/embed give them","status":"INVALID_ARGUMENT"'
        ask 403 POST /$at/models/tiny:$what '{}' 'Origin: http://elsewhere'
        body_has '"status":"PERMISSION_DENIED"'
    done
done
ask 405 POST $base:tuneModel '{}'
body_has '"status":"INVALID_ARGUMENT"'
talk $'GET /v1beta/models HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n'
grep -q '^{"error":{"code":400,' reply || die "two hosts: $(cat reply)"
stop_server 0
start_server tiny -np 1 --strict-model
for at in v1 v1beta; do
    ask 200 POST /$at/models/tiny:countTokens "{$contents}"
    ask 404 POST /$at/models/other:countTokens "{$contents}"
    body_has '{"error":{"code":404,"message":"model '"'other'"' not found: tiny is served","status":"NOT_FOUND"'
    ask 200 POST /v1/explain/$at/models/tiny:generateContent "{$contents}"
    ask 404 POST /v1/explain/$at/models/tin:generateContent "{$contents}"
done
ask 200 POST /v1/explain "{$contents}"
stop_server 0
