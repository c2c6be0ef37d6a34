#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_spellings.sh: names that llama.cpp, vLLM, SGLang and routers have for what a request may ask, on
# every surface of `carat serve`: what is obeyed gives the answer of /completion with the same ids; what
# changes nothing is silent, or named in the reply's warnings; what would change the answer and cannot is
# refused.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
words='Turn on the kitchen lights'
messages="\"messages\":[{\"role\":\"user\",\"content\":\"$words\"}]"

start_server tiny -np 3
ask 200 POST /v1/explain "{$messages}"
ids=$(grep -o '"ids":\[[0-9,]*\]' body | head -n 1 | sed 's/"ids"://')
ask 200 POST /v1/explain '{"prompt":"The kitchen"}'
text_ids=$(grep -o '"ids":\[[0-9,]*\]' body | head -n 1 | sed 's/"ids"://')

# same SAMPLING SPELLED: the answer of /completion with these fields, and that of all others with those.
same() {
    local wanted path body
    ask 200 POST /completion "{\"prompt\":$ids,\"repeat_last_n\":64,$1}"
    wanted=$(text_of_reply)
    while IFS='|' read -r path body; do
        ask 200 POST "$path" "{$body}"
        [ "$(text_of_reply)" = "$wanted" ] || die "$path: $2: '$(text_of_reply)', expected '$wanted'"
        quiet "$path $2"
    done <<END
/completion|"prompt":$ids,"n_predict":12,"repeat_last_n":64,$2
/v1/chat/completions|$messages,"max_tokens":12,"repeat_last_n":64,$2
/v1/messages|$messages,"max_tokens":12,"repeat_last_n":64,$2
/v1/responses|"input":"$words","max_output_tokens":12,"repeat_last_n":64,$2
/api/chat|"model":"tiny","stream":false,$messages,"options":{"num_predict":12,"repeat_last_n":64,$2}
/v1beta/models/tiny:generateContent|"contents":[{"parts":[{"text":"$words"}]}],"generationConfig":{"maxOutputTokens":12,"repeat_last_n":64,$2}
END
    ask 200 POST /completion "{\"prompt\":$text_ids,\"repeat_last_n\":64,$1}"
    wanted=$(text_of_reply)
    ask 200 POST /v1/completions "{\"prompt\":\"The kitchen\",\"max_tokens\":12,\"repeat_last_n\":64,$2}"
    [ "$(text_of_reply)" = "$wanted" ] || die "/v1/completions: $2: '$(text_of_reply)', expected '$wanted'"
    quiet "/v1/completions $2"
}

# ---- how ids are drawn ----

ask 200 POST /completion "{\"prompt\":$ids,\"temperature\":0,\"n_predict\":12}"
plain=$(text_of_reply)
while IFS='|' read -r changes fields; do
    same "\"n_predict\":12,$fields" "$fields"
    ask 200 POST /completion "{\"prompt\":$ids,\"n_predict\":12,$fields}"
    [ "$changes" = 0 ] || [ "$(text_of_reply)" != "$plain" ] || die "$fields changes nothing"
done <<'END'
1|"temperature":0,"repeat_penalty":1.9,"ignore_eos":true
1|"temperature":0,"dry_multiplier":5,"dry_base":3,"dry_allowed_length":1,"ignore_eos":true
1|"seed":3,"temperature":1,"top_p":1,"xtc_probability":1,"xtc_threshold":1e-7
1|"seed":3,"temperature":1,"top_k":2,"xtc_probability":1,"xtc_threshold":1e-7,"samplers":["top_k","xtc","temperature"]
0|"seed":3,"temperature":1,"min_p":0.2,"typical_p":0.5
0|"seed":3,"temperature":1,"samplers":"edkypmxt","top_n_sigma":-1,"mirostat":0
END
same '"temperature":0,"n_predict":12,"repeat_penalty":1.9,"ignore_eos":true' '"temperature":0,"repetition_penalty":1.9,"ignore_eos":true'
same '"temperature":0,"n_predict":12,"logit_bias":[["lights",false],[" lights",false]]' '"temperature":0,"bad_words":["lights"]'
same '"temperature":0,"n_predict":12,"dry_multiplier":5,"dry_penalty_last_n":7,"dry_sequence_breakers":[],"ignore_eos":true' '"temperature":0,"dry_multiplier":5.0,"dry_penalty_last_n":7.0,"dry_sequence_breakers":[],"ignore_eos":true'

