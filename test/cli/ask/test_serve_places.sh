#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_places.sh: what `carat serve` remembers of prompts, whoever brought them; several answers of one
# request fit into the memory there is, or wait for it, with the texts that they have otherwise; a request
# that cannot be answered ends alone.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
chat=/v1/chat/completions

# says TEXT FIELDS: the fields of a request with one message.
says() { printf '{"messages":[{"role":"user","content":"%s"}],%s}' "$1" "$2"; }
cached() { sed 's/.*"cached_tokens":\([0-9]*\).*/\1/' body; }
counted() { sed 's/.*"prompt_tokens":\([0-9]*\),.*/\1/' body; }

# ---- one place, and two conversations that take turns ----

start_server tiny -np 1
lamps="$(printf 'the lamp %d, ' {1..60}) and the lights in the kitchen"
doors="$(printf 'the door %d, ' {1..60}) and the lights in the kitchen"
for text in "$lamps" "$doors"; do
    ask 200 POST $chat "$(says "$text" '"temperature":0,"max_tokens":8')"
    told >"alone.${text:4:4}"
    [ "$(cached)" -lt 20 ] || die "cached before it was asked: $(cached)"
done
for text in "$lamps" "$doors"; do
    ask 200 POST $chat "$(says "$text" '"temperature":0,"max_tokens":8')"
    [ "$(told)" = "$(cat "alone.${text:4:4}")" ] || die "remembered: '$(told)'"
    [ "$(cached)" -eq $(($(counted) - 1)) ] || die "cached: $(cached) of $(counted)"
done
# the next turn of the first one, which its answer is a part of
ask 200 POST $chat "{\"messages\":[{\"role\":\"user\",\"content\":\"$lamps\"},{\"role\":\"assistant\",\"content\":\"$(cat alone.lamp)\"},{\"role\":\"user\",\"content\":\"$lamps\"}],\"max_tokens\":1}"
[ "$(cached)" -ge $(($(counted) / 2 - 20)) ] || die "of a turn before: $(cached) of $(counted)"

# ---- a client that leaves: what was evaluated for it stays ----

body=$(says "$(printf 'the window %d, ' {1..60})" '"stream":true,"logit_bias":{"1":-100,"106":-100}')
exec 9<>"/dev/tcp/127.0.0.1/$port"
printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' $chat ${#body} "$body" >&9
until IFS= read -r line <&9 && [[ $line == *'"content":"'[!\"]* ]]; do :; done
exec 9>&- 9<&-
ask 200 POST $chat "${body/\"stream\":true/\"max_tokens\":2}"
[ "$(cached)" -eq $(($(counted) - 1)) ] || die "cached of one that left: $(cached) of $(counted)"
stop_server 0

# ---- prompts that part far before their ends: where they do is kept when it was seen once ----

# parted TAIL N: ids that have the first 300 in common, and N of their own.
parted() {
    printf '[2'
    for ((i = 1; i < 300; i++)); do printf ',%d' $((i * i % 250 + 260)); done
    for ((i = 0; i < $2; i++)); do printf ',%d' $(((i * 7 + $1 * (i % 11 + 1)) % 250 + 260)); done
    printf ']'
}
written() { grep -o '"text":"[^"]*"' body; }
start_server tiny -np 2
for tail in 1 2 3 4; do
    ask 200 POST /v1/completions "{\"prompt\":$(parted $tail 480),\"temperature\":0,\"max_tokens\":8}"
    written >"parted.$tail"
    [ $tail -lt 3 ] || [ "$(cached)" -eq 300 ] || die "a prompt that parts at 300, time $tail: $(cached) cached"
done
stop_server 0
for tail in 2 3; do
    start_server tiny -np 1
    ask 200 POST /v1/completions "{\"prompt\":$(parted $tail 480),\"temperature\":0,\"max_tokens\":8}"
    [ "$(written)" = "$(cat parted.$tail)" ] || die "a prompt that parts: '$(cat parted.$tail)', alone '$(written)'"
    stop_server 0
done

# ---- fifteen conversations, with four places ----

start_server tiny -np 4
for round in 1 2; do
    for i in {10..24}; do
        ask 200 POST $chat "$(says "$(printf "$i: lamp %d, " {1..40})" '"max_tokens":1')"
        [ "$round" = 1 ] || [ "$(cached)" -gt $(($(counted) / 2)) ] || die "of fifteen: $(cached) of $(counted)"
    done
done
stop_server 0

# ---- as many answers as there are places, each with the whole context; and with memory for fewer ----

several='"seed":7,"n":4,"temperature":3'
start_server tiny -np 4
ask 200 POST $chat "$(says 'Turn on the lights' "$several,\"max_tokens\":40")"
wanted=$(told)
for _ in 1 2; do
    ask 200 POST $chat "$(says 'Turn on the lights' "$several")"
    [ "$(told)" = "$wanted" ] || die "whole contexts: '$(told)', expected '$wanted'"
done
stop_server 0
# four blocks of the global layer: what one request reserves, and three want
start_server tiny -np 4 --kv-memory 3200k
for seed in 1 2 3; do
    ask 200 POST $chat "$(says 'Turn on' "\"seed\":$seed,\"n\":2,\"temperature\":3,\"max_tokens\":400")"
    told >"alone.$seed"
done
waits=
for seed in 1 2 3; do
    (
        # its own files
        mkdir "$seed" && cd "$seed"
        ask 200 POST $chat "$(says 'Turn on' "\"seed\":$seed,\"n\":2,\"temperature\":3,\"max_tokens\":400")"
        [ "$(told)" = "$(cat "../alone.$seed")" ] || die "among three: '$(told)'"
    ) &
    waits="$waits $!"
done
for one in $waits; do wait "$one" || die 'one of three'; done
ask 400 POST $chat "$(says 'Turn on' '"n":4,"max_tokens":400')"
body_has '2048 positions may be needed, and there is memory for 1024 in all'
ask 200 POST $chat "$(says 'Turn on' "\"seed\":1,\"n\":2,\"temperature\":3,\"max_tokens\":400")"
[ "$(told)" = "$(cat alone.1)" ] || die "after a refusal: '$(told)'"
stop_server 0

# ---- a form without an answer that is short enough, beside somebody else ----

start_server tiny -np 4
long=$(says 'Turn on' '"seed":5,"temperature":3,"max_tokens":1500,"logit_bias":{"1":-100,"106":-100,"50":-100}')
short=$(says 'Turn on' '"max_tokens":2,"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"integer","minimum":100000}}}')
ask 200 POST $chat "$long"
told >alone.long
(
    mkdir long && cd long
    ask 200 POST $chat "$long"
    [ "$(told)" = "$(cat ../alone.long)" ] || die "beside a form that is too long: '$(told)'"
) &
other=$!
ask 200 GET /health
until grep -q '"running":1' body; do ask 200 GET /health; done
ask 400 POST $chat "$short"
body_has '"message":"the shortest answer of this form takes '
ask 200 POST $chat "${short/\"max_tokens\"/\"stream\":true,\"max_tokens\"}"
body_has 'data: {"error":{"message":"the shortest answer of this form takes '
ask 200 GET /health
body_has '"running":1'
wait $other || die 'a request beside one that cannot be answered'
stop_server 0
