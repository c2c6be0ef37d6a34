# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what common.bash sets
# serve.bash: `carat serve` in the background and requests to it, with nothing but the shell; sourced behind
# common.bash by the tests of the server.
if "$CARAT" serve no.model 2>&1 | grep -q 'built without libuv'; then
    echo 'the command was built without libuv'
    exit 77
fi

"$CARAT" help serve >/dev/null
server=

# start_server ARGUMENTS...: sets port when it listens.
start_server() {
    : >serve.out
    "$CARAT" serve "$@" --port 0 >serve.out 2>serve.err &
    server=$!
    trap '[ -z "$server" ] || kill -9 $server 2>/dev/null; rm -rf "$work"' EXIT
    until grep -q '^curl ' serve.out; do
        kill -0 $server 2>/dev/null || {
            cat serve.err
            ! grep -q 'built without libuv' serve.err || exit 77
            die "carat serve $*"
        }
        sleep 0.02
    done
    port=$(sed -n 's#^OpenAI API  http://127.0.0.1:\([0-9]*\)/v1$#\1#p' serve.out)
    [ -n "$port" ] || die "carat serve says: $(cat serve.out)"
}

# stop_server CODE: asks it to end, and waits for it.
stop_server() {
    local code=0
    kill -TERM $server
    wait $server || code=$?
    server=
    [ $code = "$1" ] || die "carat serve: exit code $code, expected $1: $(cat serve.err)"
}

# talk BYTES: sends them, and reads until the server closes; the answer is in the file reply.
talk() {
    exec 9<>"/dev/tcp/127.0.0.1/$port"
    printf '%s' "$1" >&9
    timeout 60 cat <&9 >reply || die "no end of the reply to $1"
    exec 9>&- 9<&-
}

# ask STATUS METHOD PATH [BODY] [FIELD]: the body of the reply is in body, its head in reply.head.
ask() {
    local lines=$'\r\n' content=${4:-}
    talk "$2 $3 HTTP/1.1${lines}Host: localhost${lines}Connection: close${lines}${5:+$5$lines}Content-Length: ${#content}$lines$lines$content"
    sed '/^\r$/,$d' reply >reply.head
    sed '1,/^\r$/d' reply >body
    [[ $(head -n 1 reply.head) == "HTTP/1.1 $1 "* ]] || die "$2 $3: $(cat reply), expected status $1"
    if grep -q '^Transfer-Encoding: chunked' reply.head; then unchunk; fi
}

# The body of a reply in pieces, whose bytes are ASCII.
unchunk() {
    local size piece
    mv body chunks
    : >body
    while IFS= read -r size && size=$((0x${size%$'\r'})) && [ "$size" -gt 0 ]; do
        IFS= read -r -N "$size" piece
        printf '%s' "$piece" >>body
        IFS= read -r _
    done <chunks
}

body_has() { grep -qF -e "$1" body || die "'$1' is not in the reply: $(head -c 1000 body)"; }
head_has() { grep -q -e "$1" reply.head || die "'$1' is not in the head: $(cat reply.head)"; }
# The text of a reply, whole or streamed, as JSON spells it.
told() { grep -o '"content":"[^"]*"' body | sed 's/^"content":"//; s/"$//' | tr -d '\n'; }

# quiet REQUEST: nothing in the reply warns.
quiet() {
    ! grep -q '"warnings"' body || die "$1: $(cat body)"
    ! grep -q '^carat-' <(grep -v '^carat-seed' reply.head) || die "$1: $(cat reply.head)"
}
# The text of a reply of any surface, as JSON spells it.
text_of_reply() {
    grep -oE '"(content|text|response)":"([^"\\]|\\.)*"' body | tail -n 1 | sed 's/^"[a-z]*":"//; s/"$//'
}