odd='"seed":3,"temperature":1,"top_k":2,"xtc_probability":1,"xtc_threshold":1e-7'
same "$odd,\"n_predict\":12,\"samplers\":[\"top_k\",\"xtc\",\"temperature\"]" "$odd,\"samplers\":\"kxt\""

# ---- where an answer ends ----

# ids that end it do not come before so many, on any surface; what is longer anyhow stays as it is
ask 200 POST /v1/chat/completions "{$messages,\"temperature\":0}"
free=$(grep -o '"completion_tokens":[0-9]*' body | tr -dc 0-9)
whole=$(told)
for name in min_tokens min_new_tokens; do
    for least in 1 $free $((free + 1)) 30; do
        ask 200 POST /v1/chat/completions "{$messages,\"temperature\":0,\"max_tokens\":40,\"$name\":$least}"
        given=$(grep -o '"completion_tokens":[0-9]*' body | tr -dc 0-9)
        [ "$given" -ge $least ] || die "$name $least: $given ids"
        [[ $(told) == "$whole"* ]] || die "$name $least: $(told), expected $whole first"
        [ $least -gt "$free" ] || [ "$(told)" = "$whole" ] || die "$name $least: $(told)"
        quiet "$name $least"
    done
done
while IFS='|' read -r path count fields; do
    ask 200 POST $path "{$fields,\"min_tokens\":30}"
    [ "$(grep -o "\"$count\":[0-9]*" body | tr -dc 0-9)" -ge 30 ] || die "$path: $(cat body)"
done <<'END'
/completion|tokens_predicted|"prompt":"The kitchen","temperature":0,"n_predict":40
/v1/completions|completion_tokens|"prompt":"The kitchen","temperature":0,"max_tokens":40
/v1/responses|output_tokens|"input":"Hello","temperature":0,"max_output_tokens":40
/v1/messages|output_tokens|"model":"x","messages":[{"role":"user","content":"Hello"}],"temperature":0,"max_tokens":40
/v1beta/models/x:generateContent|candidatesTokenCount|"contents":[{"parts":[{"text":"Hello"}]}],"generationConfig":{"temperature":0,"maxOutputTokens":40}
/api/chat|eval_count|"model":"tiny","stream":false,"messages":[{"role":"user","content":"Hello"}],"options":{"temperature":0,"num_predict":40}
/api/chat|eval_count|"model":"tiny","stream":false,"messages":[{"role":"user","content":"Hello"}],"options":{"temperature":0,"num_predict":-1,"seed":1}
END
ask 400 POST /v1/chat/completions "{$messages,\"min_tokens\":3,\"receipt\":true}"
body_has 'min_tokens is 3, and a receipt has no place'

ask 200 POST /v1/chat/completions "{$messages,\"temperature\":0,\"max_tokens\":12,\"return_token_ids\":true}"
body_has "\"prompt_token_ids\":$ids"
given=$(grep -o '"token_ids":\[[0-9,]*\]' body | sed 's/.*\[//; s/\]//')
third=$(cut -d, -f3 <<<"$given")
for path in '/v1/chat/completions' '/v1/completions'; do
    [ $path = /v1/completions ] && what="\"prompt\":$ids" || what=$messages
    for name in return_tokens return_token_ids; do
        ask 200 POST $path "{$what,\"temperature\":0,\"max_tokens\":12,\"$name\":true}"
        body_has "\"token_ids\":[$given]"
        ask 200 POST $path "{$what,\"temperature\":0,\"max_tokens\":12,\"$name\":true,\"stream\":true}"
        [ "$(grep -o '"token_ids":\[[0-9,]*\]' body | sed 's/.*\[//; s/\]//' | grep . | paste -sd,)" = "$given" ] || die "$path, $name, streamed: $(cat body)"
        [ "$(grep -cF "\"prompt_token_ids\":$ids" body)" = 1 ] || die "$path, ids of the prompt, streamed: $(cat body)"
    done
    ask 200 POST $path "{$what,\"temperature\":0,\"max_tokens\":12,\"stop_token_ids\":[$third],\"return_token_ids\":true,\"receipt\":true}"
    body_has "\"token_ids\":[$(cut -d, -f1,2 <<<"$given")]"
    body_has '"finish_reason":"stop"'
    ask 200 POST $path "{$what,\"temperature\":0,\"n_predict\":2,\"return_token_ids\":true}"
    body_has "\"token_ids\":[$(cut -d, -f1,2 <<<"$given")]"
    body_has '"finish_reason":"length"'
    ask 200 POST $path "{$what,\"temperature\":0,\"n_predict\":-1}"
    body_has '"finish_reason":"stop"'
    ask 200 POST $path "{$what,\"temperature\":0,\"n_predict\":1,\"n_probs\":2}"
    body_has '"top_logprobs":['
