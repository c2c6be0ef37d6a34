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
[[2,5,9,1],[2,5,9,1]]|{"object":"embedding","index":0,"embedding":[$ids]},{"object":"embedding","index":1,"embedding":[$ids]}
END
body_has '"model":"E","usage":{"prompt_tokens":8,"total_tokens":8}}'
post 400 '"input":["x",[2,5]]'
body_has '"param":"input[1]"'
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
ask 200 POST /api/embed '{"model":"other","input":"a"}'
ask 400 POST /api/embed '{"model":"E","input":[1]}'
ask 200 POST /api/show '{"model":"E"}'
body_has '"capabilities":["embedding"]'

# ---- what would become of a request, of which nothing is evaluated ----

explain=/v1/explain
post 200 '"input":["green pears, and more of them","red apples"]'
tokens=$(sed -E 's/.*"prompt_tokens":([0-9]+).*/\1/' body)
while IFS='|' read -r surface path fields; do
    ask 200 POST "$explain$path" "{$fields}"
    body_has "{\"object\":\"explanation\",\"surface\":\"$surface\",\"model\":\"E\",\"prompts\":2,\"prompt_tokens\":$tokens,\"ids\":[[2,"
    body_has ',"dimensions":{"value":12,"of":36},'
    body_has "\"to_evaluate\":$tokens,\"wait_ms\":0}}"
done <<END
/v1/embeddings||"input":["green pears, and more of them","red apples"],"dimensions":12
/v1/embeddings|/v1/embeddings|"input":["green pears, and more of them","red apples"],"dimensions":12
/api/embed||"model":"E","input":["green pears, and more of them","red apples"],"dimensions":12,"truncate":true
/api/embed||"model":"E","input":["green pears, and more of them","red apples"],"dimensions":12,"keep_alive":1
/api/embed||"model":"E","input":["green pears, and more of them","red apples"],"dimensions":12,"options":{}
/api/embed|/api/embed|"model":"E","input":["green pears, and more of them","red apples"],"dimensions":12
END
ask 200 POST $explain/api/embeddings '{"model":"E","prompt":"red apples"}'
body_has '"surface":"/api/embeddings","model":"E","prompts":1,'
ask 200 POST $explain '{"input":[[2,5,9,1],[2,1]],"user":"x","bluetooth":1,"wifi":2}'
body_has '"prompts":2,"prompt_tokens":6,"ids":[[2,5,9,1],[2,1]],"dimensions":{"value":36,"of":36},"without_effect":["user"],"ignored":["bluetooth","wifi"],"memory":{"bytes":'
body_has '"places":{"all":2,"taken":0,"waiting":0},"vectors":{"tokens_per_second":'
grep -qE '"tokens_per_second":[1-9][0-9]*,"ms":[0-9]' body || die "no speed is told: $(cat body)"
head_has '^carat-ignored: bluetooth, wifi'
ask 400 POST $explain '{"input":[2,-1]}'
body_has '"param":"input"'
ask 200 POST $explain/api/embed '{"model":"other","input":"a"}'
ask 400 POST /v1/prepare/v1/embeddings '{"input":"red apples"}'
body_has 'nothing is kept of texts whose vectors are asked for'

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
# before anything is measured no speed is told, nor by what is not evaluated
start_server E -np 1 --max-wait 1
for _ in 1 2; do
    ask 200 POST $explain "{\"input\":\"${long:0:400}\"}"
    body_has '"vectors":{"tokens_per_second":null,"ms":null,'
done
# whoever would wait too long is told so
post 200 "\"input\":\"${long:0:4090}\""
body="{\"input\":[$(printf "\"${long:0:4090}\",%.0s" {1..140})\"a\"]}"
exec 5<>"/dev/tcp/127.0.0.1/$port"
printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' $route ${#body} "$body" >&5
for _ in {1..500}; do
    ask 200 POST $explain '{"input":"a"}'
    if grep -qE '"wait_ms":[1-9][0-9]{3}' body; then break; fi
    sleep 0.02
done
body_has '"places":{"all":1,"taken":1,"waiting":0}'
post 429 '"input":"a"'
body_has '"code":"queue_full"'
head_has '^Retry-After: [1-9]'
ask 503 POST /api/embed '{"model":"E","input":"a"}'
exec 5>&- 5<&-
for _ in {1..500}; do
    ask 200 POST $explain '{"input":"a"}'
    if grep -q '"wait_ms":0}' body; then break; fi
    sleep 0.02
done
post 200 '"input":"a"'
stop_server 0
start_server tiny
post 400 '"input":"a"' # clients repeat what is 500 or more
body_has '"param":"model"'
ask 400 POST $explain/v1/embeddings '{"input":"a"}'
for path in embed embeddings; do
    ask 400 POST /api/$path '{"model":"tiny","input":"a"}'
    body_has '{"error":"tiny gives no vectors'
done
stop_server 0
