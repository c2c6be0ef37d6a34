#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_llama.sh: llama.cpp's completions of `carat serve`: texts, ids and both mixed, one and several,
# whole and as events; the whole chain, biases, forms, probabilities; how far a prompt is; prompts that are
# evaluated before they are answered; and errors in their shape. The texts are those of carat run --raw.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
at=/completion

start_server tiny -np 3

# ---- the text is that of carat run ----

while IFS='|' read -r options fields; do
    # shellcheck disable=SC2086 # several options
    "$CARAT" run tiny --raw $options --json "The kitchen" </dev/null >run.json 2>err
    wanted=$(grep -o '"text": *"[^"]*"' run.json | sed 's/^"text": *"//; s/"$//')
    for prompt in '"The kitchen"' '[2,528,817]' '["The",817]' '[2,"The",817]' '{"prompt_string":"The kitchen","multimodal_data":[]}'; do
        ask 200 POST $at "{\"prompt\":$prompt,$fields}"
        [ "$(told)" = "$wanted" ] || die "$options, $prompt: '$(told)', expected '$wanted'"
        body_has '"prompt":"The kitchen"'
    done
    ask 200 POST /completions "{\"prompt\":\"The kitchen\",$fields,\"stream\":true}"
    [ "$(told)" = "$wanted" ] || die "$options, streamed: '$(told)', expected '$wanted'"
    head_has '^Content-Type: text/event-stream'
    head_has '^carat-seed: [0-9]'
    [ "$(grep -c '"stop":true,"model":"tiny",' body)" = 1 ] || die "the last event: $(tail -n 2 body)"
    ! grep -qvE '^(data: \{"index":0,"content":.*\}|)$' body || die "an event: $(cat body)"
done <<'END'
--temp 0 -n 200|"temperature":0
--temp 0 -n 4|"temperature":0,"n_predict":4
--seed 7 -n 60 --temp 2 --top-k 40|"seed":7,"n_predict":60,"temperature":2,"top_k":40
--seed 7 -n 60 --temp 2 --min-p 0.05 --typical-p 0.9|"seed":7,"n_predict":60,"temperature":2,"min_p":0.05,"typical_p":0.9
--temp 0 -n 30 --stop degrees|"temperature":0,"n_predict":30,"stop":["degrees"]
--temp 0 -n 30 --repeat-penalty 1.5|"temperature":0,"max_tokens":30,"repeat_penalty":1.5
--temp 0 -n 30 --repeat-penalty 1.5 --repeat-last-n 3|"temperature":0,"n_predict":30,"repeat_penalty":1.5,"repeat_last_n":3
--temp 0 -n 30 --presence-penalty 1.5 --frequency-penalty 0.5|"temperature":0,"n_predict":30,"presence_penalty":1.5,"frequency_penalty":0.5
--temp 0 -n 40 --dry-multiplier 5 --dry-base 3 --dry-allowed-length 1|"temperature":0,"n_predict":40,"dry_multiplier":5,"dry_base":3,"dry_allowed_length":1
--temp 0 -n 40 --dry-multiplier 5 --dry-penalty-last-n 7 --dry-sequence-breaker none|"temperature":0,"n_predict":40,"dry_multiplier":5,"dry_penalty_last_n":7,"dry_sequence_breakers":[]
--seed 3 -n 40 --temp 2 --xtc-probability 0.9 --xtc-threshold 0.05|"seed":3,"n_predict":40,"temperature":2,"xtc_probability":0.9,"xtc_threshold":0.05
--seed 3 -n 40 --temp 3 --top-k 5 --samplers temperature;top_k|"seed":3,"n_predict":40,"temperature":3,"top_k":5,"samplers":["temperature","top_k"]
--temp 0 -n 9 --logit-bias 50-100|"temperature":0,"n_predict":9,"logit_bias":[[50,-60],[50,-40]]
--temp 0 -n 9 --logit-bias 50-100|"temperature":0,"n_predict":9,"logit_bias":{"50":-100}
END
ask 200 POST $at '{"prompt":"The kitchen","temperature":0,"seed":-1}'
text=$(told)
body_has "{\"index\":0,\"content\":\"$text\","'"tokens":[],"stop":true,"model":"tiny","tokens_predicted":9,"tokens_evaluated":3,"tokens_cached":2,"generation_settings":{"n_predict":2046,"n_ctx":2048,"seed":'
body_has '"temperature":0,"top_k":64,"top_p":0.95,"min_p":0,"typical_p":1,"repeat_penalty":1,"repeat_last_n":64,'
body_has '"samplers":["penalties","dry","top_k","temperature","typ_p","top_p","min_p","xtc"]},"prompt":"The kitchen","has_new_line":false,"truncated":false,"stop_type":"eos","stopping_word":"","timings":{"cache_n":2,"prompt_n":1,'
# what must not come, by ids and by its text
for bias in '[["now",false],[" now",false]]' '{" now":false}'; do
    ask 200 POST $at "{\"prompt\":\"The kitchen\",\"temperature\":0,\"logit_bias\":$bias}"
    [ "$(told)" != "$text" ] && [[ $(told) != *now* ]] || die "$bias: $(told)"