done
same "\"temperature\":0,\"n_predict\":12,\"stop_token_ids\":[$third]" "\"temperature\":0,\"stop_token_ids\":[$third.0]"
ask 200 POST /v1/chat/completions "{\"messages\":[{\"role\":\"user\",\"content\":\"$words\"},{\"role\":\"assistant\",\"content\":\"The\"}],\"temperature\":0,\"continue_final_message\":true,\"add_generation_prompt\":false}"
[ "The$(text_of_reply)" = "$plain" ] || die "an answer that goes on: '$(text_of_reply)', of '$plain'"

# ---- what changes nothing is silent ----

neutral='"skip_special_tokens":true,"spaces_between_special_tokens":true,"no_stop_trim":false,"ignore_eos":false,"continue_final_message":false,"return_hidden_states":false,"separate_reasoning":true,"stream_reasoning":true,"include_reasoning":true,"min_tokens":0,"priority":0,"bad_words":[],"stop_token_ids":[],"allowed_token_ids":[],"logit_bias":null,"guided_json":null,"include_stop_str_in_output":false,"return_token_ids":false,"return_tokens_as_token_ids":false,"use_beam_search":false,"length_penalty":1.0,"repetition_penalty":1.0,"min_p":0,"top_n_sigma":-1,"n_probs":0,"timings_per_token":false,"post_sampling_probs":false,"reasoning_format":"auto","parse_tool_calls":true,"lora":[],"documents":[],"vllm_xargs":{},"logits_processors":[],"enable_thinking":false,"chat_template_kwargs":{"enable_thinking":false},"best_of":1,"mirostat":0,"dynatemp_range":0.0,"xtc_probability":0,"dry_multiplier":0,"truncate_prompt_tokens":null,"prompt_logprobs":null,"detokenize":true,"stream_interval":1'
for path in /v1/chat/completions /v1/messages; do
    ask 200 POST $path "{$messages,\"temperature\":0,\"max_tokens\":12,$neutral}"
    quiet $path
    [ "$(text_of_reply)" = "$plain" ] || die "$path: '$(text_of_reply)', expected '$plain'"
done
ask 200 POST /v1/completions '{"prompt":"x","max_tokens":1,"enable_thinking":false,"think":false,"thinking":false}'
quiet 'no thoughts of a completion'
no_thoughts=${neutral/\"enable_thinking\":false,\"chat_template_kwargs\":\{\"enable_thinking\":false\},/}
for path in /v1/completions /completion; do
    ask 200 POST $path "{\"prompt\":$ids,\"temperature\":0,\"max_tokens\":12,$no_thoughts}"
    quiet $path
    [ "$(text_of_reply)" = "$plain" ] || die "$path: '$(text_of_reply)', expected '$plain'"
done
ask 200 POST /v1/responses "{\"input\":\"$words\",\"temperature\":0,$neutral}"
quiet /v1/responses
ask 200 POST /api/chat "{\"model\":\"tiny\",$messages,\"stream\":false,$neutral}"
quiet /api/chat
ask 200 POST /v1beta/models/tiny:generateContent "{\"contents\":[{\"parts\":[{\"text\":\"$words\"}]}],\"generationConfig\":{$neutral}}"
quiet gemini

# ---- what changes nothing here, but might elsewhere, is named ----

while IFS='|' read -r name fields; do
    for path in /v1/chat/completions /v1/completions; do
        ask 200 POST $path "{$([ $path = /v1/completions ] && echo "\"prompt\":\"x\"" || echo "$messages"),\"max_tokens\":1,$fields}"
        body_has "\"warnings\":[\"$name: "
        head_has "^carat-without-effect: $name"
    done
