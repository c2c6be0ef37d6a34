#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_look.sh: routes of `carat serve` that draw nothing: ids and texts are those of carat tokenize,
# detokenize and render, a prompt is that which an answer has, and what is said of model and places.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
chat=/v1/chat/completions
messages='"messages":[{"role":"system","content":"Be brief"},{"role":"user","content":"Turn on the \u2581kitchen lights"}]'

body_is() { [ "$(cat body)" = "$1" ] || die "$(cat body), expected $1"; }

start_server tiny -np 3

# ---- ids and texts ----

text='The kitchen lights<end_of_turn>'
ask 200 POST /tokenize "{\"content\":\"$text\"}"
cp body plain
ids=$(sed 's/^{"tokens":\(.*\)}$/\1/' body)
[[ $ids =~ ^\[[0-9]+(,[0-9]+)*\]$ ]] || die "ids: $ids"
ask 200 POST /tokenize "{\"content\":\"$text\",\"add_special\":true}"
body_is "{\"tokens\":[2,${ids#[}}"
ask 200 POST /tokenize "{\"content\":\"<bos>$text\",\"add_special\":true}"
body_is "{\"tokens\":[2,${ids#[}}"
ask 200 POST /tokenize "{\"content\":\"$text\",\"parse_special\":false}"
cmp -s body plain && die 'a control token is recognised that is text'
ask 200 POST /tokenize "{\"content\":\"$text\",\"with_pieces\":true}"
body_has '"piece":"<end_of_turn>"}]}'
body_has "{\"tokens\":[{\"id\":$(sed 's/^\[\([0-9]*\).*/\1/' <<<"$ids"),\"piece\":\"The"
ask 200 POST /tokenize '{"content":"\u00e9\ud83d\ude00","with_pieces":true}'
body_has '"piece":['
ask 200 POST /tokenize '{"content":""}'
body_is '{"tokens":[]}'
ask 200 POST /tokenize '{"content":"","with_pieces":true}'
body_is '{"tokens":[]}'
ask 200 POST /tokenize "{\"model\":\"x\",\"prompt\":\"$text\",\"add_special_tokens\":false}"
n=$(tr -cd , <<<"$ids" | wc -c)
body_is "{\"count\":$((n + 1)),\"max_model_len\":2048,\"tokens\":$ids,\"token_strs\":null}"
ask 200 POST /tokenize "{\"prompt\":\"$text\",\"return_token_strs\":true}"
body_has "{\"count\":$((n + 2)),\"max_model_len\":2048,\"tokens\":[2,${ids#[},\"token_strs\":[\"<bos>\",\"The"
body_has '"▁kitchen"'
ids_told=$("$CARAT" tokenize tiny 'The kitchen lights, please' | tr ' ' ,)
ask 200 POST /tokenize '{"prompt":"The kitchen lights, please"}'
body_has "\"tokens\":[$ids_told],"
ask 200 POST /detokenize "{\"model\":\"tiny\",\"tokens\":$ids}"
body_is "{\"content\":\"$text\",\"prompt\":\"$text\"}"
ask 200 POST /detokenize '{"tokens":[]}'
body_is '{"content":"","prompt":""}'
# texts that no context has room for are counted all the same
ask 200 POST /tokenize "{\"prompt\":\"$(printf 'a %.0s' {1..30000})\"}"
[ "$(sed 's/^{"count":\([0-9]*\),.*/\1/' body)" -gt 20000 ] || die "a long text: $(head -c 100 body)"

# ---- conversations ----

