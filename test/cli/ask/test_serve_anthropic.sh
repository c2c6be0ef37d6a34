#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_anthropic.sh: Anthropic's routes of `carat serve`: messages, whole and as events, tools, answers
# that were begun, forms, counts, models; and errors in their shape. The texts are those of carat run.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
messages='"model":"claude","messages":[{"role":"user","content":"Turn on the kitchen lights"}]'
cold='"max_tokens":100,"temperature":0'

# The text of a reply, whole or as events, as JSON spells it.
heard() { grep -oE '"type":"text(_delta)?","text":"[^"]*"' body | sed -E 's/^.*"text":"//; s/"$//' | tr -d '\n'; }
# post STATUS FIELDS: a message.
post() { ask "$1" POST /v1/messages "{$messages,$2}"; }
# events NAME...: exactly these came, runs of deltas counted once.
events() {
    local came
    came=$(sed -n 's/^event: //p' body | uniq | tr '\n' ' ')
    [ "$came" = "$* " ] || die "events $came, expected $*"
}

start_server tiny -np 2

# ---- answers ----

while IFS='|' read -r options fields; do
    # shellcheck disable=SC2086 # several options
    "$CARAT" run tiny $options --json "Turn on the kitchen lights" </dev/null >run.json 2>err
    wanted=$(grep -o '"text": *"[^"]*"' run.json | sed 's/^"text": *"//; s/"$//')
    post 200 "$fields"
    [ "$(heard)" = "$wanted" ] || die "$fields: '$(heard)', expected '$wanted'"
    head_has '^request-id: [0-9a-f]'
    post 200 "$fields,\"stream\":true"
    [ "$(heard)" = "$wanted" ] || die "$fields, as events: '$(heard)', expected '$wanted'"
    events message_start content_block_start content_block_delta content_block_stop message_delta message_stop
    body_has '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"'
done <<'END'
--temp 0 -n 200|"temperature":0,"max_tokens":200
--seed 7 -n 200|"seed":7,"max_tokens":200
--seed 8 -n 200 --temp 1 --top-k 0 --top-p 1|"seed":8,"max_tokens":200,"temperature":1,"top_k":0,"top_p":1
--temp 0 --stop lights|"temperature":0,"max_tokens":200,"stop_sequences":["lights"]
END
body_has '"stop_reason":"stop_sequence","stop_sequence":"lights"'
post 200 "$cold"
grep -qE '^\{"id":"msg_[0-9a-f]+","type":"message","role":"assistant","model":"tiny","content":\[\{"type":"text","text":"The kitchen lights are now on."\}\],"stop_reason":"end_turn","stop_sequence":null,"usage":\{"input_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":13,"output_tokens":7\}\}$' body || die "a message: $(cat body)"
post 200 '"max_tokens":3,"temperature":0'
body_has '"stop_reason":"max_tokens"'
post 200 '"max_tokens":100000,"temperature":1,"seed":3,"top_k":0,"stop_sequences":["."]'
body_has '"stop_reason":"stop_sequence"'
# an answer that was begun, as a text or as a block
begun='"messages":[{"role":"user","content":"Turn on the kitchen lights"},{"role":"assistant","content":'
for content in '"The kitchen"' '[{"type":"text","text":"The kitchen"}]'; do
    ask 200 POST /v1/messages "{\"model\":\"x\",$begun$content}],$cold}"
    [ "$(heard)" = ' lights are now on.' ] || die "an answer that goes on: $(cat body)"
done
# system prompts and contents as blocks are those as texts
ask 200 POST /v1/chat/completions '{"messages":[{"role":"system","content":"Be brief"},{"role":"user","content":"Hello you"}],"temperature":0,"max_tokens":9}'
wanted=$(told) tokens=$(grep -o '"prompt_tokens":[0-9]*' body)
for system in '"Be brief"' '[{"type":"text","text":"Be brief","cache_control":{"type":"ephemeral"}}]'; do
    ask 200 POST /v1/messages "{\"model\":\"x\",\"system\":$system,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hello you\"}]}],\"temperature\":0,\"max_tokens\":9}"
    [ "$(heard)" = "$wanted" ] || die "system $system: '$(heard)', expected '$wanted'"
    ask 200 POST /v1/messages/count_tokens "{\"model\":\"x\",\"system\":$system,\"messages\":[{\"role\":\"user\",\"content\":\"Hello you\"}]}"
    body_has "{\"input_tokens\":${tokens#*:}}"
done
head_has '^carat-without-effect: cache_control'

# ---- tools and forms ----

schema='{"type":"object","properties":{"room":{"type":"string","enum":["kitchen","office"]}},"required":["room"],"additionalProperties":false}'
tool="{\"name\":\"turn_on_lights\",\"description\":\"Turn the lights of a room on\",\"input_schema\":$schema}"
for choice in '"type":"any"' '"type":"tool","name":"turn_on_lights"' '"type":"any","disable_parallel_tool_use":true'; do
    post 200 "$cold,\"tools\":[$tool],\"tool_choice\":{$choice}"
    grep -qE '"content":\[\{"type":"tool_use","id":"toolu_[0-9a-f]+_0","name":"turn_on_lights","input":\{"room":"(kitchen|office)"\}\}\],"stop_reason":"tool_use"' body || die "tool_choice $choice: $(cat body)"
    post 200 "$cold,\"tools\":[$tool],\"tool_choice\":{$choice},\"stream\":true"
    events message_start content_block_start content_block_delta content_block_stop message_delta message_stop
    body_has '"delta":{"type":"input_json_delta","partial_json":"{\"room\":\"'