done <<'END'
skip_special_tokens|"skip_special_tokens":false
return_hidden_states|"return_hidden_states":true
separate_reasoning|"separate_reasoning":false
prompt_logprobs|"prompt_logprobs":2
priority|"priority":3
timings_per_token|"timings_per_token":true
reasoning_format|"reasoning_format":"none"
END
ask 200 POST /v1/chat/completions "{$messages,\"max_tokens\":1,\"chat_template_kwargs\":{\"date\":\"x\"}}"
body_has '"warnings":["chat_template_kwargs.date: the template has no such variable"]'
ask 200 POST /v1/messages "{$messages,\"max_tokens\":1,\"n_probs\":2,\"return_token_ids\":true}"
body_has '"warnings":["n_probs: no probabilities are told here","return_token_ids: no ids are told here"]'
ask 200 POST /v1/completions '{"prompt":"x","max_tokens":1,"enable_thinking":true}'
body_has '"warnings":["enable_thinking: the prompt says here whether the model thinks"]'

# ---- what would change the answer, and cannot ----

while IFS='|' read -r param says fields; do
    for path in /v1/chat/completions /completion; do
        ask 400 POST $path "{$([ $path = /v1/chat/completions ] && echo "$messages" || echo "\"prompt\":\"x\""),$fields}"
        body_has "\"param\":\"$param\""
        body_has "$says"
    done
done <<'END'
min_tokens|expected a whole number|"min_tokens":-1
min_tokens|min_tokens is 5, and at most 4 tokens may come|"min_tokens":5,"n_predict":4
min_new_tokens|say different things|"min_tokens":5,"min_new_tokens":6
min_tokens|beside a form|"min_tokens":5,"guided_regex":"a+"
allowed_token_ids|which is not supported|"allowed_token_ids":[1,2]
bad_words|it is several tokens|"bad_words":["no","such words"]
bad_words|expected words|"bad_words":[5]
stop_token_ids|expected ids from 0 to|"stop_token_ids":[1024]
stop_token_ids|expected ids from 0 to|"stop_token_ids":["1"]
use_beam_search|there are no beams|"use_beam_search":true
mirostat|there is no such way|"mirostat":2
truncate_prompt_tokens|as it is sent|"truncate_prompt_tokens":5
structured_outputs.structural_tag|there is no such form|"structured_outputs":{"structural_tag":"x"}
structured_outputs.choice|expected texts|"structured_outputs":{"choice":[]}
guided_choice|expected a string|"guided_choice":["a",1]
guided_json|hiccup|"guided_json":{"type":"hiccup"}
grammar|are both there|"grammar":"root ::= \"a\"","guided_regex":"a"
guided_grammar|say different things|"grammar":"root ::= \"a\"","guided_grammar":"root ::= \"b\""
repetition_penalty|say different things|"repeat_penalty":1.1,"repetition_penalty":1.2
n_predict|say different things|"max_tokens":5,"n_predict":6
dry_base|from 1 to 1000|"dry_base":0.5
samplers[0]|expected penalties|"samplers":["greedy"]
END
ask 400 POST /v1/chat/completions "{$messages,\"chat_template_kwargs\":{\"enable_thinking\":\"yes\"}}"
body_has '"param":"chat_template_kwargs.enable_thinking"'
ask 400 POST /v1/chat/completions "{$messages,\"continue_final_message\":true,\"add_generation_prompt\":true}"
body_has 'say different things'
stop_server 0

echo 'every name means the same on every surface'
