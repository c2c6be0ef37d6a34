#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_calls.sh: calls of functions on every surface, whole and in pieces: behind a thought, of
# functions that nobody declared, cut off by a limit or a stop string, within forms that end where the limit
# is; what log-probabilities and counts of thoughts belong to.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
question='Turn on the kitchen lights'
properties='"properties":{"on":{"type":"boolean"},"room":{"type":"string"}},"required":["on","room"]'

# put CHAT RESPONSES MESSAGES OLLAMA GEMINI: fields of each surface beside the question and one function,
# whose name is in $name; asks each surface whole and in pieces, and puts what it says into told.SURFACE.
put() {
    local stream function="\"name\":\"$name\",\"description\":\"Switches lights.\"" parameters="{\"type\":\"object\",$properties}"
    local user="[{\"role\":\"user\",\"content\":\"$question\"}]" chat=${1-} responses=${2-} messages=${3-} ollama=${4-} gemini=${5-}
    for stream in false true; do
        ask 200 POST /v1/chat/completions "{\"messages\":$user,\"temperature\":0,\"stream\":$stream,\"tools\":[{\"type\":\"function\",\"function\":{$function,\"parameters\":$parameters}}]$chat}"
        mv body told.chat.$stream
        : >body
        [ "$responses" = - ] || ask 200 POST /v1/responses "{\"input\":\"$question\",\"store\":false,\"temperature\":0,\"stream\":$stream,\"tools\":[{\"type\":\"function\",$function,\"parameters\":$parameters,\"strict\":false}]$responses}"
        mv body told.responses.$stream
        ask 200 POST /v1/messages "{\"model\":\"x\",\"messages\":$user,\"temperature\":0,\"stream\":$stream,\"tools\":[{$function,\"input_schema\":$parameters}]${messages:-,\"max_tokens\":99}}"
        mv body told.messages.$stream
        ask 200 POST /api/chat "{\"model\":\"$model\",\"messages\":$user,\"stream\":$stream,\"options\":{\"temperature\":0${ollama:+,$ollama}},\"tools\":[{\"type\":\"function\",\"function\":{$function,\"parameters\":$parameters}}]${think:+,\"think\":true}}"
        mv body told.ollama.$stream
        [ $stream = true ] && stream_path=':streamGenerateContent?alt=sse' || stream_path=:generateContent
        ask 200 POST /v1beta/models/x$stream_path "{\"contents\":[{\"parts\":[{\"text\":\"$question\"}]}],\"generationConfig\":{\"temperature\":0${gemini:+,$gemini}},\"tools\":[{\"functionDeclarations\":[{$function,\"parametersJsonSchema\":$parameters}]}]}"
        mv body told.gemini.$stream
    done
}
# all_have TEXT FILES...: each of the files has it. none_have alike.
all_have() {
    local text=$1 file
    shift
    for file; do grep -qF -e "$text" $file || die "no '$text' in $file: $(tail -c 900 $file)"; done
}
none_have() {
    local text=$1 file
    shift
    for file; do if grep -qF -e "$text" $file; then die "'$text' is in $file: $(tail -c 900 $file)"; fi; done
}
both() { echo told.$1.false told.$1.true; }
calls_told() { # NAME ARGUMENTS: sound calls, and why the answers ended
    local text=${2//\"/\\\"}
    # shellcheck disable=SC2046
    {
        all_have "\"name\":\"$1\",\"arguments\":\"$text\"" $(both chat) $(both responses)
        all_have "\"name\":\"$1\",\"input\":$2" told.messages.false
        all_have "\"partial_json\":\"$text\"" told.messages.true
        all_have "\"name\":\"$1\",\"arguments\":$2" $(both ollama)
        all_have "\"name\":\"$1\",\"args\":$2" $(both gemini)
        all_have '"finish_reason":"tool_calls"' $(both chat)
        all_have '"stop_reason":"tool_use"' $(both messages)
        all_have '"done_reason":"stop"' $(both ollama)
        all_have '"finishReason":"STOP"' $(both gemini)
        none_have 'call:' told.*
    }
}

# ---- a model that thinks before it calls ----

model=tiny4 name=set_lights
start_server "$CARAT_SOURCE/test/fixtures/tiny4" -np 4
think=yes
put ',"reasoning_effort":"high","logprobs":true' ',"reasoning":{"effort":"high"}' ',"thinking":{"type":"enabled","budget_tokens":1024},"max_tokens":2000' '' '"thinkingConfig":{"includeThoughts":true}'
calls_told set_lights '{"on":true,"room":"kitchen"}'
all_have '"reasoning_content":"I can call set_lights."' told.chat.false
all_have '"text":"I can call set_lights."' told.responses.* told.gemini.false
all_have '"thinking":"I can call set_lights."' told.messages.false told.ollama.false
all_have '"reasoning_tokens":12' told.chat.false told.responses.*
all_have '"thoughtsTokenCount":12' told.gemini.*
all_have '"logprobs":{"content":[],' told.chat.false
none_have '"token":"' told.chat.*
# the same where a call is required, and for one of a thought that is cut short
put ',"reasoning_effort":"high","tool_choice":"required"' ',"reasoning":{"effort":"high"},"tool_choice":"required"' ',"thinking":{"type":"enabled","budget_tokens":1024},"max_tokens":2000,"tool_choice":{"type":"any"}' '' '"thinkingConfig":{"includeThoughts":true}'
calls_told set_lights '{"on":true,"room":"kitchen"}'
think=
messages="\"messages\":[{\"role\":\"user\",\"content\":\"$question\"}],\"temperature\":0"
ask 200 POST /v1/chat/completions "{$messages,\"reasoning_effort\":\"high\",\"thinking_budget\":0}" # it may think nothing
none_have '"reasoning_content"' body
for n in 1 2 3 11 12; do
    ask 200 POST /v1/chat/completions "{$messages,\"reasoning_effort\":\"high\",\"max_tokens\":$n}"
    body_has "\"completion_tokens_details\":{\"reasoning_tokens\":$n}"
done

# ---- what nobody declared; what is no function; nobody asked for calls ----

name=get_temperature properties='"properties":{"room":{"type":"string"}},"required":["room"]'
put
calls_told set_lights '{"on":true,"room":"kitchen"}'
ask 200 POST /v1/chat/completions "{$messages}"
[ "$(told)" = 'call:set_lights{on:true,room:kitchen}' ] || die "without tools: $(cat body)"

# ---- what a declaration says and nothing enforces, as long as no call is required ----

for own in '"pattern":"\\p{L}"' '"type":"STRING"' '"enum":[]'; do
    ask 200 POST /v1/chat/completions "{$messages,\"max_tokens\":1,\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"room\":{$own}}}}}]}"
    key=${own%%\":*}
    head_has "^carat-without-effect: tools\[0\].function.parameters.properties.room.${key#\"}"
done
for own in '"pattern":"^(?=x)y"' '"type":"hiccup"'; do # and on every surface
    properties="\"properties\":{\"room\":{$own}}" key=${own%%\":*}
    put
    while read -r surface place; do
        # shellcheck disable=SC2046
        all_have "\"warnings\":[\"tools[0].$place.properties.room.${key#\"}: nothing holds the model to it" $(both $surface)
    done <<'END'
chat function.parameters
ollama function.parameters
responses parameters
messages input_schema
gemini functionDeclarations[0].parametersJsonSchema
END
    head_has "^carat-without-effect: tools\[0\].functionDeclarations\[0\].parametersJsonSchema.properties.room.${key#\"}"
    ask 400 POST /v1/chat/completions "{$messages,\"tool_choice\":\"required\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",$properties}}}]}"
    body_has "\"param\":\"tools[0].function.parameters.properties.room.${key#\"}\""
