#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_spelled_forms.sh: forms of answers by all names that llama.cpp, vLLM and SGLang have for them,
# and whether a model thinks, and how long, by all names of that, on the surfaces of `carat serve`.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
cp -r "$CARAT_SOURCE/test/fixtures/tiny4" tiny4
words='Turn on the kitchen lights'
messages="\"messages\":[{\"role\":\"user\",\"content\":\"$words\"}]"

start_server tiny -np 3
ask 200 POST /v1/explain "{$messages}"
ids=$(grep -o '"ids":\[[0-9,]*\]' body | head -n 1 | sed 's/"ids"://')

# ---- forms, each by all of its names ----

schema='{"type":"object","properties":{"room":{"enum":["office"]}},"required":["room"]}'
quoted=${schema//\"/\\\"}
all='/v1/chat/completions /v1/completions /completion /api/chat /v1/messages /v1/responses gemini'
while IFS='~' read -r wanted fields; do
    [[ $fields == *'"yes"]}'|| $fields == '"guided_json":{'* ]] && paths=$all || paths=${all%% *}
    for path in $paths; do
        case $path in
            /v1/responses) ask 200 POST $path "{\"input\":\"$words\",\"temperature\":0,\"max_output_tokens\":40,$fields}" ;;
            /api/chat) ask 200 POST $path "{\"model\":\"tiny\",\"stream\":false,$messages,\"options\":{\"temperature\":0,\"num_predict\":40},$fields}" ;;
            gemini) ask 200 POST /v1beta/models/tiny:generateContent "{\"contents\":[{\"parts\":[{\"text\":\"$words\"}]}],\"generationConfig\":{\"temperature\":0,\"maxOutputTokens\":40,$fields}}" ;;
            *ions | *tion) ask 200 POST $path "{$([ $path = /v1/chat/completions ] && echo "$messages" || echo "\"prompt\":$ids"),\"temperature\":0,\"max_tokens\":40,$fields}" ;;
            *) ask 200 POST $path "{$messages,\"temperature\":0,\"max_tokens\":40,$fields}" ;;
        esac
        [[ $(text_of_reply | sed 's/\\n//g; s/ //g') =~ ^$wanted$ ]] || die "$path: $fields: '$(text_of_reply)', expected '$wanted'"
        quiet "$path $fields"
    done
