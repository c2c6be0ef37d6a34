#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_limits.sh: what a host lets requests cost: each limit of `carat serve` at its number and beyond
# it; names of other models; clients that close their side or go; and how the server ends.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
chat=/v1/chat/completions messages=/v1/messages ollama=/api/chat
crlf=$'\r\n'

# many N: a list of N messages of one user and one model in turn.
many() {
    local i list=
    for ((i = 0; i < $1; i++)); do
        list+=",{\"role\":\"$([ $((i % 2)) = 0 ] && echo user || echo assistant)\",\"content\":\"Turn on\"}"
    done
    printf '"messages":[%s]' "${list:1}"
}
one=$(many 1)
tool() { printf '{"type":"function","function":{"name":"f%d","parameters":{"type":"object"}}}' "$1"; }
# padded N: a request of N bytes.
padded() {
    local body="{$one,\"max_tokens\":1,\"user\":\"\"}"
    printf '%s%*s"}' "${body%\"\}}" $(($1 - ${#body})) '' | tr ' ' x
}

# ---- costs ----

start_server tiny -np 8 --max-body 2K --max-messages 3 --max-tools 1 --max-n 1 --default-max-tokens 5 --strict-model
ask 200 POST $chat "$(padded 2048)"
ask 413 POST $chat "$(padded 2049)"
body_has 2048
for path in $chat $messages $ollama; do
    ask 200 POST $path "{\"model\":\"tiny\",$(many 3),\"max_tokens\":1}"
    ask 400 POST $path "{\"model\":\"tiny\",$(many 4),\"max_tokens\":1}"
    body_has 'messages has 4 elements, expected 1 to 3'
done
for name in tiny tiny:latest; do ask 200 POST $chat "{\"model\":\"$name\",$one,\"max_tokens\":1}"; done
for name in tin other:latest; do ask 404 POST $chat "{\"model\":\"$name\",$one,\"max_tokens\":1}"; done
body_has "model 'other:latest' not found: tiny is served"
ask 200 POST $chat "{$one,\"tools\":[$(tool 1)],\"max_tokens\":1}"
ask 400 POST $chat "{$one,\"tools\":[$(tool 1),$(tool 2)],\"max_tokens\":1}"
body_has 'tools has 2 elements, expected at most 1'
ask 400 POST $chat "{$one,\"n\":2}"
body_has 'n is 2, expected at most 1'

# ---- lengths that nobody asked for ----

free='"temperature":0,"logit_bias":{"1":-100,"106":-100}' # no answer ends by itself
ask 200 POST $chat "{$one,$free}"
body_has '"completion_tokens":5,'
ask 200 POST $chat "{$one,$free,\"max_tokens\":9}"
body_has '"completion_tokens":9,'
ask 200 POST /v1/completions "{\"prompt\":\"x\",$free}"
body_has '"completion_tokens":5,'
ask 200 POST /v1/completions "{\"prompt\":\"x\",$free,\"max_tokens\":9}"
body_has '"completion_tokens":9,'
ask 200 POST /v1/explain "{$one}"
body_has '"max_tokens":{"value":5,"origin":"default"}'
kitchen='"messages":[{"role":"user","content":"Turn on the kitchen lights"}]'
ask 200 POST $ollama "{\"model\":\"tiny\",$kitchen,\"options\":{\"temperature\":0}}"
body_has '"eval_count":5,'
ask 200 POST $ollama "{\"model\":\"tiny\",$kitchen,\"options\":{\"temperature\":0,\"num_predict\":-1}}"
body_has '"done_reason":"stop"'

# ---- other models ----

for path in $chat $messages /v1/explain /tokenize; do
    ask 200 POST $path "{\"model\":\"tiny\",$one,\"max_tokens\":1}"
    ask 404 POST $path "{\"model\":\"other\",$one,\"max_tokens\":1}"
    body_has "model 'other' not found: tiny is served"
done
for route in chat generate show; do
    ask 404 POST /api/$route '{"model":"other","messages":[{"role":"user","content":"x"}],"prompt":"x"}'
    body_has "model 'other' not found: tiny is served"
done
ask 404 POST /v1/completions '{"model":"other","prompt":"x"}'
body_has '"code":"model_not_found"'
ask 200 POST $chat "{$one,\"max_tokens\":1}"
stop_server 0

# ---- connections: the oldest that is idle goes ----

start_server tiny -np 8 --max-connections 2 --max-waiting 1
exec 5<>"/dev/tcp/127.0.0.1/$port" 6<>"/dev/tcp/127.0.0.1/$port"
for fd in 5 6; do # both are there when they have been answered
    printf 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n' >&$fd
    while IFS= read -r line <&$fd && [ "$line" != $'\r' ]; do :; done
    read -r -N 15 _ <&$fd
done
ask 200 GET /livez
timeout 20 cat <&5 >rest || die 'the oldest connection is not closed for a third one'
printf 'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&6
timeout 20 cat <&6 >rest
grep -q '"status":"ok"' rest || die 'the younger of two connections was closed'
exec 5>&- 6>&-
stop_server 0

# ---- descriptors: so many connections as there are enough for, and the oldest that is idle goes ----

own=$CARAT
# limited ULIMIT...: the command with other limits from here on.
limited() {
    printf '#!/bin/sh\nulimit %s\nexec "%s" "$@"\n' "$*" "$own" >limited
    chmod +x limited
    CARAT=$work/limited
}
limited -n 64
start_server tiny -np 1
most=$(sed -n 's/^note: serve: this process may have 64 descriptors: at most \([0-9]*\) connections, not 1024 .*/\1/p' serve.err)
[ "${most:-0}" -ge 8 ] && [ "$most" -lt 40 ] || die "64 descriptors: $(cat serve.err)"
idle=()
for ((i = 0; i < 80; i++)); do # each is there when it has been answered
    exec {fd}<>"/dev/tcp/127.0.0.1/$port"
    idle+=("$fd")
    printf 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$fd"
    IFS= read -r -t 20 line <&"$fd" || die "idle connection $i is not answered"
    [[ $line == 'HTTP/1.1 200 '* ]] || die "idle connection $i: $line"
done
timeout 20 cat <&"${idle[79 - most]}" >rest || die 'the oldest connection is not closed when descriptors are short'
printf 'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&"${idle[80 - most]}"
timeout 20 cat <&"${idle[80 - most]}" >rest
grep -q 'HTTP/1.1 200 ' rest || die 'a connection was closed for which there is a descriptor'
for fd in "${idle[@]}"; do exec {fd}>&-; done
stop_server 0
limited -Sn 64
start_server tiny -np 1 --max-connections 200
[ ! -s serve.err ] || die "a limit that can be raised: $(cat serve.err)"
stop_server 0
limited -n 36
code=0
"$CARAT" serve tiny --port 0 >serve.out 2>serve.err || code=$?
[ $code = 1 ] || die "36 descriptors: exit code $code"
grep -q 'may have 36 descriptors, which is too few' serve.err || die "36 descriptors: $(cat serve.err)"
CARAT=$own

# ---- a reader who takes nothing has all places; behind him requests wait ----

# block: a stream to one who reads nothing has all places until he is ended; the server cuts it after half a
# minute. Its answers are 27 MB together, many times what the buffers between the two hold.
odd_client=$CARAT_BUILD/test/odd_client
block() {
    local body="{$one,$free,\"n\":8,\"stream\":true,\"logprobs\":true,\"top_logprobs\":20}"
    printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' $chat ${#body} "$body" >blocking
    until_health '"running":0,"waiting":0'
    "$odd_client" read-nothing "$port" <blocking >/dev/null 2>&1 &
    blocker=$!
    until_health '"running":1,"waiting":0'
}
unblock() {
    kill $blocker
    wait $blocker 2>/dev/null || true
}
until_health() {
    local i
    for ((i = 0; i < 500; i++)); do
        ask 200 GET /health
        if grep -q "$1" body; then return; fi
        sleep 0.02
    done
    die "never $1: $(cat body)"
}
# waiting FD: a stream that waits, of which the head has come.
waiting() {
    local body="{$one,\"stream\":true,\"max_tokens\":2}" line
    printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' $chat ${#body} "$body" >&"$1"
    until IFS= read -r line <&"$1" && [[ $line == data:* ]]; do :; done
}

start_server tiny -np 8 --max-waiting 1
block
exec 5<>"/dev/tcp/127.0.0.1/$port"
waiting 5
while IFS='|' read -r status path; do
    ask "$status" POST "$path" "{\"model\":\"tiny\",$one,\"max_tokens\":1}"
    body_has '1 requests wait already'
    head_has '^Retry-After: [1-9]'
done <<END
429|$chat
429|/v1/completions
529|$messages
503|$ollama
END
unblock
while IFS= read -r -t 20 line <&5 && [[ $line != 'data: [DONE]'* ]]; do :; done
[[ $line == 'data: [DONE]'* ]] || die "who waited is not answered: $line"
# the client of a stream that waits goes, and its entry with it
block
exec 5<>"/dev/tcp/127.0.0.1/$port"
waiting 5
exec 5>&- 5<&-
until_health '"running":1,"waiting":0'

# ---- a client that has closed its side ----

body="{$one,\"max_tokens\":3}"
printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' $chat ${#body} "$body" >request
timeout 20 "$odd_client" half-close "$port" <request >late || die 'a client that has closed its side waits'
[ ! -s late ] || die "who has closed his side gets an answer in one piece: $(cat late)"
until_health '"waiting":0'
unblock
block
sed 's/"max_tokens":3}/"stream":true}/; s/^Content-Length: .*/Content-Length: '$((${#body} - 1))'\r/' request >streamed
"$odd_client" half-close "$port" <streamed >late &
half_pid=$!
until_health '"waiting":1'
sleep 0.6 # longer than an answer in one piece would be waited for
unblock
wait $half_pid
grep -q '^data: \[DONE\]' late || die "a stream of one who has closed his side: $(cat late)"
stop_server 0

start_server tiny -np 8 --half-close keep
block
"$odd_client" half-close "$port" <request >late &
half_pid=$!
until_health '"waiting":1'
sleep 0.6
unblock
wait $half_pid
grep -q '"completion_tokens":3,' late || die "--half-close keep: $(cat late)"
stop_server 0

# ---- memory that can never be had ----

start_server tiny -np 4 --kv-memory 3200k
ask 400 POST $chat "{$one,\"max_tokens\":2000}"
body_has '2048 positions may be needed, and there is memory for 1024 in all'
ask 400 POST /v1/completions '{"prompt":["x","The"],"n":2,"max_tokens":513}'
body_has '"param":"max_tokens"'
ask 200 POST /v1/completions '{"prompt":["x","The"],"n":2,"max_tokens":511}'
ask 200 POST $chat "{$one,\"max_tokens\":1000}"
ids=$(printf '300,%.0s' {1..299})300
ask 400 POST /v1/completions "{\"prompt\":[$ids],\"n\":4,\"max_tokens\":1}"
ask 200 POST /v1/prepare/v1/completions "{\"prompt\":[$ids],\"n\":4,\"max_tokens\":1}" # whose answers need nothing yet
stop_server 0

# ---- a wait that would be too long, by what answers took before ----

start_server tiny -np 8 --max-wait 1 --max-waiting 1000
ask 200 POST $chat "{$one,$free,\"max_tokens\":2000}"
block
# what is expected falls until the buffers are full, and then stays
before='' wait=none
until [ "$wait" = "$before" ]; do
    sleep 0.3
    before=$wait
    ask 200 POST /v1/explain "{$one}"
    wait=$(grep -o '"wait_ms":[0-9]*' body)
done
body="{$one,$free,\"stream\":true,\"max_tokens\":2000}"
fds=
for ((i = 0; i < 200; i++)); do
    exec {fd}<>"/dev/tcp/127.0.0.1/$port"
    fds+=" $fd"
    printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s' $chat ${#body} "$body" >&"$fd"
    IFS= read -r line <&"$fd"
    [[ $line == 'HTTP/1.1 200 '* ]] || break
    sleep 0.02
done
[[ $line == 'HTTP/1.1 429 '* ]] || die "none of $i requests is told that it would wait too long: $line"
ask 529 POST $messages "{$one,\"max_tokens\":1}"
body_has 'seconds until this request has a place, expected less than 1'
head_has '^Retry-After: [1-9]'
ask 200 POST /v1/explain "{$one}" # which needs no place
unblock
for fd in $fds; do exec {fd}>&-; done
until_health '"running":0,"waiting":0'
ask 200 POST $chat "{$one,\"max_tokens\":1}"
stop_server 0

# ---- the end: for a while requests are still taken ----

start_server tiny -np 1 --drain-delay 2
kill -TERM $server
until grep -q '^HTTP/1.1 503 ' reply; do talk "GET /readyz HTTP/1.1${crlf}Host: localhost${crlf}Connection: close$crlf$crlf"; done
grep -q '"status":"ending"' reply || die "$(cat reply)"
ask 200 POST $chat "{$one,\"max_tokens\":2}"
code=0
wait $server || code=$?
[ $code = 0 ] || die "after the delay: exit code $code"
start_server tiny -np 1 --drain-delay 60
kill -TERM $server
until grep -q '^HTTP/1.1 503 ' reply; do talk "GET /readyz HTTP/1.1${crlf}Host: localhost${crlf}Connection: close$crlf$crlf"; done
stop_server 143
[ ! -s serve.err ] || die "the server says $(cat serve.err)"

for wrong in '--max-body 1' '--max-n 9' '--max-n 0' '--half-close close' '--drain-delay -1' '--max-waiting 0'; do
    # shellcheck disable=SC2086 # an option and its value
    refuse 2 serve tiny $wrong
done

# ---- forms that take long ----

start_server tiny -np 4
patterns='' kinds=''
for ((i = 0; i < 30; i++)); do patterns+=",{\"type\":\"string\",\"pattern\":\"a{1,200}b$i\"}"; done
for ((i = 0; i < 20; i++)); do kinds+=",\"p$i\":{\"anyOf\":[${patterns:1}]}"; done
many_patterns="{\"type\":\"object\",\"properties\":{${kinds:1}}}"
late='takes more than 200 ms of processor time'
# a list comes to where states have no more room, fast machines in 150 ms
late_list="$late\|the shortest answer of this form needs more than 131072 states"
for schema in '{"type":"array","minItems":9000000,"items":{}}' "$many_patterns"; do
    form="\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"x\",\"schema\":$schema}}"
    mkdir -p beside
    (
        cd beside || exit 1
        ask 400 POST $chat "{$one,\"max_tokens\":4,$form}"
        [ "$schema" = "$many_patterns" ] || late=$late_list
        grep -q "$late" body || die "no '$late' in the reply: $(head -c 1000 body)"
    ) &
    for ((i = 0; i < 5; i++)); do ask 200 POST $chat "{$one,\"max_tokens\":1}"; done
    wait $! || die "a form that takes long: $(head -c 1000 beside/body)"
done
tools="\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":$many_patterns}}]"
ask 400 POST $chat "{$one,\"max_tokens\":4,\"tool_choice\":\"required\",$tools}"
body_has "$late"
ask 200 POST $chat "{$one,\"max_tokens\":4,\"response_format\":{\"type\":\"json_object\"}}"
stop_server 0