done
# names of functions: those that the API takes, each once
chat_tool() { printf '{"type":"function","function":{"name":"%s"}}' "$1"; }
responses_tool() { printf '{"type":"function","name":"%s","strict":false}' "$1"; }
messages_tool() { printf '{"name":"%s","input_schema":{"type":"object"}}' "$1"; }
gemini_tool() { printf '{"functionDeclarations":[{"name":"%s"}]}' "$1"; }
long=$(printf 'n%.0s' {1..64})
while IFS='|' read -r surface path rest place odd good; do
    for name in 'a b' "$odd" "${long}$long$long"; do
        ask 400 POST $path "{$rest,\"tools\":[$(${surface}_tool f),$(${surface}_tool "$name")]}"
        body_has "$place"
    done
    ask 400 POST $path "{$rest,\"tools\":[$(${surface}_tool f),$(${surface}_tool f)]}"
    body_has "$place is \\\"f\\\", which is declared twice"
    ask 200 POST $path "{$rest,\"tools\":[$(${surface}_tool f),$(${surface}_tool "$good")]}"
done <<END
chat|/v1/chat/completions|$messages,"max_tokens":1|tools[1].function.name|a.b|$long
chat|/v1/chat/completions|$messages,"max_tokens":1|tools[1].function.name|${long}n|A-_9
responses|/v1/responses|"input":"x","max_output_tokens":1|tools[1].name|é|$long
messages|/v1/messages|"model":"x",$messages,"max_tokens":1|tools[1].name|a.b|$long$long
gemini|/v1beta/models/x:generateContent|"generationConfig":{"maxOutputTokens":1},"contents":[{"parts":[{"text":"a"}]}]|tools[1].functionDeclarations[0].name|a/b|a.b
END
# a schema beside the type, as llama.cpp has it; an argument of any number of digits
ask 200 POST /v1/chat/completions "{$messages,\"max_tokens\":60,\"response_format\":{\"type\":\"json_object\",\"schema\":{\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[7]}},\"required\":[\"a\"],\"additionalProperties\":false}}}"
grep -qE '"content":"[^}]*a\\":[^}]*7[^}]*}"' body || die "a schema of json_object: $(cat body)"
call='{"id":"1","type":"function","function":{"name":"f","arguments":"{\"n\":-18446744073709551615}"}}'
ask 200 POST /apply-template "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"tool_calls\":[$call]},{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"ok\"}]}"
body_has 'call:f{n:-18446744073709551615}'

