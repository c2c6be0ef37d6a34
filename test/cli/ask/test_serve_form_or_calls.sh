#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_form_or_calls.sh: a form and functions in one request, on every surface: the form is that of a
# text, so that calls may still come; where a call is required there is no text; one call where one is asked
# for; a receipt that holds both.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
schema='{"type":"object","properties":{"room":{"enum":["kitchen","office"]}},"required":["room"],"additionalProperties":false}'
order='Turn on the kitchen lights' question='What colour is the horse?'

# put TEXT [CHAT RESPONSES MESSAGES GEMINI]: asks every surface with the form and the function, and fields of
# each; the replies are in told.SURFACE. Ollama has no word for whether a call must come.
put() {
    local function="\"name\":\"$name\",\"description\":\"Switches lights.\"" user="[{\"role\":\"user\",\"content\":\"$1\"}]"
    local format="{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"a\",\"schema\":$schema}}"
    rm -f told.*
    ask 200 POST /v1/chat/completions "{\"messages\":$user,\"temperature\":0,\"tools\":[{\"type\":\"function\",\"function\":{$function,\"parameters\":$parameters}}],\"response_format\":$format${2-}}"
    mv body told.chat
    ask 200 POST /v1/responses "{\"input\":$user,\"store\":false,\"temperature\":0,\"tools\":[{\"type\":\"function\",$function,\"parameters\":$parameters,\"strict\":false}],\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"a\",\"schema\":$schema}}${3-}}"
    mv body told.responses
    ask 200 POST /v1/messages "{\"model\":\"x\",\"max_tokens\":500,\"messages\":$user,\"temperature\":0,\"tools\":[{$function,\"input_schema\":$parameters}],\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":$schema}}${4-}}"
    mv body told.messages
    ask 200 POST /v1beta/models/x:generateContent "{\"contents\":[{\"parts\":[{\"text\":\"$1\"}]}],\"generationConfig\":{\"temperature\":0,\"responseMimeType\":\"application/json\",\"responseJsonSchema\":$schema},\"tools\":[{\"functionDeclarations\":[{$function,\"parametersJsonSchema\":$parameters}]}]${5-}}"
    mv body told.gemini
    [ $# -gt 1 ] && return
    ask 200 POST /api/chat "{\"model\":\"$model\",\"stream\":false,\"messages\":$user,\"options\":{\"temperature\":0},\"tools\":[{\"type\":\"function\",\"function\":{$function,\"parameters\":$parameters}}],\"format\":$schema}"
    mv body told.ollama
}
each_has() { # PATTERN: every reply does
    local file
    for file in told.*; do grep -qE -e "$1" $file || die "no '$1' in $file: $(head -c 900 $file)"; done
}
required() { # fields that require a call, of each surface
    put "$1" ',"tool_choice":"required"' ',"tool_choice":"required"' ',"tool_choice":{"type":"any"}' ',"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}'
}

on_each_surface() {
    put "$order" # a call, though a form is there
    each_has "\"name\":\"$name\""
    each_has "$arguments"
    required "$question" # a call, whatever the form says
    each_has "\"name\":\"$name\""
    ! grep -qE '"warnings"|carat-without' told.* reply.head || die "$(cat told.* reply.head)"
}

model=tiny name=turn_on_lights parameters='{"type":"object","properties":{"room":{"type":"string"}},"required":["room"]}'
arguments='"?room\\?": ?\\?"kitchen'
start_server tiny -np 1
on_each_surface
put "$question" # the form, where the model does not call
each_has 'room\\":? ?|room\\" *: *\\"(kitchen|office)\\"'
for file in told.*; do ! grep -q '"tool_calls":\[\|tool_use\|functionCall\|function_call"' $file || die "$file: $(cat $file)"; done
# a form by another server's name, too; two of them are one too many
tool="{\"type\":\"function\",\"function\":{\"name\":\"$name\",\"parameters\":$parameters,\"strict\":true}}"
asked="\"messages\":[{\"role\":\"user\",\"content\":\"$question\"}],\"temperature\":0,\"tools\":[$tool]"
ask 200 POST /v1/chat/completions "{$asked,\"guided_choice\":[\"The horse is red.\",\"The horse is white.\"]}"
[ "$(told)" = 'The horse is white.' ] || die "guided_choice: $(cat body)"
ask 400 POST /v1/chat/completions "{$asked,\"guided_choice\":[\"red\"],\"response_format\":{\"type\":\"json_object\"}}"
body_has 'this answer has a form already'
# what a declaration has must be enforced then
ask 400 POST /v1/chat/completions "{\"messages\":[{\"role\":\"user\",\"content\":\"$question\"}],\"guided_choice\":[\"red\"],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":\"^(?=x)y\"}}}}}]}"
body_has '"param":"tools[0].function.parameters.properties.a.pattern"'
stop_server 0

model=tiny4 name=set_lights parameters='{"type":"object","properties":{"on":{"type":"boolean"},"room":{"type":"string"}},"required":["on","room"],"additionalProperties":false}'
arguments='on\\?": ?true, ?\\?"room\\?": ?\\?"kitchen'
start_server "$CARAT_SOURCE/test/fixtures/tiny4" -np 1
on_each_surface
asked="\"messages\":[{\"role\":\"user\",\"content\":\"$order\"}],\"temperature\":0,\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"$name\",\"parameters\":$parameters}}]"
ask 200 POST /v1/chat/completions "{$asked,\"guided_regex\":\"yes|no\",\"receipt\":true,\"parallel_tool_calls\":false,\"reasoning_effort\":\"high\"}"
body_has '"finish_reason":"tool_calls"'
grep -o '"reasoning_content":"I can call' body >/dev/null || die "no thought before: $(cat body)"
body_has '"receipt":{'
stop_server 0
