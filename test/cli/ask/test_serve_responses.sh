#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_responses.sh: OpenAI's responses of `carat serve`: whole and as numbered events, items of every
# kind, tools, forms, what is remembered, listed and deleted, and errors. The texts are those of carat run.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
route=/v1/responses
question='"input":"Turn on the kitchen lights"'
cold='"temperature":0'

# post STATUS FIELDS: a response.
post() { ask "$1" POST $route "{$2}"; }
# The text of the reply, whole or by its pieces, as JSON spells it.
said() {
    if grep -q '^data: ' body; then
        sed -nE 's/^data: \{"type":"response.output_text.delta",.*"delta":"(([^"\\]|\\.)*)".*/\1/p' body | tr -d '\n'
    else
        sed -nE 's/.*"type":"output_text","text":"(([^"\\]|\\.)*)".*/\1/p' body
    fi
}
# events NAME...: exactly these came, runs of deltas counted once, with numbers from 0 on.
events() {
    local came
    came=$(sed -n 's/^event: response\.//p' body | uniq | tr '\n' ' ')
    [ "$came" = "$* " ] || die "events $came, expected $*"
    sed -nE 's/^data: \{"type":"[a-z_.]+","sequence_number":([0-9]+).*/\1/p' body >numbers
    seq 0 $(($(grep -c '^event: ' body) - 1)) | cmp -s - numbers || die "numbers $(tr '\n' ' ' <numbers)"
}
id() { sed -nE 's/.*"id":"(resp_[0-9a-f]*)","object":"response".*/\1/p' body | tail -n 1; }
tokens() { sed -nE 's/.*"usage":\{"input_tokens":([0-9]*).*/\1/p' body; }

start_server tiny -np 4

# ---- the text is that of carat run ----

message='output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done'
while IFS='|' read -r options fields end; do
    # shellcheck disable=SC2086 # several options
    "$CARAT" run tiny $options --json "Turn on the kitchen lights" </dev/null >run.json 2>err
    wanted=$(grep -o '"text": *"[^"]*"' run.json | sed 's/^"text": *"//; s/"$//')
    post 200 "$question,$fields"
    [ "$(said)" = "$wanted" ] || die "$options: '$(said)', expected '$wanted'"
    head_has '^carat-seed: [0-9]'
    body_has "\"status\":\"$end\",\"error\":null"
    post 200 "$question,$fields,\"stream\":true"
    [ "$(said)" = "$wanted" ] || die "$options, as events: '$(said)', expected '$wanted'"
    # shellcheck disable=SC2086 # several names
    events created in_progress $message $end
done <<'END'
--temp 0 -n 200|"temperature":0,"max_output_tokens":200|completed
--seed 7 -n 200|"seed":7,"max_output_tokens":200|completed
--seed 9 -n 5 --temp 2|"seed":9,"max_output_tokens":5,"temperature":2|incomplete
END
body_has '"incomplete_details":{"reason":"max_output_tokens"}'
body_has '"usage":{"input_tokens":14,"input_tokens_details":{"cached_tokens":13,"cache_write_tokens":0},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":19}'
body_has '"status":"in_progress","error":null,"incomplete_details":null,"model":"tiny","instructions":null,'
body_has '"status":"incomplete","role":"assistant","content":[{"type":"output_text"'

# log-probabilities, which are those of chat completions
ask 200 POST /v1/chat/completions '{"messages":[{"role":"user","content":"Turn on the kitchen lights"}],"temperature":0,"logprobs":true,"top_logprobs":2}'
logs=$(sed -E 's/.*"logprobs":\{"content":(\[.*\]),"refusal".*/\1/' body)
post 200 "$question,$cold,\"top_logprobs\":2,\"include\":[\"message.output_text.logprobs\"]"
body_has "\"annotations\":[],\"logprobs\":$logs}"
post 200 "$question,$cold,\"top_logprobs\":2,\"stream\":true"
body_has "\"annotations\":[],\"logprobs\":$logs}"
pieces=$(sed -nE 's/^data: \{"type":"response.output_text.delta",.*"logprobs":\[(.*)\]\}$/\1/p' body | paste -sd,)
[ "[$pieces]" = "$logs" ] || die "log-probabilities in pieces: [$pieces], expected $logs"
post 200 "$question,$cold"
grep -q '"logprobs":\[{' body && die 'log-probabilities that nobody asked for'

