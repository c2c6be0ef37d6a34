#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_receipt.sh: receipts of answers of `carat serve`, on every surface, whole and streamed: carat
# replay confirms each, but not an altered one, and one is byte for byte that of carat run.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
chat=/v1/chat/completions
messages='"messages":[{"role":"user","content":"Turn on the kitchen lights"}]'
ollama='"model":"tiny",'$messages
schema='{"type":"object","properties":{"room":{"enum":["kitchen","office"]}},"required":["room"],"additionalProperties":false}'
tr -d '\n' <"$tiny/tools.json" >tools.json # the form is what was sent, byte for byte
tools="\"tools\":$(cat tools.json)"

# receipts N: those of the body, one a line, in the file receipts; each is a whole object.
receipts() {
    grep -oE '"receipt":\{"_type":.*' body | sed 's/"receipt":{"_type"/\n&/g' | grep '^"receipt"' |
        sed -E 's/^"receipt":(.*"name":"answer\.txt"\}\]\}).*/\1/' >receipts
    [ "$(wc -l <receipts)" = "$1" ] || die "$(wc -l <receipts) receipts, expected $1: $(cat body)"
}
# confirmed N OPTIONS...: the receipts of the body, N of them.
confirmed() {
    local n=$1
    shift
    receipts "$n"
    expect 0 replay receipts tiny "$@"
    [ "$(grep -c 'confirmed: ' out)" = "$n" ] || die "$(cat out)"
}

start_server tiny -np 3
ask 200 POST $chat "{$messages,\"receipt\":true,\"seed\":3,\"temperature\":2,\"max_tokens\":30}"
confirmed 1
expect 0 run tiny 'Turn on the kitchen lights' --receipt run.json --seed 3 --temp 2 -n 30 --loop-guard off
cmp receipts run.json || die "another receipt than that of carat run: $(cat receipts run.json)"
sed 's/"seed":"3"/"seed":"4"/' receipts >bad.json
expect 7 replay bad.json tiny

while IFS='|' read -r path n fields; do
    for stream in false true; do
        ask 200 POST "$path" "{$fields,\"receipt\":true,\"stream\":$stream}"
        confirmed "$n"
    done
done <<END
$chat|3|$messages,"n":3,"temperature":1.5
$chat|2|$messages,"n":2,"temperature":0,"frequency_penalty":0.5,"logit_bias":{"5":1},"stop":"now","logprobs":true
$chat|1|$messages,"temperature":0,$tools
/v1/completions|4|"prompt":["The kitchen","The lights"],"n":2,"temperature":1.5,"max_tokens":9
/v1/completions|1|"prompt":"The kitchen","echo":true,"logprobs":1,"max_tokens":9
/v1/completions|4|"prompt":["Turn on","The"],"n":2,"temperature":1,"max_tokens":9
/v1/messages|1|$messages,"max_tokens":20,"temperature":1,"top_k":20
/v1/messages|1|$messages,"max_tokens":2
$chat|1|$messages,"temperature":0,"stop_token_ids":[605],"bad_words":["now"],"repetition_penalty":1.5
/v1/completions|1|"prompt":"The kitchen","temperature":0,"seed":2,"samplers":["dry","top_k"],"max_tokens":12
/v1/completions|1|"prompt":"The kitchen","temperature":0,"ignore_eos":true,"dry_multiplier":2,"samplers":["dry","top_k","temperature"],"n_predict":9
/api/chat|1|$ollama,"options":{"temperature":1.5,"seed":8,"num_predict":20}
/api/generate|1|"model":"tiny","prompt":"Turn on","options":{"top_p":0.5,"temperature":1}
/api/generate|1|"model":"tiny","prompt":"Turn on","raw":true,"options":{"num_predict":9}
END
# where it stands: in the last event of a stream
ask 200 POST /v1/messages "{$messages,\"max_tokens\":20,\"receipt\":true,\"stream\":true}"
grep -q '^data: {"type":"message_stop","receipt":{"_type"' body || die "Anthropic's stream: $(cat body)"
ask 200 POST /api/chat "{$ollama,\"receipt\":true}"
tail -n 1 body | grep -q '"done":true.*"receipt":{"_type"' || die "Ollama's stream: $(cat body)"
ask 200 POST $chat "{$messages,\"receipt\":true,\"stream\":true}"
grep -q '"delta":{},"logprobs":null,"finish_reason":"stop","receipt":{"_type"' body || die "OpenAI's stream: $(cat body)"

# ---- forms: whoever checks brings the form ----

ask 200 POST $chat "{$messages,\"receipt\":true,\"n\":2,\"max_tokens\":40,\"temperature\":1,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"x\",\"schema\":$schema}}}"
confirmed 2 --json-schema "$schema"
expect 4 replay receipts tiny
err_has "the answer has a form, and none is given"
ask 200 POST /api/chat "{$ollama,\"receipt\":true,\"stream\":false,\"format\":$schema,\"options\":{\"num_predict\":40}}"
confirmed 1 --json-schema "$schema"
ask 200 POST $chat "{$messages,\"receipt\":true,$tools,\"tool_choice\":\"required\",\"temperature\":0}"
confirmed 1 --tools tools.json --tool-choice required

# ---- nobody wants one ----

for fields in '' ',"receipt":false' ',"receipt":null'; do
    ask 200 POST $chat "{$messages$fields}"
    grep -q receipt body && die "a receipt that nobody wants: $(cat body)"
done
ask 400 POST $chat "{$messages,\"receipt\":\"yes\"}"
body_has '"param":"receipt"'
stop_server 0