# members of objects inside that nobody knows are named as those outside; what clients always send is silent
while IFS='|' read -r path names body; do
    ask 200 POST $path "$body"
    if [ -n "$names" ]; then
        head_has "^carat-ignored: ${names//[/\\[}.\?$"
        for one in ${names//,/}; do body_has "\"$one: no field of this name is known here, and it was ignored\""; done
    else
        ! grep -q '^carat-ignored\|^carat-without' reply.head || die "$body: $(cat reply.head)"
    fi
done <<'END'
/v1/chat/completions|messages[0].x, messages[0].content[0].y, tools[0].z, tools[0].function.v, response_format.u|{"max_tokens":1,"messages":[{"role":"user","x":1,"content":[{"type":"text","text":"a","y":{}}]}],"tools":[{"type":"function","z":1,"function":{"name":"f","v":[]}}],"response_format":{"type":"text","u":1}}
/v1/completions|response_format.u|{"prompt":"a","max_tokens":1,"response_format":{"type":"text","u":1}}
/v1/messages|messages[0].x, messages[0].content[0].y, tools[0].z, tool_choice.w|{"model":"x","max_tokens":1,"messages":[{"role":"user","x":1,"content":[{"type":"text","text":"a","y":{}}]}],"tools":[{"name":"f","z":1,"input_schema":{"type":"object"}}],"tool_choice":{"type":"auto","w":1}}
/v1/responses|input[0].x, input[0].content[0].y, tools[0].z, text.format.u|{"max_output_tokens":1,"input":[{"role":"user","x":1,"content":[{"type":"input_text","text":"a","y":{}}]}],"tools":[{"type":"function","strict":false,"name":"f","z":1}],"text":{"format":{"type":"text","u":1}}}
/v1beta/models/x:generateContent|contents[0].x, contents[0].parts[0].y, tools[0].z|{"generationConfig":{"maxOutputTokens":1},"contents":[{"x":1,"parts":[{"text":"a","y":{}}]}],"tools":[{"z":1,"functionDeclarations":[{"name":"f"}]}]}
/api/chat|messages[0].x, tools[0].z, tools[0].function.v|{"model":"x","stream":false,"options":{"num_predict":1},"messages":[{"role":"user","content":"a","x":1}],"tools":[{"type":"function","z":1,"function":{"name":"f","v":1}}]}
/v1/chat/completions||{"max_tokens":1,"messages":[{"role":"user","content":"a","name":"u","x":null},{"role":"assistant","content":"b","refusal":null,"annotations":[],"audio":null,"function_call":null,"tool_calls":null,"reasoning_content":"c"},{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}],"tools":[{"type":"function","function":{"name":"f","description":"d","strict":false}}]}
/v1/responses||{"max_output_tokens":1,"input":[{"role":"user","content":"a"},{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[],"logprobs":[]}]},{"role":"user","content":"a"}]}
/v1/messages||{"model":"x","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b","citations":null},{"type":"tool_use","id":"1","name":"f","input":{},"caller":{"type":"direct"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x","is_error":false}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto","disable_parallel_tool_use":false}}
/api/chat||{"model":"x","stream":false,"options":{"num_predict":1},"messages":[{"role":"user","content":"a","images":[]},{"role":"assistant","content":"","thinking":"t","tool_calls":[{"id":"1","function":{"index":0,"name":"f","arguments":{}}}]},{"role":"tool","tool_name":"f","content":"x"}]}
END

