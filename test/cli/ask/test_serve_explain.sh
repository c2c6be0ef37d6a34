#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_explain.sh: POST /v1/explain of `carat serve`: whose request it is, its prompt, where each
# setting comes from, its form and what has no effect, for bodies of every surface; nothing is evaluated.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
explain=/v1/explain
messages='"messages":[{"role":"user","content":"Turn on the kitchen lights"}]'
schema='{"type":"object","properties":{"room":{"enum":["kitchen","office"]}},"required":["room"]}'
tools="\"tools\":$(tr -d '\n' <"$tiny/tools.json")"

start_server tiny -np 3
ask 200 POST $explain "{$messages,\"temperature\":0.7,\"top_k\":5,\"seed\":18446744073709551615,\"max_tokens\":20,\"n\":2,\"stop\":[\"x\",\"y\"],\"stream\":true,\"user\":\"x\",\"metadata\":{},\"bluetooth\":1,\"wifi\":2}"
cp body first
body_has '{"object":"explanation","surface":"/v1/chat/completions","model":"tiny","prompts":1,"prompt":"<bos><start_of_turn>user\nTurn on the kitchen lights<end_of_turn>\n<start_of_turn>model\n","prompt_tokens":14,"ids":[2,105,'
body_has '"messages_begin":[1],"template":{"name":"functiongemma",'
body_has '"seed":{"value":18446744073709551615,"origin":"request"},"logit_bias":{"ids":0,"origin":"default"}'
body_has '{"link":"top_k","top_k":{"value":5,"origin":"request"}},{"link":"temperature","temperature":{"value":0.7,"origin":"request"}}'
body_has '{"link":"top_p","top_p":{"value":0.95,"origin":"model"}},{"link":"min_p","min_p":{"value":0,"origin":"model"}}'
body_has '"repeat_penalty":{"value":1,"origin":"default"}'
body_has '"constraint":null,"n":2,"stream":true,"max_tokens":{"value":20,"origin":"request"},"stop":["x","y"]'
body_has '"without_effect":["user","metadata"],"ignored":["bluetooth","wifi"]'
body_has '"memory":{"answers":2,"positions":33,"blocks":'
body_has '"cached":{"tokens":0,"in_common":0,"cause":"nothing of this prompt is kept","left":null}'
body_has '"places":{"all":3,"taken":0,"waiting":0}'
body_has '"to_evaluate":14,"wait_ms":0}'
body_has '"first_token":{"tokens_per_second":null,"ms":null,'
head_has '^Content-Type: application/json'
ask 200 POST /v1/chat/completions/render "{$messages}"
ids=$(grep -o '"token_ids":\[[0-9,]*\]' body | sed 's/.*://')
grep -qF "\"ids\":$ids" first || die "the ids are $(cat first), those of the prompt $ids"

# ---- every setting of the chain can come from the request ----

while IFS='|' read -r field value told; do
    ask 200 POST $explain "{$messages,\"$field\":$value}"
    body_has "\"${told:-$field}\":{\"value\":$value,\"origin\":\"request\"}"
    [ "$(grep -o '"origin":"request"' body | wc -l)" = 1 ] || die "$field: $(cat body)"
done <<'END'
temperature|1.25
top_k|7
top_p|0.5
min_p|0.125
typical_p|0.75
repeat_penalty|1.5
repeat_last_n|33
frequency_penalty|0.5
presence_penalty|-0.5
seed|0
max_tokens|3
max_completion_tokens|4|max_tokens
END
ask 200 POST $explain "{$messages,\"logit_bias\":{\"5\":1,\"6\":-1}}"
body_has '"logit_bias":{"ids":2,"origin":"request"}'
body_has '"seed":{"value":null,"origin":"drawn"}'
body_has '"max_tokens":{"value":2035,"origin":"context"}'
ask 200 POST $explain "{$messages,\"max_tokens\":5000}"
body_has '"max_tokens":{"value":2035,"origin":"context"}'

# ---- whose request it is: by its fields, or by the path ----

while IFS='|' read -r surface path fields; do
    ask 200 POST "$explain$path" "{$fields}" "${anthropic:-}"
    body_has "\"surface\":\"$surface\","
