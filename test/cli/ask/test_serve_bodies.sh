#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_bodies.sh: all bodies together have at most as much memory as the host says: beyond it nothing is
# read, requests go on when there is room, and one that waits for half a minute is refused. One that has none
# even when it is alone is refused at once.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"

# send FD N OF: the head of a request with OF bytes, and N of these, which are blanks.
send() { printf 'POST /tokenize HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%*s' "$3" "$2" '' >&"$1"; }
# reply FD: what comes until the server closes.
reply() { timeout 60 cat <&"$1" >"reply.$1" || die "no end of the reply to $1"; }

start_server tiny --max-bodies 128K
exec 4<>"/dev/tcp/127.0.0.1/$port"
send 4 0 131073
SECONDS=0
reply 4
grep -q '^HTTP/1.1 503 ' reply.4 || die "a body without room: $(cat reply.4)"
grep -q 'the body has more than 131072 bytes' reply.4 || die "$(cat reply.4)"
[ "$SECONDS" -lt 20 ] || die "a body without room is refused after $SECONDS s"
exec 3<>"/dev/tcp/127.0.0.1/$port"
send 3 20000 120000
sleep 1 # it is read, and there is room for it
exec 5<>"/dev/tcp/127.0.0.1/$port"
send 5 120000 131000
sleep 10 # it is read, up to the limit; the next one waits so much longer
exec 6<>"/dev/tcp/127.0.0.1/$port"
send 6 100000 100014 # alone it has room, in whatever pieces it comes
printf '{"content":""}' >&6
for path in /livez /health; do ask 200 GET $path; done # what has no body is answered
if read -r -t 0.5 _ <&6; then die 'a body beyond the memory for all is read'; fi
reply 5
grep -q '^HTTP/1.1 503 ' reply.5 || die "a body that waits for memory: $(cat reply.5)"
grep -q 'there is no memory for the body of this request' reply.5 || die "$(cat reply.5)"
grep -q '^Retry-After: [1-9]' reply.5 || die "$(cat reply.5)"
reply 6
grep -q '^{"tokens":\[\]}' reply.6 || die "behind one that was refused: $(cat reply.6)"
stop_server 0
[ ! -s serve.err ] || die "the server says $(cat serve.err)"
