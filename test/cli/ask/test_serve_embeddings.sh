#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_embeddings.sh: `carat serve` of an embedding model: vectors for OpenAI's and Ollama's clients,
# bit for bit those of carat embed, alone and among others; what is refused; and other models, which
# have none.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
route=/v1/embeddings
mkdir E
ln -s "$CARAT_SOURCE"/test/data/embed/models/embed1/* "$tiny/tokenizer.json" E # its vocabulary is as large

# vector OPTIONS...: what carat embed prints, as JSON has it
vector() {
    expect 0 embed E "$@"
    tr ' ' , <out | tr -d '\n'
}
post() { ask "$1" POST $route "{$2}"; }

apples=$(vector --no-prompt 'red apples')
pears=$(vector --no-prompt 'green pears, and more of them')
ids=$(vector --ids 2,5,9,1)
start_server E -np 2
if command -v curl >/dev/null; then
    sed -n 's/^curl /curl -sf /p' serve.out >line
    bash line >body 2>err || die "the line with curl: $(cat line)"
    body_has '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[-'
fi

# ---- OpenAI's ----

while IFS='|' read -r input wanted; do
    post 200 "\"input\":$input"
    data=$(sed -E 's/.*"data":\[(.*)\],"model":"E","usage".*/\1/' body)
    [ "$data" = "$wanted" ] || die "$input: $data, expected $wanted"
done <<END
"red apples"|{"object":"embedding","index":0,"embedding":[$apples]}
["red apples"]|{"object":"embedding","index":0,"embedding":[$apples]}
[2,5,9,1]|{"object":"embedding","index":0,"embedding":[$ids]}
[[2,5,9,1]]|{"object":"embedding","index":0,"embedding":[$ids]}
["green pears, and more of them","red apples"]|{"object":"embedding","index":0,"embedding":[$pears]},{"object":"embedding","index":1,"embedding":[$apples]}
[[2,5,9,1],"red apples"]|{"object":"embedding","index":0,"embedding":[$ids]},{"object":"embedding","index":1,"embedding":[$apples]}
END
body_has '"model":"E","usage":{"prompt_tokens":12,"total_tokens":12}}'
# more texts than go through the engine together
post 200 "\"input\":[$(printf '"red apples",%.0s' {1..150})\"green pears, and more of them\"]"
[ "$(grep -oF "[$apples]" body | wc -l)" = 150 ] || die 'not 150 vectors of one text'
[ "$(grep -oF ']},{"object":"embedding","index":' body | wc -l)" = 150 ] || die 'a list without its commas'
body_has "\"index\":150,\"embedding\":[$pears]}"
body_has '"index":149,'
# as bytes, and cut
for dim in 36 12 1 2; do
    expect 0 embed E --no-prompt 'red apples' --dim $dim --out v.npy
    tail -c $((4 * dim)) v.npy >wanted
    post 200 "\"input\":\"red apples\",\"encoding_format\":\"base64\",\"dimensions\":$dim,\"user\":\"x\""
    sed -E 's/.*"embedding":"([^"]*)".*/\1/' body | base64 -d | cmp - wanted || die "$dim values as bytes: $(cat body)"
done
head_has '^carat-without-effect: user'
# the sentence of a task stands before a text where it is asked for
post 200 '"input":"red apples","task":"query"'
body_has "[$(vector 'red apples')]"
post 200 '"input":"red apples","task":"document","title":"Fruit"'
body_has "[$(vector --title Fruit 'red apples')]"

long=$(printf 'a %.0s' {1..2100})
while IFS='|' read -r says fields; do
    post 400 "$fields"
    body_has "$says"