done <<END
/v1/messages||$messages,"max_tokens":5,"system":"Be brief"
/v1/messages||$messages,"max_tokens":5,"stop_sequences":["a"]
/v1/messages|/v1/messages|$messages,"max_tokens":5
/api/chat||"model":"tiny",$messages,"options":{"temperature":1}
/api/chat||"model":"tiny",$messages,"think":false
/api/chat|/api/chat|"model":"tiny",$messages
/api/generate||"model":"tiny","prompt":"Turn on","options":{}
/api/generate|/api/generate|"model":"tiny","prompt":"Turn on","system":"Be brief"
/api/generate||"model":"tiny","prompt":"Turn on","system":"Be brief"
/v1/completions||"prompt":"Turn on"
/v1/completions|/v1/completions|"prompt":[528,605]
/v1beta/models/*:generateContent||"contents":[{"parts":[{"text":"a"}]}]
/v1beta/models/*:generateContent|/v1beta/models/any:generateContent|"contents":[{"parts":[{"text":"a"}]}]
/v1/models/*:streamGenerateContent|/v1/models/any:streamGenerateContent|"contents":[{"parts":[{"text":"a"}]}]
/completion||"prompt":"Turn on","n_predict":1
/completions|/completions|"prompt":"Turn on"
/v1/chat/completions||$messages,"options":null
/v1/chat/completions|/v1/chat/completions|$messages
END
ask 200 POST $explain "{$messages,\"max_tokens\":5}" 'anthropic-version: 2023-06-01'
body_has '"surface":"/v1/messages",'
ask 200 POST $explain "{\"model\":\"tiny\",$messages,\"options\":{\"temperature\":1.5,\"num_predict\":9,\"num_ctx\":512}}"
body_has '"temperature":{"value":1.5,"origin":"request"}'
body_has '"max_tokens":{"value":9,"origin":"request"}'
body_has '"without_effect":["options.num_ctx"]'
ask 200 POST $explain "{$messages,\"max_tokens\":5,\"system\":\"Be brief\",\"temperature\":1}"
body_has 'Be brief'
body_has '"temperature":{"value":1,"origin":"request"}'
ask 200 POST $explain '{"model":"tiny","prompt":"Turn on","raw":true,"options":{}}'
body_has '"prompt":"Turn on","prompt_tokens":3,'
body_has '"template":null'

ask 200 POST $explain '{"prompt":"Turn on","samplers":["top_p","xtc","dry"],"dry_multiplier":0.5,"xtc_probability":0.25}'
body_has '"chain":[{"link":"top_p","top_p":{"value":0.95,"origin":"model"}},{"link":"xtc","xtc_probability":{"value":0.25,"origin":"request"}},{"link":"dry","dry_multiplier":{"value":0.5,"origin":"request"}}]'
ask 200 POST $explain '{"prompt":["Turn on","The"],"temperature":1}'
body_has '"prompts":2,"prompt":"Turn on","prompt_tokens":3,'
body_has '"max_tokens":{"value":16,"origin":"default"}'
ask 200 POST $explain '{"prompt":[2,528,605],"max_tokens":5}'
body_has '"prompts":1,"prompt":null,"prompt_tokens":3,"ids":[2,528,605],'
body_has '"max_tokens":{"value":5,"origin":"request"}'

# ---- forms ----

ask 200 POST $explain "{$messages,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"x\",\"schema\":$schema}}}"
body_has "\"constraint\":{\"form\":\"schema\",\"text\":\"${schema//\"/\\\"}\",\"tool_choice\":null,\"one_call\":false,\"rules\":"
ask 200 POST $explain "{$messages,$tools,\"tool_choice\":\"required\"}"
body_has '"constraint":{"form":"tools","text":"['
body_has '"tool_choice":"required"'
ask 200 POST $explain "{$messages,$tools}"
body_has '"constraint":null'
body_has 'turn_on_lights'

# ---- what would be refused is refused in the same words ----

while IFS='|' read -r status says path fields; do
    ask "$status" POST "$explain$path" "{$fields}"
    body_has "$says"
done <<END
400|"param":"temperature"||$messages,"temperature":-1
400|did you mean temperature?||$messages,"temprature":1
400|"param":"max_tokens"|/v1/messages|$messages
400|"param":"messages"||"n":1
404|no answers are drawn at the path /v1/models|/v1/models|$messages
404|no answers are drawn at the path /v1/chat/completions/and|/v1/chat/completions/and|$messages
404|no answers are drawn at the path /|/$(printf 'x%.0s' {1..300})|$messages
END
ask 400 POST $explain '{'
ask 400 POST $explain "{\"messages\":[{\"role\":\"user\",\"content\":\"$(printf 'a %.0s' {1..2048})\"}]}"
body_has '"code":"context_length_exceeded"'
ask 405 GET $explain

# ---- nothing was evaluated; the speed is told when it is measured ----

ask 200 POST /v1/chat/completions "{$messages,\"max_tokens\":2}"
body_has '"cached_tokens":0}'
ask 200 POST /v1/chat/completions "{\"messages\":[{\"role\":\"user\",\"content\":\"$(printf 'a %.0s' {1..200})\"}],\"max_tokens\":1}"
for _ in {1..500}; do
    ask 200 POST $explain "{$messages}"
    if grep -qE '"first_token":\{"tokens_per_second":[1-9][0-9]*,"ms":[0-9.]+,' body; then break; fi
    sleep 0.02
done
grep -qE '"first_token":\{"tokens_per_second":[1-9][0-9]*,"ms":[0-9.]+,' body || die "no speed is told: $(cat body)"

# ---- what is kept of a prompt, and where it leaves the nearest one: as many tokens as an answer says ----

chat=/v1/chat/completions
# told CAUSE LEFT BODY [PATH]: what is said of a request, and that its answer finds as much.
told() {
    local tokens
    ask 200 POST $explain "$3"
    body_has "\"cause\":\"$1"
    body_has "\"left\":$2"
    tokens=$(sed 's/.*"cached":{"tokens":\([0-9]*\),.*/\1/' body)
    body_has "\"to_evaluate\":$(($(sed 's/.*"prompt_tokens":\([0-9]*\),.*/\1/' body) - tokens)),"
    ask 200 POST "${4:-$chat}" "$3"
    body_has "\"cached_tokens\":$tokens}"
}
# turn DAY TEXT MORE: a conversation with a date in its first message.
turn() { printf '{"messages":[{"role":"system","content":"You are brief.\\nToday is %s.\\nThe house has six rooms."},{"role":"user","content":"%s"}%s],"max_tokens":1}' "$1" "$2" "$3"; }
friday='Friday, 27 November 2026' lights='Turn on the kitchen lights' doors='{"role":"assistant","content":"Done."},{"role":"user","content":"And the doors?"}'
told 'the texts differ' '{"token":' "$(turn "$friday" "$lights" '')"
told 'all of this prompt is kept' null "$(turn "$friday" "$lights" '')"
told 'a date, a time or a number in this line changes' '{"token":' "$(turn 'Saturday, 28 November 2026' "$lights" '')"
told 'a date, a time or a number in this line changes' '{"token":' "$(turn 'Friday, 27 November 2027' "$lights" '')"
told 'the texts differ' '{"token":' "$(turn "$friday" 'Turn off the office lights' '')"
told 'white space differs' '{"token":' "$(turn "$friday" 'Turn on  the kitchen lights' '')"
told 'the prompt goes on where what is kept ends' '{"token":' "$(turn "$friday" "$lights" ",$doors")"
told 'the texts differ' '{"token":' "$(turn 'a day, 27 November 2026' "$lights" '')"
told 'the texts differ' '{"token":' "$(turn "$friday" 'Shut  the doors' '')"
told 'white space differs' '{"token":' "$(turn "$friday" 'Shut the doors' '')"
told 'white space differs' '{"token":' "$(turn "$friday" 'Shut\n\nthe doors' '')"
ask 200 POST $explain "$(turn 'Saturday, 29 November 2026' "$lights" '')"
body_has '"prompt":"9 November 2026.\nThe house has six rooms'
body_has '"cached":"8 November 2026.\nThe house has six rooms'
body_has 'Today is Saturday, 2","prompt":'
stop_server 0
start_server tiny -np 1
# the index is that of the message as it was sent; of what is no message there is none
many='{"role":"user","content":"Turn on"},{"role":"user","content":"the kitchen lights"},{"role":"assistant","content":"Done."},{"role":"user","content":"%s"}'
# shellcheck disable=SC2059 # the pattern is a variable
for text in 'Turn on the doors' 'Open them'; do
    printf "{\"messages\":[$many],\"max_tokens\":1}" "$text" >"request"
    ask 200 POST $explain "$(cat request)"
    cp body last
    ask 200 POST $chat "$(cat request)"