# a response repeats what was asked
post 200 "$question,$cold,\"instructions\":\"Be \\\"brief\\\"\",\"max_output_tokens\":9,\"top_p\":0.5,\"metadata\":{\"a\":\"b\"},\"parallel_tool_calls\":false,\"reasoning\":{\"effort\":\"low\",\"summary\":\"auto\"},\"store\":false,\"user\":\"x\",\"include\":[\"reasoning.encrypted_content\"]"
body_has '"model":"tiny","instructions":"Be \"brief\"","previous_response_id":null,"max_output_tokens":9,"temperature":0,"top_p":0.5,"top_logprobs":0,"tools":[],"tool_choice":"auto","parallel_tool_calls":false,"metadata":{"a":"b"},"reasoning":{"effort":"low","summary":null},"text":{"format":{"type":"text"}},"truncation":"disabled","background":false,"store":false,"output":[{"id":"msg_'
head_has '^carat-without-effect: user, reasoning.summary, include\[0\], reasoning.effort'

# ---- items are the messages of a chat completion ----

tools=$(tr -d '\n' <"$tiny/tools.json")
flat=$(printf '%s' "$tools" | sed -E 's/ +/ /g; s/"function": \{//g; s/\} \} \}/} }/g')
call='{"type":"function_call","call_id":"a","name":"turn_on_lights","arguments":"{\"room\":\"kitchen\"}"}'
use='{"role":"assistant","content":"Yes","tool_calls":[{"id":"a","type":"function","function":{"name":"turn_on_lights","arguments":"{\"room\":\"kitchen\"}"}}]}'
system='{"role":"system","content":"Be brief"}'
while IFS='|' read -r input messages; do
    ask 200 POST /v1/chat/completions/render "{\"messages\":$messages,\"tools\":$tools}"
    sed -E 's/.*"token_ids":(\[[0-9,]*\]).*/\1/' body >wanted
    ask 200 POST /v1/explain$route "{$input,\"tools\":$flat}"
    sed -E 's/.*"ids":(\[[0-9,]*\]),"messages_begin".*/\1/' body >ids
    cmp -s ids wanted || die "$input: $(cat body), expected $(cat wanted)"
    ask 200 POST $route/input_tokens "{$input,\"tools\":$flat}"
    body_has "{\"object\":\"response.input_tokens\",\"input_tokens\":$(($(tr -cd , <ids | wc -c) + 1))}"
done <<END
"input":"Hello you"|[{"role":"user","content":"Hello you"}]
"input":"Hello you","instructions":"Be brief"|[$system,{"role":"user","content":"Hello you"}]
"input":[{"role":"developer","content":"Be brief"},{"role":"user","content":"Hello you"}]|[$system,{"role":"user","content":"Hello you"}]
"instructions":"Be","input":[{"role":"system","content":[{"type":"input_text","text":"brief"}]},{"role":"user","content":"Hello"}]|[{"role":"system","content":"Be\n\nbrief"},{"role":"user","content":"Hello"}]
"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello "},{"type":"input_text","text":"you"}]}]|[{"role":"user","content":[{"type":"text","text":"Hello "},{"type":"text","text":"you"}]}]
"input":[{"role":"user","content":"a"},{"role":"user","content":"b"}]|[{"role":"user","content":"a"},{"role":"user","content":"b"}]
"input":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"output_text","text":"b","annotations":[]}]},{"role":"user","content":"c"}]|[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]
"input":[{"role":"user","content":"a"},{"type":"reasoning","id":"r","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},{"role":"assistant","content":"Yes"},$call,{"type":"function_call_output","call_id":"a","output":"on"}]|[{"role":"user","content":"a"},$use,{"role":"tool","tool_call_id":"a","content":"on"}]
"input":[{"role":"user","content":"a"},{"role":"assistant","content":"Yes"},$call,{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"on"}]},{"role":"user","content":"c"}]|[{"role":"user","content":"a"},$use,{"role":"tool","tool_call_id":"a","content":"on"},{"role":"user","content":"c"}]
"input":[{"role":"user","content":"a"},{"type":"reasoning","summary":[]},{"role":"user","content":"b"}]|[{"role":"user","content":"a"},{"role":"user","content":"b"}]
END
ask 200 POST /v1/explain "{$question}"
body_has '{"object":"explanation","surface":"/v1/responses"'

# ---- tools and forms ----

while IFS='|' read -r strict n; do
    ask 200 POST /v1/explain$route "{$question,\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":null,\"strict\":$strict}]}"
    [ "$(grep -c '"constraint":{"form":"tools"' body)" = "$n" ] || die "strict $strict: $(cat body)"
done <<'END'
true|1
false|0
null|0
END

for more in '' ',"tool_choice":"required"' ',"tool_choice":{"type":"function","name":"turn_on_lights"}' ',"parallel_tool_calls":false'; do
    post 200 "$question,$cold,\"tools\":$flat$more"
    grep -qE '"output":\[\{"id":"fc_[0-9a-f]*_0","type":"function_call","status":"completed","call_id":"call_[0-9a-f]*_0","name":"turn_on_lights","arguments":"\{\\"room\\":\\"kitchen\\"\}"\}\]' body || die "a call: $(cat body)"
    post 200 "$question,$cold,\"stream\":true,\"tools\":$flat$more"
    events created in_progress output_item.added function_call_arguments.delta function_call_arguments.done output_item.done completed
    body_has '"status":"in_progress","call_id":"call_'
    grep -qE '^data: \{"type":"response.function_call_arguments.delta".*"output_index":0,"delta":"\{\\"room\\":\\"kitchen\\"\}"\}' body || die "arguments: $(cat body)"