done <<END
(no|yes)~"grammar":"root ::= \"no\" | \"yes\""
(no|yes)~"guided_grammar":"root ::= \"no\" | \"yes\""
(no|yes)~"ebnf":"root ::= \"no\" | \"yes\""
(no|yes)~"structured_outputs":{"grammar":"root ::= \"no\" | \"yes\"","disable_fallback":true}
(no|yes)~"guided_choice":["no","yes"]
(no|yes)~"structured_outputs":{"choice":["no","yes"]}
a[^a-z]{4}b~"guided_choice":["a\\\\\\"b"]
[0-9]{3}~"guided_regex":"[0-9]{3}"
[0-9]{3}~"regex":"[0-9]{3}"
[0-9]{3}~"structured_outputs":{"regex":"[0-9]{3}"}
.*room.*office.*~"json_schema":$schema
.*room.*office.*~"guided_json":$schema
.*room.*office.*~"guided_json":"$quoted"
.*room.*office.*~"structured_outputs":{"json":$schema}
.*room.*office.*~"structured_outputs":{"json":"$quoted","disable_any_whitespace":true}
\{.*~"structured_outputs":{"json_object":true}
\{.*~"guided_json_object":true
END
for path in /v1/chat/completions /v1/completions; do
    ask 200 POST $path "{$messages,\"prompt\":\"x\",\"temperature\":0,\"max_tokens\":40,\"response_format\":{\"type\":\"text\"},\"guided_grammar\":\"\",\"guided_json_object\":false}"
done
ask 200 POST /v1/chat/completions "{$messages,\"temperature\":0,\"structured_outputs\":{\"json\":{\"additionalProperties\":false,${schema:1},\"disable_any_whitespace\":true}}"
body_has '"content":"{\"room\": \"office\"}"'
for format in '{"type":"json_object"}' "{\"type\":\"json_schema\",\"json_schema\":{\"schema\":$schema}}"; do
    ask 200 POST /v1/completions "{\"prompt\":$ids,\"temperature\":0,\"max_tokens\":40,\"response_format\":$format}"
    [[ $(text_of_reply) == *"{"*"}"* ]] || die "$format: $(cat body)"
done
ask 400 POST /v1/completions '{"prompt":"x","guided\u005fregex":"a","response_format":{"type":"json_object"}}'
body_has '"param":"guided_regex"'
ask 400 POST /v1/chat/completions "{$messages,\"guided_regex\":\"a\",\"response_format\":{\"type\":\"json_object\"}}"
body_has 'this answer has a form already'
stop_server 0

# ---- thoughts, by all names ----

start_server tiny4 -np 1
hi='"messages":[{"role":"user","content":"Is the kitchen light on?"}]'
rendered() {
    ask 200 POST "/v1/explain$1" "{$2}"
    grep -o '"prompt":"[^"]*"' body
}
plain=$(rendered '' "$hi") thinking=$(rendered '' "$hi,\"reasoning_effort\":\"high\"")
[ "$plain" != "$thinking" ] || die "no thoughts: $plain"
while IFS='|' read -r wanted fields; do
    [ "$wanted" = yes ] && expected=$thinking || expected=$plain
    [ "$(rendered /v1/chat/completions "$hi,$fields")" = "$expected" ] || die "chat: $fields: $(cat body)"
    [ "$(rendered /api/chat "\"model\":\"x\",$hi,$fields")" = "$expected" ] || die "ollama: $fields: $(cat body)"
    [[ $fields == *budget_tokens* ]] || [ "$(rendered /v1/messages "$hi,\"max_tokens\":9,$fields")" = "$expected" ] || die "messages: $fields: $(cat body)"
    [[ $fields == '"reasoning":'* ]] || [ "$(rendered /v1/responses "\"input\":\"Is the kitchen light on?\",$fields")" = "$expected" ] || [[ $fields == *effort* ]] || die "responses: $fields: $(cat body)"
done <<'END'
yes|"think":true
yes|"think":"high"
no|"think":false
yes|"enable_thinking":true
no|"enable_thinking":false
yes|"chat_template_kwargs":{"enable_thinking":true}
yes|"chat_template_kwargs":{"thinking":true}
no|"chat_template_kwargs":{"enable_thinking":false}
yes|"chat_template_kwargs":{"reasoning_effort":"low"}
yes|"reasoning":{"effort":"low"}
no|"reasoning":{"effort":"none"}
yes|"reasoning":{"enabled":true,"exclude":false}
yes|"reasoning":{"max_tokens":9}
yes|"thinking":{"type":"enabled","budget_tokens":9}
no|"thinking":{"type":"disabled"}
no|"enable_thinking":null,"think":null
END
# how long: the same by every name
while IFS= read -r fields; do
    ask 200 POST /v1/chat/completions "{$hi,\"temperature\":0,$fields}"
    grep -o '"reasoning_content":"[^"]*"\|"reasoning_tokens":[0-9]*' body | paste -sd' ' >>lengths
done <<'END'
"enable_thinking":true,"thinking_budget":2
"enable_thinking":true,"thinking_token_budget":2
"think":true,"thinking_budget_tokens":2
"reasoning":{"max_tokens":2}
"thinking":{"type":"enabled","budget_tokens":2}
END
[ "$(sort -u lengths | wc -l)" = 1 ] || die "budgets: $(cat lengths)"
ask 400 POST /v1/chat/completions "{$hi,\"think\":true,\"enable_thinking\":false}"
body_has 'think and enable_thinking say different things'
stop_server 0
echo 'every name of a form and of thoughts means the same'