done
cp last body
grep -qF '"message":3,' last || die "the fourth message is another one: $(cat last)"
body_has '"cause":"the texts differ"'
ask 200 POST $explain "$(sed 's/Turn on"/Shut"/' request)"
body_has '"message":0,'
ask 200 POST $explain "{\"model\":\"tiny\",\"max_tokens\":1,\"system\":\"Be brief\",$messages}"
body_has '"message":null,'
ask 200 POST $explain '{"prompt":"Turn on","max_tokens":1}'
body_has '"in_common":1,"cause":"the texts differ","left":{"token":1,"message":null,"before":"<bos>","prompt":"Turn on","cached":"<start_of_turn>'
# of a prompt that is scored nothing is taken from what is kept
scored='"prompt":"Turn on","echo":true,"logprobs":1' all='how likely a prompt is takes all of it to be evaluated'
told "$all" '{"token":' "{$scored,\"max_tokens\":1}" /v1/completions
told "$all" null "{$scored,\"max_tokens\":0}" /v1/completions
# while others are answered, and to one that leaves
exec 8<>"/dev/tcp/127.0.0.1/$port"
body="{$messages,\"stream\":true,\"logit_bias\":{\"1\":-100,\"106\":-100}}"
printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' $chat ${#body} "$body" >&8
IFS= read -r _ <&8
for _ in {1..20}; do ask 200 POST $explain "$(cat request)"; done
body_has '"cached":{"tokens":'
exec 8>&- 8<&-
stop_server 0