done
ask 200 POST $at '{"prompt":"The kitchen","temperature":0,"n_predict":30,"ignore_eos":true}'
[[ $(told) == "$text"?* ]] || die "beyond its end: $(told)"
body_has '"stop_type":"limit"'
ask 200 POST $at '{"prompt":"The kitchen","temperature":0,"n_predict":30,"stop":["no such","set"],"stream":true}'
body_has '"stop_type":"word","stopping_word":"set"'
ask 200 POST $at '{"prompt":"The kitchen","temperature":0,"return_tokens":true,"n_predict":4}'
ids=$(grep -o '"tokens":\[[0-9,]*\]' body | tr -dc '0-9,')
[ "$(tr ',' '\n' <<<"$ids" | wc -l)" = 4 ] || die "the ids of an answer: $(cat body)"
ask 200 POST $at '{"prompt":"The kitchen","temperature":0,"n_predict":4,"stream":true}'
[ "$(grep -o '"tokens":\[[0-9,]*\]' body | sed 's/"tokens":\[//; s/\]//' | grep . | paste -sd,)" = "$ids" ] || die "the ids of a stream: $(cat body), expected $ids"

ask 200 POST $at "{\"prompt\":\"The kitchen\",\"temperature\":0,\"logit_bias\":[[${ids%%,*},100],[${ids%%,*},-100]]}"
[ "$(told)" = "$text" ] || die "a bias and its opposite: $(told)"
ask 200 POST $at '{"prompt":"The kitchen","n_predict":1,"seed":-1}' # any
! grep -q '^carat-seed: 18446744073709551615' reply.head || die "$(cat reply.head)"

# ---- several prompts, several answers ----

seeded='"seed":3,"temperature":3,"n_predict":9'
contents() { grep -o '"content":"[^"]*"' body; }
for prompt in '"The kitchen"' '"The lights"' '"x"'; do
    ask 200 POST $at "{\"prompt\":$prompt,\"n_cmpl\":2,$seeded}"
    contents