done
post 200 "$question,$cold,\"tools\":$flat,\"tool_choice\":\"none\""
[ "$(said)" = 'The kitchen lights are now on.' ] || die "tool_choice none: $(cat body)"
schema='{"type":"object","properties":{"room":{"enum":["kitchen","office"]}},"required":["room"],"additionalProperties":false}'
post 200 "$question,$cold,\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"x\",\"strict\":true,\"schema\":$schema}}"
said | grep -qE '^[ \\n]*\{[ \\n]*\\"room\\"[ \\n]*:[ \\n]*\\"(kitchen|office)\\"[^}]*\}' || die "a schema: $(cat body)"
body_has "\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"x\",\"strict\":true,\"schema\":$schema}}"
post 200 "$question,$cold,\"max_output_tokens\":60,\"text\":{\"format\":{\"type\":\"json_object\"},\"verbosity\":\"medium\"}"
said | grep -qE '^[ \\n]*\{' || die "an object: $(cat body)"
post 200 "$question,$cold,\"receipt\":true,\"stream\":true"
grep -q '^data: {"type":"response.completed".*"receipt":{"_type"' body || die "a receipt: $(cat body)"

# ---- what is remembered ----

post 200 "$question,$cold,\"instructions\":\"Be brief\",\"metadata\":{\"k\":\"v\"}"
cp body first
first=$(id) answer=$(said)
ask 200 GET "$route/$first"
cmp -s body first || die "remembered: $(cat body), expected $(cat first)"
ask 200 GET "$route/$first/input_items"
body_has '{"object":"list","data":[{"id":"msg_'
body_has '_in_0","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"Turn on the kitchen lights"}]}],"has_more":false,'
post 200 "\"input\":[{\"role\":\"user\",\"content\":\"And\"},{\"id\":\"mine\",\"role\":\"user\",\"content\":\"the office?\"}],$cold,\"stream\":true,\"previous_response_id\":\"$first\""
second=$(id) later=$(said)
post 200 "\"input\":\"Thanks\",$cold,\"previous_response_id\":\"$second\",\"store\":false"
body_has "\"previous_response_id\":\"$second\""
third=$(said) n=$(tokens) unkept=$(id)
turn() { printf '{"role":"%s","content":"%s"}' "$1" "$2"; }
post 200 "\"input\":[$(turn user 'Turn on the kitchen lights'),$(turn assistant "$answer"),$(turn user And),$(turn user 'the office?'),$(turn assistant "$later"),$(turn user Thanks)],$cold"
[ "$(said)" = "$third" ] && [ "$(tokens)" = "$n" ] || die "a third turn: '$third' behind $n tokens, whole $(cat body)"
while IFS='|' read -r query wanted; do
    ask 200 GET "$route/$second/input_items$query"
    [ "$(grep -oE '"id":"[^"]*"|"has_more":[a-z]*' body | sed -E 's/.*_in_0"/first/; s/"id"://; s/"has_more"://' | tr -d '"' | tr '\n' ' ')" = "$wanted " ] || die "items$query: $(cat body), expected $wanted"
done <<END
|mine first false
?order=desc|mine first false
?order=asc|first mine false
?limit=1|mine true
?limit=1&after=mine|first false
?order=asc&after=mine|false
?order=asc&limit=1&include=x|first true
END
for query in 'limit=0' 'limit=101' 'limit=x' 'order=up'; do ask 400 GET "$route/$second/input_items?$query"; done
ask 400 GET "$route/$first?stream=true"
for path in "$unkept" resp_x "$first/other" "$unkept/input_items" "$first$first"; do
    ask 404 GET "$route/$path"
    body_has "not found."
done
ask 200 DELETE "$route/$first"
body_has "{\"id\":\"$first\",\"object\":\"response\",\"deleted\":true}"
for method in GET DELETE; do ask 404 $method "$route/$first"; done
post 400 "\"input\":\"x\",\"previous_response_id\":\"$first\""
body_has '"param":"previous_response_id","code":"previous_response_not_found"'
post 200 "\"input\":\"Thanks\",$cold,\"previous_response_id\":\"$second\""
[ "$(said)" = "$third" ] || die "behind one that was deleted: '$(said)', expected '$third'"
# what is wrong with a history is said of the field that brought it
post 200 "\"input\":[$(turn user a),$call],$cold,\"max_output_tokens\":3"
post 400 "\"input\":\"b\",\"previous_response_id\":\"$(id)\""
body_has '"param":"previous_response_id'
ask 405 POST $route/resp_x '{}'
ask 405 GET $route

# ---- what is wrong: the status, what the reply says, the fields ----

user='{"role":"user","content":"a"}'
while IFS='|' read -r status says fields; do
    post "$status" "$fields"
    body_has "$says"
done <<END
400|"param":"input","code":"missing_required_parameter"|"model":"x"
400|"param":"input"|"input":[]
400|"param":"input"|"input":3
400|"param":"input[1]"|"input":[$user,3]
400|"param":"input[0].type"|"input":[{"type":"item_reference","id":"x"}]
400|"param":"input[1].role"|"input":[$user,{"role":"king","content":"a"}]
400|"param":"input[0].content"|"input":[{"role":"user"}]
400|"param":"input[2].content"|"input":[$user,{"role":"assistant","content":"b"},{"role":"user","content":1}]
400|"param":"input[0].content[1]"|"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:,"}]}]
400|"param":"input[0].content[0]"|"input":[{"role":"system","content":[{"type":"input_file","file_id":"x"}]},$user]
400|"param":"input[1].arguments"|"input":[$user,{"type":"function_call","call_id":"a","name":"x","arguments":{}}]
400|"param":"input[2].arguments"|"input":[$user,$call,{"type":"function_call","call_id":"b","name":"x","arguments":"{"},{"type":"function_call_output","call_id":"a","output":"x"}]
400|"message":"input[2].arguments|"input":[$user,$call,{"type":"function_call","call_id":"b","name":"x","arguments":"[]"}]
400|"param":"input[1].call_id"|"input":[$user,{"type":"function_call","name":"x","arguments":"{}"}]
400|"param":"input[1].call_id"|"input":[$user,{"type":"function_call_output","output":"x"}]
400|"param":"input[2].call_id"|"input":[$user,$call,{"type":"function_call_output","call_id":"z","output":"x"}]
400|"param":"input[1].role"|"input":[$user,{"type":"function_call_output","call_id":"a","output":"x"}]
400|"param":"input[2].output"|"input":[$user,$call,{"type":"function_call_output","call_id":"a"}]
400|"param":"instructions"|$question,"instructions":["x"]
400|"param":"tools[0].type"|$question,"tools":[{"type":"web_search"}]
400|"param":"tools[1].name"|$question,"tools":[{"type":"function","name":"x"},{"type":"function"}]
400|"param":"tools[0].parameters|$question,"tools":[{"type":"function","name":"x","strict":true,"parameters":{"type":"hiccup"}}],"tool_choice":"required"
400|"param":"tool_choice"|$question,"tools":[{"type":"function","name":"x"}],"tool_choice":{"type":"web_search"}
400|"param":"tool_choice"|$question,"tool_choice":"required"
400|"param":"tool_choice"|$question,"tools":[{"type":"function","name":"x"}],"tool_choice":"often"
400|"param":"text.format.type"|$question,"text":{"format":{"type":"yaml"}}
400|"param":"text.format.schema"|$question,"text":{"format":{"type":"json_schema","name":"x"}}
400|"param":"text.verbosity"|$question,"text":{"verbosity":"low"}
400|did you mean text.format?|$question,"text":{"formt":{}}
400|"param":"reasoning.effort"|$question,"reasoning":{"effort":"much"}
400|"param":"reasoning.mode"|$question,"reasoning":{"mode":"pro"}
400|"param":"include[1]"|$question,"include":["a",1]
400|"param":"metadata"|$question,"metadata":{"a":1}
400|"param":"metadata"|$question,"metadata":{$(printf '"%d":"",' {1..16})"17":""}
400|"param":"background"|$question,"background":true
400|"param":"truncation"|$question,"truncation":"auto"
400|"param":"conversation"|$question,"conversation":"x"
400|"param":"n"|$question,"n":2
400|"param":"max_output_tokens"|$question,"max_output_tokens":0
400|"param":"max_tokens"|$question,"max_tokens":5
400|"param":"top_logprobs"|$question,"top_logprobs":21
400|"param":"temperature"|$question,"temperature":"hot"
400|"param":"stream_options"|$question,"stream_options":{}
400|"param":"previous_response_id"|$question,"previous_response_id":"$(printf '%0100d' 0)"
400|"code":"context_length_exceeded"|"input":"$(printf 'a %.0s' {1..2048})"
400|"param":"input"|"input":"$(printf 'a %.0s' {1..2048})"
400|duplicate key|$question,"store":true,"store":false
200|"object":"response"|$question,"background":false,"truncation":"disabled","stream_options":null,"n":1,"prompt":null
END
for body in '' '[]' null '{"input":"\ud800"}'; do ask 400 POST $route "$body"; done
stop_server 0
[ ! -s serve.err ] || die "the server says $(cat serve.err)"
