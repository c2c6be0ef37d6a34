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

# interrupt_text ARGUMENTS...: Ctrl-C while the file `long` is tokenised, as long as a message may be. A fast machine, or
# one that lets this script wait, may be through before: then it is tried again.
interrupt_text() {
    local try
    head -c 16777216 /dev/zero | tr '\0' 'a' >long
    for try in 1 2 3 4 5 6 7 8 9 10; do
        if interrupted 0.01 "$@" -f long; then
            err_has 'E_CANCELLED'
            return
        fi
    done
    die "$* -f long: tokenised $try times before it could be interrupted"
}
