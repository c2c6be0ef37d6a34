#!/usr/bin/env bash
# test_interrupt.sh: Ctrl-C ends `carat run` cleanly: what was generated stays, timings follow, exit code 130.
. "$CARAT_SOURCE/test/cli/common.bash"

# Starts the command, interrupts it once the file `$1` is not empty, leaves its exit code in $code.
interrupt_after() {
    local file=$1 pid tries=0
    shift
    : >out
    "$CARAT" "$@" >out 2>err &
    pid=$!
    while [ ! -s "$file" ]; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || die 'nothing was generated'
        kill -0 $pid 2>/dev/null || break
        sleep 0.01
    done
    kill -INT $pid 2>/dev/null || die 'it ended before it could be interrupted'
    code=0
    wait $pid || code=$?
}

interrupt_after out run tiny 'Once upon a time' --ignore-eos --seed 1 -t 1 --isa ref
[ "$code" = 130 ] || die "exit code $code"
err_has 'tok/s'

# with --json the object says so; the prompt comes through a pipe that stays open until the command listens
mkfifo pipe
"$CARAT" run tiny --ignore-eos --seed 1 -t 1 --isa ref --json <pipe >out 2>err &
pid=$!
exec 3>pipe
printf 'Once upon a time' >&3
sleep 0.3
kill -INT $pid
code=0
wait $pid || code=$?
exec 3>&-
[ "$code" = 130 ] || die "exit code $code while waiting for a prompt"
[ ! -s out ] || die 'there is output without a prompt'