done
ask 200 POST /v1/messages "{\"model\":\"x\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}],$cold,\"tools\":[$tool],\"tool_choice\":{\"type\":\"any\"}}"
body_has '"stop_reason":"tool_use"'
post 200 "$cold,\"tools\":[$tool],\"tool_choice\":{\"type\":\"none\"}"
[ "$(heard)" = 'The kitchen lights are now on.' ] || die "tool_choice none: $(cat body)"
use='{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"Yes"},{"type":"tool_use","id":"a","name":"turn_on_lights","input":{"room":"kitchen"}}]}'
for result in '"done"' '[{"type":"text","text":"done"}]'; do
    ask 200 POST /v1/messages "{${messages%]},$use,{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":$result}]}],$cold,\"tools\":[$tool]}"
    text=$(heard)
    [ "$text" = "${before:=$text}" ] || die "results as text and as blocks: '$before', '$text'"
done
post 200 "$cold,\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":$schema}}"
grep -qE '\\"room\\" *:( |\\n)*\\"(kitchen|office)\\"[^}]*\}"' body || die "a schema: $(cat body)"

# ---- counts and models ----

ask 200 POST /v1/messages/count_tokens "{$messages}"
[ "$(cat body)" = '{"input_tokens":14}' ] || die "a count: $(cat body)"
ask 200 GET /v1/models '' 'anthropic-version: 2023-06-01'
body_has '{"data":[{"type":"model","id":"tiny","display_name":"tiny","created_at":"20'
ask 200 GET /v1/models/tiny '' 'anthropic-version: 2023-06-01'
body_has '{"type":"model","id":"tiny"'
ask 404 GET /v1/models/tin '' 'anthropic-version: 2023-06-01'
body_has '{"type":"error","error":{"type":"not_found_error","message":"the model that is served is tiny"}}'

# ---- what is wrong ----

while IFS='|' read -r status says fields; do
    post "$status" "$fields"
    body_has '{"type":"error","error":{"type":"invalid_request_error","message":"'
    body_has "$says"
done <<END
400|max_tokens is missing|"temperature":0
400|max_tokens at byte|"max_tokens":0
400|temperature at byte|"max_tokens":1,"temperature":2
400|did you mean max_tokens?|"max_token":1
400|none are run here|$cold,"tools":[{"type":"web_search_20250305","name":"web_search"}]
400|tools[0].input_schema.type: |$cold,"tools":[{"name":"a","input_schema":{"type":"hiccup"}}],"tool_choice":{"type":"any"}
400|tool_choice at byte|$cold,"tools":[$tool],"tool_choice":{"type":"much"}
400|nope|$cold,"tools":[$tool],"tool_choice":{"type":"tool","name":"nope"}
400|thinking.type at byte|$cold,"thinking":{"type":"much"}
400|thinking.budget_tokens at byte|$cold,"thinking":{"type":"enabled","budget_tokens":0}
400|output_config.format at byte|$cold,"output_config":{"format":{"type":"text"}}
400|nothing is fetched|$cold,"mcp_servers":[{"url":"http://localhost"}]
400|"details":{"error_code":"thread_unsupported_request","unsupported":["thread"]}|$cold,"thread":{"type":"create"}
400|"error_code":"thread_unsupported_request"|$cold,"stream":true,"thread":{"type":"continue","previous_message_id":"msg_1"}
400|body: at byte|$cold,
END
while IFS='|' read -r says list; do
    ask 400 POST /v1/messages "{\"model\":\"x\",$cold,\"messages\":[$list]}"
    body_has "$says"
done <<'END'
messages has 0 elements|
messages[0].role at byte|{"role":"system","content":"a"}
messages[1].content at byte|{"role":"user","content":"a"},{"role":"assistant","content":1}
messages[0].content[0] at byte|{"role":"user","content":[{"type":"image","source":{"type":"url","url":"http://localhost/a.png"}}]}
messages[0].content[1].tool_use_id|{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result"}]}
messages[1].content[0] at byte|{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_result"}]}
messages[1].content[0] at byte|{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b"}]}
messages[3].role: a tool message|{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"user","content":"c"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}
END
ask 400 POST /v1/messages "{\"model\":\"x\",$cold,\"system\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}]}]}"
body_has 'messages[1].role: a tool message'
post 200 "$cold,\"metadata\":{\"user_id\":\"a\"},\"odd\":1,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}"
head_has '^carat-ignored: odd'
head_has '^carat-without-effect: metadata, thinking'
long=$(printf 'word %.0s' {1..3000})
ask 200 POST /v1/messages/count_tokens "{\"model\":\"x\",\"messages\":[{\"role\":\"user\",\"content\":\"$long\"}]}"
body_has '{"input_tokens":60'
ask 400 POST /v1/messages "{\"model\":\"x\",$cold,\"messages\":[{\"role\":\"user\",\"content\":\"$long\"}]}"
body_has 'and the context 2048 positions'
# the context ends before the answer does
ask 200 POST /v1/messages "{\"model\":\"x\",$cold,\"messages\":[{\"role\":\"user\",\"content\":\"$(printf 'word %.0s' {1..1017})\"}]}"
body_has '"stop_reason":"model_context_window_exceeded"'
ask 405 GET /v1/messages
body_has '{"type":"error","error":{"type":"invalid_request_error"'
stop_server 0