done >alone
for prompt in '["The kitchen","The lights","x"]' '[[2,528,817],{"prompt_string":"The lights"},"x"]'; do
    ask 200 POST $at "{\"prompt\":$prompt,\"n_cmpl\":2,$seeded}"
    cmp <(contents) alone || die "$prompt: $(cat body)"
    [[ $(cat body) == '[{"index":0,'*',{"index":5,'*'}]' ]] || die "six answers: $(cat body)"
    ask 200 POST $at "{\"prompt\":$prompt,\"n_cmpl\":2,$seeded,\"stream\":true}"
    for i in 0 1 2 3 4 5; do
        [ "$(grep -F "{\"index\":$i," body | grep -o '"content":"[^"]*"' | sed 's/^"content":"//; s/"$//' | tr -d '\n')" = "$(sed -n $((i + 1))p alone | sed 's/^"content":"//; s/"$//')" ] || die "answer $i of a stream: $(cat body)"
    done
done

# ---- probabilities: what OpenAI's clients are told ----

ask 200 POST /v1/completions '{"prompt":"The kitchen","temperature":0,"max_tokens":4,"logprobs":2}'
grep -o '"token_logprobs":\[[^]]*\]' body | sed 's/.*\[//; s/\]//' | tr ',' '\n' >wanted
for stream in false true; do
    ask 200 POST $at "{\"prompt\":\"The kitchen\",\"temperature\":0,\"n_predict\":4,\"n_probs\":2,\"stream\":$stream}"
    grep -oE '\{"id":[0-9]+,"token":"[^"]*","logprob":[-0-9.e]+,"bytes":\[[0-9,]+\],"top_logprobs":\[\{"id":' body | sed 's/.*"logprob"://; s/,.*//' | cmp - wanted || die "stream $stream: $(cat body)"
done

# ---- forms ----

schema='{"type":"object","properties":{"room":{"enum":["kitchen","office"]}},"required":["room"],"additionalProperties":false}'
ask 200 POST $at "{\"prompt\":\"The kitchen\",\"temperature\":0,\"n_predict\":40,\"json_schema\":$schema,\"grammar\":\"\"}"
grep -qE '"content":"[^{]*\{ *\\"room\\": *\\"(kitchen|office)\\" *\}' body || die "a schema: $(cat body)"
ask 200 POST $at '{"prompt":"The kitchen","temperature":0,"n_predict":40,"grammar":"root ::= \" yes\" | \" no\""}'
grep -qE '"content":" (yes|no)"' body || die "a grammar: $(cat body)"

# ---- how far the prompt is ----

ids_of() { for ((i = 1; i <= $1; i++)); do printf ',%d' $((i * i % 250 + 260)); done; }
long="[2$(ids_of 1900)]"
ask 200 POST $at "{\"prompt\":$long,\"n_predict\":1,\"temperature\":0,\"stream\":true,\"return_progress\":true}"
grep -o '"prompt_progress":{[^}]*}' body | sed 's/"time_ms":[0-9]*/"time_ms":0/' >progress
[ "$(tail -n 1 progress)" = '"prompt_progress":{"total":1901,"cache":1,"processed":1901,"time_ms":0}' ] || die "progress: $(cat progress)"
steps=$(grep -o '"processed":[0-9]*' progress | sed 's/.*://')
[ "$(wc -l <<<"$steps")" -ge 2 ] && [ "$(sort -n -u <<<"$steps")" = "$steps" ] || die "progress: $(cat progress)"
[ "$(grep -n prompt_progress body | tail -n 1 | cut -d: -f1)" -lt "$(grep -n '"stop":true' body | cut -d: -f1)" ] || die "progress behind the answer: $(cat body)"
words=$(printf 'word %.0s' {1..300})
ask 200 POST /v1/chat/completions "{\"messages\":[{\"role\":\"user\",\"content\":\"$words\"}],\"max_tokens\":1,\"stream\":true,\"return_progress\":true}"
body_has '"delta":{},"logprobs":null,"finish_reason":null}],"prompt_progress":{"total":'
total=$(grep -o '"total":[0-9]*' body | head -n 1)
body_has "$total,\"cache\":1,\"processed\":${total#*:},"
ask 200 POST /v1/chat/completions "{\"messages\":[{\"role\":\"user\",\"content\":\"$words\"}],\"max_tokens\":1,\"return_progress\":true}"
head_has '^carat-without-effect: return_progress'

# ---- evaluated now, answered later ----

ask 200 POST $at '{"prompt":"The bedroom lights are","n_predict":0}'
body_has '"content":"","tokens":[],"stop":true,"model":"tiny","tokens_predicted":0,'
body_has '"tokens_cached":2,"generation_settings":{"n_predict":0,'
body_has '"stop_type":"limit"'
ask 200 POST $at '{"prompt":"The bedroom lights are","n_predict":3,"temperature":0}'
evaluated=$(grep -o '"tokens_evaluated":[0-9]*' body | tr -dc 0-9)
body_has "\"tokens_cached\":$((evaluated - 1)),"
ask 200 POST $at "{\"prompt\":\"The kitchen$text\",\"n_predict\":0}" # which would end at once
body_has '"stop_type":"limit"'

# ---- what is wrong ----

while IFS='|' read -r param says fields; do
    ask 400 POST $at "{$fields}"
    body_has '{"error":{"code":400,"message":"'
    body_has '"type":"invalid_request_error","param":"'"$param"'"}}'
    body_has "$says"
done <<'END'
prompt|prompt is missing|"n_predict":1
prompt|expected 1 to 128|"prompt":[]
prompt|a string, a list or an object|"prompt":1
prompt|expected ids from 0|"prompt":[2,1024]
prompt|expected ids from 0|"prompt":[2,["x"]]
prompt[1]|has no ids|"prompt":["x",[]]
prompt[1]|expected a string or a list of ids|"prompt":["x",true]
prompt|expected a prompt_string|"prompt":{}
prompt.multimodal_data|the model reads text alone|"prompt":{"prompt_string":"x","multimodal_data":["YQ=="]}
n_cmpl|expected a whole number|"prompt":"x","n_cmpl":0
n_predict|expected a whole number|"prompt":"x","n_predict":-3
n_predictt|did you mean n_predict?|"prompt":"x","n_predictt":3
samplers[1]|expected penalties|"prompt":"x","samplers":["top_k","mirostat"]
samplers[1]|expected each of them once|"prompt":"x","samplers":["top_k","top_k"]
dry_sequence_breakers|strings of one token|"prompt":"x","dry_sequence_breakers":["The kitchen lights"]
dry_base|expected a number|"prompt":"x","dry_base":0.5
logit_bias|expected pairs|"prompt":"x","logit_bias":[[5]]
logit_bias|expected an id, or a text|"prompt":"x","logit_bias":[[5.5,1]]
logit_bias|expected ids from 0|"prompt":"x","logit_bias":[[1024,1]]
logit_bias|expected ids from 0|"prompt":"x","logit_bias":{"-1":1}
logit_bias|or false for what must not come|"prompt":"x","logit_bias":[[5,true]]
logit_bias|or false for what must not come|"prompt":"x","logit_bias":[[5,1e31]]
grammar|expected one|"prompt":"x","grammar":"root ::= \"a\"","json_schema":{}
grammar|grammar: |"prompt":"x","grammar":"root"
json_schema|json_schema: |"prompt":"x","json_schema":{"type":"hiccup"}
n_probs|expected a whole number|"prompt":"x","n_probs":21
mirostat|no such way to draw|"prompt":"x","mirostat":2
lora|there are no adapters|"prompt":"x","lora":[{"id":0}]
post_sampling_probs|before any setting|"prompt":"x","n_probs":1,"post_sampling_probs":true
END
ask 400 POST $at "{\"prompt\":\"x\",\"logit_bias\":[$(printf '[5,1],%.0s' {1..1024})[5,1]]}"
body_has 'logit_bias has 1025 elements, expected at most 1024'
ask 400 POST $at "{\"prompt\":\"x\",\"logit_bias\":{\"$(printf 'a%.0s' {1..1025})\":1}}"
body_has 'a text of up to 1024 bytes'
ask 200 POST $at '{"prompt":"x","n_predict":1,"mirostat":0,"cache_prompt":true,"id_slot":-1,"n_keep":0,"samplers":null,"odd":1}'
head_has '^carat-without-effect: cache_prompt, id_slot, n_keep'
head_has '^carat-ignored: odd'
ask 400 POST $at "{\"prompt\":[2$(ids_of 2100)]}"
body_has '"type":"exceed_context_size_error","param":"prompt","n_prompt_tokens":2101,"n_ctx":2048}}'
ask 405 GET $at
body_has '{"error":{"code":405,'
stop_server 0
[ ! -s serve.err ] || die "the server says $(cat serve.err)"
