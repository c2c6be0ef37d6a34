#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_clients.sh: `carat serve` gets what the clients of OpenAI, Anthropic, Ollama and Google send,
# and Open WebUI, byte for byte, and gives the replies that these took: tools/record_clients.py and
# tools/record_open_webui.py wrote both, each once, into test/server/clients. All of a model go over one
# connection, in the order of their names, as they were recorded; those in tiny4 are of a model that thinks
# before it calls.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
clients=$CARAT_SOURCE/test/server/clients

# get_line: the next line of the connection is in line, without its end.
get_line() {
    IFS= read -r -t 60 line <&9 || die "$name: the reply ends behind '$line'"
    line=${line%$'\r'}
}

# get_bytes COUNT: so many go to the file heard.
get_bytes() {
    local bytes=
    [ "$1" = 0 ] || IFS= read -r -t 60 -N "$1" bytes <&9 || die "$name: ${#bytes} of $1 bytes came"
    printf '%s' "$bytes" >>heard
}

# get_reply: its head and its body, in one piece, are in heard; the connection is kept.
get_reply() {
    local length=0
    : >heard
    while get_line && [ -n "$line" ]; do
        case $line in
            Content-Length:*) length=${line#*: } ;;
            'Transfer-Encoding: chunked') length=chunked ;;
        esac
        printf '%s\n' "$line" >>heard
    done
    echo >>heard
    [ "$length" = chunked ] || {
        get_bytes "$length"
        return
    }
    while get_line && [ "$line" != 0 ]; do
        get_bytes $((0x$line))
        get_line
    done
    get_line
}

# replay MODEL FOLDER
replay() {
    start_server "$1"
    exec 9<>"/dev/tcp/127.0.0.1/$port"
    for request in "$2"/*.request; do
        name=$(basename "$request" .request)
        cat "$request" >&9
        get_reply
        sed -E -f "$clients/neutral.sed" heard >reply
        diff "$2/$name.reply" reply >&2 || die "$request: another reply than $name.reply"
    done
    exec 9>&- 9<&-
    stop_server 0
}
replay tiny "$clients"
replay "$CARAT_SOURCE/test/fixtures/tiny4" "$clients/tiny4"
