#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_text.sh: /v1/completions of `carat serve`: the text of carat run --raw behind texts and ids, one
# and several, whole and streamed; how likely prompts are, in pieces of any length; what is refused.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
text=/v1/completions
# Of all answers of a reply, one a line, as JSON spells them.
texts() { grep -o '"text":"[^"]*"' body | sed 's/^"text":"//; s/"$//'; }
joined() { texts | tr -d '\n'; }
# list NAME: a list of log-probabilities. choices: what the reply says of its answers.
list() { grep -o "\"$1\":\[[^]]*\]" body | sed 's/^[^[]*//'; }
choices() { grep -o '"choices":.*,"usage"' body; }

start_server tiny -np 4

# ---- the text is that of carat run ----

while IFS='|' read -r options fields; do
    # shellcheck disable=SC2086 # several options
    "$CARAT" run tiny --raw $options --json "The kitchen" </dev/null >run.json 2>err
    wanted=$(grep -o '"text": *"[^"]*"' run.json | sed 's/^"text": *"//; s/"$//')
    for prompt in '"The kitchen"' '[2,528,817]' '["The kitchen"]' '[[2,528,817]]'; do
        ask 200 POST $text "{\"prompt\":$prompt,$fields}"
        [ "$(joined)" = "$wanted" ] || die "$options, $prompt: '$(joined)', expected '$wanted'"
        ask 200 POST $text "{\"prompt\":$prompt,$fields,\"echo\":true}"
        [ "$(joined)" = "The kitchen$wanted" ] || die "$options, $prompt, echo: '$(joined)'"
        ask 200 POST $text "{\"prompt\":$prompt,$fields,\"echo\":true,\"stream\":true}"
        [ "$(joined)" = "The kitchen$wanted" ] || die "$options, $prompt, streamed: '$(joined)'"
        [[ $(tail -n 2 body) == 'data: [DONE]'* ]] || die "a stream without its last line: $(cat body)"
    done
done <<'END'
--temp 0 -n 16|"temperature":0
--temp 0 -n 4|"temperature":0,"max_tokens":4
--seed 7 -n 60 --temp 2 --top-k 40|"seed":7,"max_tokens":60,"temperature":2,"top_k":40
--temp 0 -n 30 --stop degrees|"temperature":0,"max_tokens":30,"stop":["degrees"]
--temp 0 -n 9 --presence-penalty 1.5|"temperature":0,"max_tokens":9,"presence_penalty":1.5
END
ask 200 POST $text '{"prompt":"The kitchen","temperature":0}'
body_has '"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":9,"total_tokens":12,'
ask 200 POST $text '{"prompt":"The kitchen","temperature":0,"logit_bias":{"1":-100,"106":-100,"50":-100}}'
body_has '"finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":16,'

# ---- several prompts, several answers: each what it is alone ----

seeded='"seed":3,"temperature":3,"max_tokens":9'
for prompt in 'The kitchen' 'The lights' 'x'; do
    ask 200 POST $text "{\"prompt\":\"$prompt\",\"n\":2,$seeded}"
    texts
done >alone
ask 200 POST $text "{\"prompt\":[\"The kitchen\",\"The lights\",\"x\"],\"n\":2,$seeded}"
[ "$(texts)" = "$(cat alone)" ] || die "three prompts: '$(texts)', expected '$(cat alone)'"
for i in 0 1 2 3 4 5; do body_has "{\"index\":$i,"; done
body_has '"usage":{"prompt_tokens":8,'
while IFS='|' read -r at prompt; do # of one kind, as OpenAI has it
    ask 400 POST $text "{\"prompt\":$prompt}"
    body_has "\"param\":\"prompt[$at]\""
    body_has 'expected all prompts to be strings, or all lists of ids'