# turns that the template takes are not joined
ask 200 POST /apply-template '{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}'
body_has '<|turn>user\na<turn|>\n<|turn>user\nb<turn|>'

# ---- cut off ----

name=set_lights properties='"properties":{"on":{"type":"boolean"},"room":{"type":"string"}},"required":["on","room"]'
cut() { # CHAT-ARGUMENTS OBJECT STOP_REASON
    # shellcheck disable=SC2046
    {
        all_have "\"name\":\"set_lights\",\"arguments\":\"${1//\"/\\\"}\"" $(both chat) $([ ! -s told.responses.true ] || both responses)
        all_have "\"name\":\"set_lights\",\"input\":$2" told.messages.false
        all_have "\"partial_json\":\"${1//\"/\\\"}\"" told.messages.true
        all_have "\"name\":\"set_lights\",\"arguments\":$2" $(both ollama)
        all_have "\"name\":\"set_lights\",\"args\":$2" $(both gemini)
        all_have '"finish_reason":"length"' $(both chat)
        all_have "\"stop_reason\":\"$3\"" $(both messages)
        all_have '"done_reason":"length"' $(both ollama)
        all_have '"finishReason":"MAX_TOKENS"' $(both gemini)
        none_have 'call:' told.*
    }
}
limits() { put ",\"max_tokens\":$1" ",\"max_output_tokens\":$1" ",\"max_tokens\":$1" "\"num_predict\":$1" "\"maxOutputTokens\":$1"; }
limits 8
cut '{' '{}' max_tokens
all_have '"type":"function_call","status":"incomplete"' told.responses.*
limits 15
cut '{"on":true,"room":"k' '{"on":true}' max_tokens
for n in 18 19; do # all of it is there; the token behind it may be missing
    limits $n
    calls_told set_lights '{"on":true,"room":"kitchen"}'
    all_have '"status":"completed"' told.responses.*
done
limits 5 # the name is not whole
none_have '"name":"set_li' told.chat.* told.messages.* told.ollama.* told.gemini.*
none_have 'call' told.ollama.*
put ',"stop":"kitc"' - ',"stop_sequences":["kitc"],"max_tokens":99' '"stop":["kitc"]' '"stopSequences":["kitc"]'
cut '{"on":true,"room":"' '{"on":true}' stop_sequence
stop_server 0

# ---- what nothing enforces, in the command: a note, and where a call is required a refusal ----

while IFS='|' read -r own key said; do
    printf '[{"name":"f","parameters":{"type":"object","properties":{"room":{%s}}}}]' "$own" >tools.json
    for of in tiny "$CARAT_SOURCE/test/fixtures/tiny4"; do
        expect 0 run "$of" -p Hi -n 1 --tools tools.json
        [[ $of != tiny ]] || err_has "$said"
        expect 2 run "$of" -p Hi --tools tools.json --tool-choice required
            err_has "properties.room.$key"
    done