done <<END
"param":"input","code":"missing_required_parameter"|"model":"E"
"param":"input"|"input":[]
"param":"input"|"input":{}
"param":"input"|"input":""
"param":"input[1]"|"input":["a",""]
"param":"input[1]"|"input":["a",7]
"param":"input[1]"|"input":["a",[]]
"param":"input[0]"|"input":[[2,100000]]
"param":"input"|"input":[2,-1]
"param":"input"|"input":[2,1.5]
"param":"input[1]","code":"context_length_exceeded","n_prompt_tokens":2103,"n_ctx":2048|"input":["a","$long"]
"param":"input[0]","code":"context_length_exceeded","n_prompt_tokens":2049|"input":[[$(printf '5,%.0s' {1..2048})5]]
"param":"input"|"input":[$(printf '"a",%.0s' {1..2048})"a"]
"param":"encoding_format"|"input":"a","encoding_format":"hex"
"param":"dimensions"|"input":"a","dimensions":37
"param":"dimensions"|"input":"a","dimensions":0
"param":"task"|"input":"a","task":"cook"
"param":"title"|"input":"a","title":"x"
"param":"title"|"input":"a","title":"x","task":"query"
did you mean dimensions?|"input":"a","dimension":3
END
# 300,000 tokens in all, and no more
body="\"input\":[$(printf "\"$long\",%.0s" {1..150})\"a\"]"
post 400 "${body//$long/${long:0:4090}}"
body_has 'expected at most 300000'

# ---- Ollama's ----

ask 200 POST /api/embed '{"model":"E","input":["green pears, and more of them","red apples"],"keep_alive":"5m"}'
grep -qE "^\{\"model\":\"E\",\"embeddings\":\[\[$pears\],\[$apples\]\],\"total_duration\":[0-9]+,\"load_duration\":0,\"prompt_eval_count\":[0-9]+\}$" body || die "/api/embed: $(cat body)"
ask 200 POST /api/embed '{"model":"E:latest","input":"red apples","dimensions":12}'
body_has "\"embeddings\":[[$(vector --no-prompt --dim 12 'red apples')]]"
ask 200 POST /api/embed '{"model":"E","input":[]}'
body_has '"embeddings":[],'
ask 200 POST /api/embeddings '{"model":"E","prompt":"red apples","options":{"num_ctx":9}}'
[ "$(cat body)" = "{\"embedding\":[$apples]}" ] || die "/api/embeddings: $(cat body)"
ask 200 POST /api/embeddings '{"model":"E"}'
[ "$(cat body)" = '{"embedding":[]}' ] || die "no text: $(cat body)"
ask 200 POST /api/embed "{\"model\":\"E\",\"input\":\"$long\"}"
body_has "[[$(vector --no-prompt --truncate "$long")]]"
body_has '"prompt_eval_count":2048}'
ask 400 POST /api/embed "{\"model\":\"E\",\"input\":\"$long\",\"truncate\":false}"
body_has '{"error":"input has 2103 tokens, expected at most 2048"}'
ask 404 POST /api/embed '{"model":"other","input":"a"}'
ask 400 POST /api/embed '{"model":"E","input":[1]}'
ask 200 POST /api/show '{"model":"E"}'
body_has '"capabilities":["embedding"]'

# ---- an embedding model draws no text, and others give no vectors ----

for path in chat/completions completions responses messages chat/completions/render explain; do
    input='"input":"x"'
    [ "$path" = responses ] || input='"prompt":"x"'
    [[ "$path" != *chat* && "$path" != messages ]] || input='"max_tokens":3,"messages":[{"role":"user","content":"x"}]'
    ask 400 POST /v1/$path "{$input}"
    body_has 'E is an embedding model, which draws no text'
done
ask 400 POST /api/chat '{"model":"E","messages":[{"role":"user","content":"x"}]}'
body_has '{"error":"E is an embedding model'
ask 200 POST /tokenize '{"content":"red apples"}'
for path in /v1/models /slots /health; do ask 200 GET $path; done
# many at once: each has what it has alone
waits=
for i in {1..12}; do
    (
        mkdir "$i" && cd "$i"
        for _ in 1 2 3; do
            post 200 "\"input\":[$(printf '"green pears, and more of them",%.0s' $(seq 1 $((i * 10))))\"red apples\"]"
            body_has "\"index\":$((i * 10)),\"embedding\":[$apples]}"
            [ "$(grep -oF "[$pears]" body | wc -l)" = $((i * 10)) ] || die 'among twelve'
        done
    ) &
    waits="$waits $!"
done
for one in $waits; do wait "$one" || die 'one of twelve'; done
stop_server 0
start_server E -c 4
post 400 '"input":"red apples"'
body_has '"code":"context_length_exceeded","n_prompt_tokens":8,"n_ctx":4'
stop_server 0
start_server tiny
post 501 '"input":"a"'
body_has '"param":"model"'
for path in embed embeddings; do
    ask 501 POST /api/$path '{"model":"tiny","input":"a"}'
    body_has '{"error":"tiny gives no vectors'
done
stop_server 0