printf '%s' '[{"role":"system","content":"Be brief"},{"role":"user","content":"Turn on the ▁kitchen lights"}]' >messages.json
"$CARAT" render tiny --messages messages.json >rendered 2>err || die "carat render: $(cat err)"
ask 200 POST /apply-template "{$messages}"
sed 's/^{"prompt":"//; s/"}$//; s/\\n/\n/g' body >prompt
[ "$(cat prompt)" = "$(cat rendered)" ] || die "the prompt is $(cat body), that of carat render $(cat rendered)"
ask 200 POST /apply-template "{$messages,\"add_generation_prompt\":false}"
body_has '<end_of_turn>\n"}'
ask 200 POST $chat/render "{$messages,\"seed\":5,\"top_k\":7,\"max_tokens\":9,\"stop\":[\"a\",\"b\"],\"frequency_penalty\":0.5,\"user\":\"x\"}"
head_has '^carat-without-effect: user'
head_has '^carat-seed: 5'
rendered=$(grep -o '"token_ids":\[[0-9,]*\]' body | sed 's/.*://')
body_has '"top_k":7,'
body_has '"seed":5,'
body_has '"frequency_penalty":0.5,'
body_has '"max_tokens":9,"stop":["a","b"]}'
body_has '"prompt":"<bos><start_of_turn>'
n=$(($(tr -cd , <<<"$rendered" | wc -c) + 1))
ask 200 POST $chat/input_tokens "{$messages}"
body_is "{\"object\":\"response.input_tokens\",\"input_tokens\":$n}"
ask 200 POST /tokenize "{$messages}"
body_has "{\"count\":$n,\"max_model_len\":2048,\"tokens\":$rendered,"
ask 200 POST /tokenize "{$messages,\"add_generation_prompt\":false}"
without=$(grep -o '"tokens":\[[0-9,]*' body | sed 's/.*://')
[[ $rendered = "$without",* ]] || die "without the turn of the model: $without, with it: $rendered"
ask 200 POST $chat "{$messages,\"max_tokens\":1}"
body_has "\"prompt_tokens\":$n,"
ask 200 POST $chat/input_tokens "{\"messages\":[{\"role\":\"user\",\"content\":\"$(printf 'a %.0s' {1..3000})\"}]}"
[ "$(grep -o '[0-9]*}$' body | tr -d '}')" -gt 3000 ] || die "a long prompt: $(cat body)"

# ---- what is served ----

ask 200 GET /tokenizer_info
body_has '"bos_token":"<bos>","eos_token":"<eos>","pad_token":"<pad>","unk_token":"<unk>","chat_template":'
ask 200 GET /props
body_has '"default_generation_settings":{"n_ctx":2048,"params":{"temperature":0,"top_k":64,"top_p":0.95,"min_p":0}}'
body_has '"total_slots":3,"model_alias":"tiny"'
ask 405 POST /props '{}'
ask 200 GET /slots
body_is '[{"id":0,"n_ctx":2048,"is_processing":false},{"id":1,"n_ctx":2048,"is_processing":false},{"id":2,"n_ctx":2048,"is_processing":false}]'
# two places of an answer under way, and none when its client has gone
exec 8<>"/dev/tcp/127.0.0.1/$port"
body="{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"stream\":true,\"n\":2,\"logit_bias\":{\"1\":-100,\"106\":-100}}"
printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' $chat ${#body} "$body" >&8
IFS= read -r _ <&8
until ask 200 GET /slots && [ "$(grep -o 'true' body | wc -l)" = 2 ]; do sleep 0.02; done
exec 8>&- 8<&-
until ask 200 GET /slots && ! grep -q true body; do sleep 0.02; done

# ---- what is wrong ----

while IFS='|' read -r path says body; do
    ask 400 POST "$path" "$body"
    body_has "$says"
done <<'END'
/tokenize|"code":"missing_required_parameter"|{}
/tokenize|expected one of content, prompt and messages|{"content":"a","prompt":"a"}
/tokenize|"param":"content"|{"content":1}
/tokenize|"param":"with_pieces"|{"content":"a","with_pieces":1}
/tokenize|did you mean content?|{"contents":"a"}
/tokenize|"param":"add_generation_prompt"|{"messages":[],"add_generation_prompt":1}
/tokenize|"param":"messages"|{"messages":[]}
/tokenize|"param":"chat_template"|{"prompt":"a","chat_template":"x"}
/detokenize|"param":"tokens"|{}
/detokenize|"param":"tokens"|{"tokens":[-1]}
/detokenize|"param":"tokens"|{"tokens":[262145]}
/detokenize|"param":"tokens"|{"tokens":[1.5]}
/detokenize|"param":"tokens"|{"tokens":["a"]}
/detokenize|body: at byte|{"tokens":[1}
/apply-template|"param":"messages"|{}
/v1/chat/completions/render|"param":"temperature"|{"messages":[{"role":"user","content":"x"}],"temperature":-1}
/v1/chat/completions/input_tokens|"param":"messages"|{"messages":1}
END
ask 400 POST /detokenize '{"tokens":[99999999]}'
last=$(sed 's/.*from 0 to \([0-9]*\).*/\1/' body)
ask 200 POST /detokenize "{\"tokens\":[$last]}"
ask 400 POST /detokenize "{\"tokens\":[$((last + 1))]}"
body_has "expected ids from 0 to $last"
stop_server 0