done <<'END'
"type":"hiccup"|type|properties.room.type: "hiccup" is no type of JSON Schema
"type":"string","enum":[]|enum|property "room" has an empty enum
END

# ---- the tokens around calls are text in FunctionGemma's vocabulary ----

model=tiny name=turn_on_lights properties='"properties":{"room":{"type":"string"}},"required":["room"]'
start_server tiny -np 4
put ',"max_tokens":14' ',"max_output_tokens":14' ',"max_tokens":14' '"num_predict":14' '"maxOutputTokens":14'
all_have '"name":"turn_on_lights","arguments":"{\"room\":\"kitchen"' told.chat.* told.responses.*
none_have '<start' told.*
none_have '<escape>' told.*
tool="\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"play\",\"description\":\"Plays music\",\"parameters\":{\"type\":\"object\"}}}]"
start=$("$CARAT" tokenize tiny --no-bos --special '<start_function_call>') escape=$("$CARAT" tokenize tiny --no-bos --special '<escape>')
for stream in false true; do # tokens that stand where they mean nothing
    ask 200 POST /v1/chat/completions "{$messages,\"max_tokens\":12,\"logit_bias\":{\"$start\":8,\"$escape\":8},\"stream\":$stream,\"logprobs\":true,$tool}"
    none_have '_function_call>' body
    none_have '<escape>' body
done

ask 200 POST /v1/completions "{\"prompt\":\"Turn on\",\"max_tokens\":2,\"temperature\":0,\"logit_bias\":{\"$start\":100}}"
body_has '"text":"<start_function_call><start_function_call>"' # no conversation: it is told as it is

# ---- several calls, and text behind one ----

tool="\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"turn_on_lights\",\"parameters\":{\"type\":\"object\",$properties}}}]"
response=$("$CARAT" tokenize tiny --no-bos --special '<start_function_response>')
goes_on="\"1\":-100,\"106\":-100,\"$response\":-100" # no answer ends by itself
for stream in false true; do
    ask 200 POST /v1/chat/completions "{$messages,\"stream\":$stream,\"max_tokens\":40,\"tool_choice\":\"required\",\"logit_bias\":{$goes_on,\"$start\":20},$tool}"
    for call in 0 1; do
        grep -q "\"id\":\"call_[0-9a-f]*_0_$call\",\"type\":\"function\",\"function\":{\"name\":\"turn_on_lights\"" body ||
            die "no call $call: $(cat body)"
    done
    body_has '"finish_reason":"tool_calls"'
    ask 200 POST /v1/chat/completions "{$messages,\"stream\":$stream,\"max_tokens\":30,\"logit_bias\":{$goes_on},$tool}"
    body_has '"name":"turn_on_lights","arguments":"{\"room\":\"kitchen\"}"'
    body_has '"finish_reason":"length"'
done

# ---- forms that end with the last token ----

schema='{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}'
for n in 12 15 18; do
    ask 200 POST /v1/chat/completions "{$messages,\"max_tokens\":$n,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"x\",\"schema\":$schema}}}"
    body_has '"finish_reason":"stop"'
done
tool="\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"turn_on_lights\",\"parameters\":{\"type\":\"object\",$properties}}}]"
for n in 15 16 17; do
    ask 200 POST /v1/chat/completions "{$messages,\"max_tokens\":$n,\"tool_choice\":\"required\",$tool}"
    body_has '"finish_reason":"tool_calls"'
done
while IFS='|' read -r grammar type; do # a form that could go on is cut off
    ask 200 POST /completion "{\"prompt\":\"Hi\",\"temperature\":0,\"n_predict\":3,\"grammar\":\"$grammar\"}"
    body_has "\"stop_type\":\"$type\""
done <<'END'
root ::= [a-z]+|limit
root ::= \"a\" \"b\" \"c\"|eos
root ::= \"abc\" \" \"*|eos
root ::= \"abc\" (\" \" \"d\")?|limit
END
stop_server 0
