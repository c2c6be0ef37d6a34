# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # those that source it use its variables
# hub.bash: what the tests of the command share that fetch from a hub on this machine; each sources it instead
# of common.bash. The hub serves the folder `served`, which has the model tiny as google/gemma-3-1b-it.
. "${CARAT_SOURCE:?}/test/cli/common.bash"
[ -x "$CARAT_BUILD/carat-fetch" ] || { echo 'carat-fetch was not built'; exit 77; }
export HF_HUB_CACHE=$work/hub XDG_CONFIG_HOME=$work/config HOME=$work/home
unset HF_HOME HF_HUB_OFFLINE TRANSFORMERS_OFFLINE HF_TOKEN HF_TOKEN_PATH https_proxy http_proxy
commit=0123456789abcdef0123456789abcdef01234567
folder=$HF_HUB_CACHE/models--google--gemma-3-1b-it
mkdir -p served/google/gemma-3-1b-it
cp "$CARAT_SOURCE"/models/tiny/*.* served/google/gemma-3-1b-it

server=
stop() { # and its connections, which would still write into the log
    [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
}
trap 'stop; rm -rf "$work"' EXIT
serve() { # [FAULT [NUMBER]]
    stop
    rm -f port
    "$CARAT_BUILD/test/fakehub" "$work/served" "$work/port" "$work/log" "$@" >/dev/null 2>&1 &
    server=$!
    until [ -s port ]; do sleep 0.01; done
    HF_ENDPOINT=http://127.0.0.1:$(cat port)
    export HF_ENDPOINT
}
: >log
requests() { wc -l <log; }
# An answer is noted once it was sent: the command may end before.
noted() { # N: requests
    local i
    for ((i = 0; i < 200 && $(requests) < $1; i++)); do sleep 0.02; done
}
# asks N ARGUMENTS...: as expect, and the hub gets so many requests.
asks() {
    local before n=$1
    before=$(requests)
    shift
    expect "$@"
    noted $((before + n))
    [ $(($(requests) - before)) = "$n" ] || die "carat ${*:2}: $(($(requests) - before)) requests, expected $n"
}
# At least one.
fetches() {
    local before
    before=$(requests)
    expect "$@"
    noted $((before + 1))
    [ "$(requests)" -gt "$before" ] || die "carat ${*:2}: no request"
}
# typed LINE ARGUMENTS...: the command on a terminal, where LINE is typed; its output is in the file out.
typed() {
    local line=$1
    shift
    printf '%s\n' "$line" | script -qec "$(printf '%q ' "$CARAT" "$@")" raw >out
}
