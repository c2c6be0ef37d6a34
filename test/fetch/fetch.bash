# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # those that source it use its variables
# fetch.bash: what the tests of carat-fetch share; each sources it behind test/cli/common.bash. They speak to
# the program itself, whose plan may say how patient it is: an hour's pauses become seconds.
[ -x "$CARAT_BUILD/carat-fetch" ] || { echo 'carat-fetch was not built'; exit 77; }
commit=0123456789abcdef0123456789abcdef01234567
hub=$work/hub folder=$work/hub/models--u--big big=$work/served/u/big/m.gguf
unset HF_HOME HF_HUB_OFFLINE TRANSFORMERS_OFFLINE https_proxy http_proxy HTTPS_PROXY ALL_PROXY all_proxy
unset CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR
mkdir -p "$work/served/u/big"

server=
stop() { # and its connections, which would still write into the log
    [ -z "$server" ] || { kill $server && wait $server; } 2>/dev/null || true
}
trap 'stop; rm -rf "$work"' EXIT
serve() { # [FAULT [NUMBER]]
    stop
    rm -f "$work"/port "$work"/log
    "$CARAT_BUILD/test/fakehub" "$work/served" "$work/port" "$work/log" "$@" >/dev/null 2>&1 &
    server=$!
    until [ -s "$work/port" ]; do sleep 0.01; done
    HF_ENDPOINT=http://127.0.0.1:$(cat "$work/port")
    export HF_ENDPOINT HF_HUB_CACHE=$hub
}
# make_big BYTES: the file that is fetched, the same each time and not compressible.
make_big() {
    head -c "$1" /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 >"$big" 2>/dev/null
    big_hash=$(sha256sum <"$big" | cut -d ' ' -f 1)
    big_bytes=$1
}
part() { echo "$folder/blobs/$big_hash.carat.incomplete"; }
plan() { # MORE: members of the plan
    printf '{"do": "get", "endpoint": "%s", "repository": "u/big", "revision": "main", "token": "secret", "root": "%s", "commit": "%s", "patience": 1, "files": [{"name": "m.gguf", "bytes": %s, "hash": "%s"}]%s}' \
        "$HF_ENDPOINT" "$hub" $commit "$big_bytes" "$big_hash" "${1:+, $1}"
}
# carat-fetch with 56 MiB for data and stacks; its code and that of libraries, 8 MiB, does not count. Without
# a limit where a sanitizer has memory of its own.
fetch() {
    (
        [ -n "${CARAT_CFLAGS:-}" ] || ulimit -s 512 -d 57344
        exec "$CARAT_BUILD/carat-fetch"
    )
}
# get CODE [MORE]: fetches the file; events are in the file out.
get() {
    local code=0
    plan "${2:-}" | fetch >out 2>err || code=$?
    [ "$code" = "$1" ] || die "carat-fetch: exit code $code, expected $1: $(grep error out)"
    [ ! -s err ] || die "carat-fetch: $(cat err)"
}
error_has() {
    [ "$(grep -c '"event": "error"' out)" = 1 ] && grep '"event": "error"' out | grep -q -e "$1" || die "'$1' is not what carat-fetch says: $(grep '"error"' out)"
}
whole() { cmp -s "$folder/snapshots/$commit/m.gguf" "$big"; }
# nothing WHAT: nothing has a name that is not whole, and what is kept is a plain beginning.
nothing() {
    [ ! -e "$folder/refs/main" ] && [ ! -e "$folder/snapshots" ] || die "$1: something leads to nothing"
    [ ! -e "$folder/blobs/$big_hash" ] || die "$1: a blob has a name"
    [ ! -e "$(part)" ] || cmp -s -n "$(wc -c <"$(part)")" "$(part)" "$big" || die "$1: what is kept is no beginning"
}
fresh() { rm -rf "$hub"; }
# how often bytes were asked for
asked() { grep -c '^/cdn' "$work/log" || true; }
sent() { [ ! -e "$work/log" ] && echo 0 || awk -F 'sent=' '/^\/cdn/ {n += $2} END {print n + 0}' "$work/log"; }
