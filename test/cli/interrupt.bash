# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # those that source it use its variables
# interrupt.bash: Ctrl-C for tests, sent once the command listens for it. Sourced after common.bash.

# armed PID: waits until the process has its handler.
armed() {
    local tries=0
    until [ $((0x$(sed -n 's/^SigCgt:.*\(.\)$/\1/p' "/proc/$1/status") & 2)) != 0 ]; do
        tries=$((tries + 1))
        [ $tries -lt 1000 ] || die 'no handler was installed'
        sleep 0.01
    done
}

# within SECONDS PID: waits for the end, whose code is then in $code; anything that ignores Ctrl-C takes far longer.
within() {
    local tries=0
    while kill -0 "$2" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt $(($1 * 50)) ] || die 'Ctrl-C is not obeyed'
        sleep 0.02
    done
    code=0
    wait "$2" || code=$?
}

# interrupted SECONDS ARGUMENTS...: Ctrl-C so long after the command listens for it; fails if it ended before.
interrupted() {
    local after=$1 pid
    shift
    "$CARAT" "$@" >out 2>err &
    pid=$!
    armed $pid
    sleep "$after"
    kill -INT $pid 2>/dev/null || return 1
    within 20 $pid
    [ "$code" = 130 ] || die "$*: exit code $code"
}

# interrupt_at SECONDS ARGUMENTS...: the same for what takes far longer on every machine.
interrupt_at() {
    interrupted "$@" || die "${*:2}: it ended before it could be interrupted"
}

# interrupt_text ARGUMENTS...: Ctrl-C while the file `long` is tokenised. A fast machine, or one that lets this script
# wait, may be through before: then the text is made longer, up to what is read at once, and tried again.
interrupt_text() {
    local size
    for size in 16 32 60 60 60 60 60 60; do
        head -c $((size << 20)) /dev/zero | tr '\0' 'a' >long
        if interrupted 0.1 "$@" -f long; then
            err_has 'E_CANCELLED'
            return
        fi
    done
    die "$* -f long: 60 MiB were tokenised before they could be interrupted"
}
