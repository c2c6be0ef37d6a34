# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # those that source it use its variables
# interrupt.bash: Ctrl-C for tests, sent once the command listens for it. Sourced after common.bash.

# armed PID: waits until the process has its handler, or has ended.
armed() {
    local end=$((SECONDS + 20)) key value mask=0
    while [ $((0x$mask & 2)) = 0 ] && [ -e "/proc/$1/status" ]; do
        [ $SECONDS -lt $end ] || die 'no handler was installed'
        [ "/proc/$1/exe" -ef "$CARAT" ] || continue # it is still this shell, which has handlers of its own
        while read -r key value; do # no program is started for it, which could be slower than what is watched
            [ "$key" != SigCgt: ] || mask=${value: -1}
        done <"/proc/$1/status"
    done 2>/dev/null
}

# within SECONDS PID: waits for the end, whose code is then in $code; anything that ignores Ctrl-C takes far
# longer.
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

# interrupted SECONDS ARGUMENTS...: Ctrl-C so long after the command listens for it; fails if it ended before,
# or with another code than 130.
interrupted() {
    local after=$1 pid
    shift
    "$CARAT" "$@" >out 2>err &
    pid=$!
    armed $pid
    sleep "$after"
    code=
    kill -INT $pid 2>/dev/null || return 1
    within 20 $pid
    [ "$code" = 130 ]
}

# interrupt_at SECONDS ARGUMENTS...: the same for what takes far longer on every machine.
interrupt_at() {
    interrupted "$@" || die "${*:2}: exit code ${code:-before it could be interrupted}"
}

# interrupt_text ARGUMENTS...: Ctrl-C while the file `long` is tokenised, as long as a message may be. How
# long that takes, and when it begins, depends on the machine: what came too early or too late is tried again,
# a little later each time.
interrupt_text() {
    local wait
    head -c 16777216 /dev/zero | tr '\0' 'a' >long
    for wait in 0.01 0.02 0.01 0.05 0.01 0.1 0.2 0.4 0.8 0.01 0.02 0.05; do
        if interrupted $wait "$@" -f long && grep -q 'E_CANCELLED' err; then
            return
        fi
    done
    die "$* -f long: not interrupted while it was tokenised"
}