done <<'END'
1|["x",[1,2]]
2|[[1],[2],"x"]
END
ask 200 POST $text "{\"prompt\":[\"The kitchen\",\"The lights\",\"x\"],\"n\":2,$seeded,\"stream\":true,\"stream_options\":{\"include_usage\":true}}"
for i in 0 1 2 3 4 5; do
    [ "$(grep -F "{\"index\":$i," body | grep -o '"text":"[^"]*"' | sed 's/^"text":"//; s/"$//' | tr -d '\n')" = "$(sed -n $((i + 1))p alone)" ] || die "answer $i of a stream: $(cat body)"
done
body_has '"choices":[],"usage":{"prompt_tokens":8,'

# ---- how likely ids are: of a prompt what they are of an answer ----

ask 200 POST $text '{"prompt":"The kitchen","temperature":0,"max_tokens":4,"logprobs":2}'
for name in token_logprobs top_logprobs; do list $name >answer.$name; done
body_has '"tokens":[" is"," now"," set"," to"]'
body_has '"text_offset":[0,3,7,11]'
for more in '"max_tokens":0' '"max_tokens":3,"temperature":0' '"max_tokens":2,"stream":true'; do
    ask 200 POST $text "{\"prompt\":\"The kitchen is now set to\",\"echo\":true,\"logprobs\":2,$more}"
    for name in token_logprobs top_logprobs; do
        likely=$(list $name | head -n 1)
        of_answer=$(cat answer.$name)
        [[ $likely == '[null,'*",${of_answer:1:-1}"* ]] || die "$more: $name $likely, expected $of_answer in it"
    done
    body_has '"tokens":["<bos>","The"," kitchen"," is"," now"," set"," to"'
    body_has '"text_offset":[0,0,3,11,14,18,22'
done
# the stop id behind an answer too, of which clients count that it is there
ended='"prompt":"The kitchen","temperature":0,"logprobs":2'
ask 200 POST $text "{$ended}"
answer=$(joined)
body_has '"text":"'"$answer"'",'
for name in tokens token_logprobs top_logprobs; do list $name >answer.$name; done
grep -q ',"<end_of_turn>"\]$' answer.tokens || die "no stop id behind the answer: $(cat answer.tokens)"
ask 200 POST $text "{\"prompt\":\"The kitchen$answer<end_of_turn>\",\"echo\":true,\"logprobs\":2,\"max_tokens\":0}"
for name in token_logprobs top_logprobs; do
    of_answer=$(cat answer.$name)
    [[ $(list $name) == '[null,'*",${of_answer:1}" ]] || die "$name: $(list $name), expected $of_answer behind it"
done
ask 200 POST $text "{$ended,\"stream\":true}"
[ "$(joined)" = "$answer" ] || die "streamed with log-probabilities: '$(joined)', expected '$answer'"
[ "$(list token_logprobs | sed 's/^.//; s/.$//' | paste -sd,)" = "$(sed 's/^.//; s/.$//' answer.token_logprobs)" ] || die "streamed: $(list token_logprobs)"
ask 200 POST $text "{$ended,\"max_tokens\":2,\"stop\":\"now\"}"
body_has '"tokens":[" is"," now"]'
ids_of() { for ((i = 1; i <= $1; i++)); do printf ',%d' $((i * i % 250 + 260)); done; }
ids=$(ids_of 700)
long="{\"prompt\":[2$ids],\"echo\":true,\"logprobs\":3,\"max_tokens\":2,\"temperature\":0}"
ask 200 POST $text "$long"
choices >first
[ "$(list token_logprobs | tr ',' '\n' | wc -l)" = 703 ] || die "$(list token_logprobs)"
for _ in 1 2 3; do # pieces are as long as the machine is fast
    ask 200 POST $text "$long"
    cmp <(choices) first || die 'likelihoods depend on pieces'
done
ask 200 POST $text "{\"prompt\":[2$(ids_of 300)],\"echo\":true,\"logprobs\":3,\"max_tokens\":0}"
few=$(list token_logprobs)
ask 200 POST $text "$long"
[[ $(list token_logprobs) == "${few%]}"* ]] || die "of a beginning: $few"
ask 200 POST $text '{"prompt":[[2,5,6,7]],"max_tokens":1,"echo":true,"logprobs":0,"temperature":0}'
body_has '"bytes:\\x'
body_has '"top_logprobs":[null,{},{},{},{}]'
scored='"echo":true,"logprobs":2,"max_tokens":1,"temperature":0'
for prompt in "[2$(ids_of 90)]" '[2,528,817]' '[2,5]'; do
    ask 200 POST $text "{\"prompt\":$prompt,$scored}"
    list token_logprobs
done >alone
ask 200 POST $text "{\"prompt\":[[2$(ids_of 90)],[2,528,817],[2,5]],$scored}"
[ "$(list token_logprobs)" = "$(cat alone)" ] || die "three that are scored: $(list token_logprobs)"
ask 200 POST $text '{"prompt":["The kitchen","x"],"max_tokens":0,"echo":true}'
body_has '"text":"The kitchen","logprobs":null,"finish_reason":"length"},{"index":1,"text":"x"'

# ---- what is refused ----

while IFS='|' read -r status says fields; do
    ask "$status" POST $text "{$fields}"
    body_has "$says"
done <<'END'
400|"param":"prompt","code":"missing_required_parameter"|"max_tokens":1
400|"param":"prompt"|"prompt":[]
400|"param":"prompt"|"prompt":{}
400|"param":"prompt"|"prompt":[1,"x"]
400|"param":"prompt"|"prompt":[2,1024]
400|"param":"prompt"|"prompt":[-1]
400|"param":"prompt"|"prompt":[1.5]
400|"param":"prompt[1]"|"prompt":["x",1]
400|"param":"prompt[1]"|"prompt":["x",[]]
400|"param":"prompt[0]"|"prompt":[null]
400|"param":"suffix"|"prompt":"x","suffix":"y"
400|"param":"best_of"|"prompt":"x","best_of":2
400|"param":"logprobs"|"prompt":"x","logprobs":21
400|"param":"logprobs"|"prompt":"x","logprobs":true
400|"param":"echo"|"prompt":"x","echo":1
400|which needs echo|"prompt":"x","max_tokens":0
400|expected at most 4, the answers at once|"prompt":"x","n":5
400|did you mean max_tokens?|"prompt":"x","max_token":5
200|"object":"text_completion"|"prompt":"x","best_of":1,"suffix":null,"user":"y","logprobs":null
END
ask 400 POST $text "{\"prompt\":[$(printf '"x",%.0s' {1..128})\"x\"]}"
body_has 'prompt has 129 elements, expected 1 to 128'
some="[2$(ids_of 400)]"
ask 400 POST $text "{\"prompt\":[$(for _ in {1..127}; do printf '%s,' "$some"; done)$some],\"echo\":true,\"logprobs\":20}"
body_has 'log-probabilities, expected at most 1048576'
ask 400 POST $text "{\"prompt\":[2$ids$ids$ids]}"
body_has '"code":"context_length_exceeded","n_prompt_tokens":2101,'
ask 400 POST $text "{\"prompt\":\"$(printf 'a %.0s' {1..2048})\"}"
body_has '"code":"context_length_exceeded"'
stop_server 0
[ ! -s serve.err ] || die "the server says $(cat serve.err)"
