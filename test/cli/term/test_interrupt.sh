#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_interrupt.sh: Ctrl-C ends `carat run` cleanly: what was generated stays, timings follow, exit code 130.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/interrupt.bash"

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

interrupt_after out run tiny 'Once upon a time' --ignore-eos --seed 1 -t 1 --isa ref -v
[ "$code" = 130 ] || die "exit code $code"
err_has 'tok/s'

# a prompt comes through a pipe that stays open
mkfifo pipe
"$CARAT" run tiny --ignore-eos --seed 1 -t 1 --isa ref --json - <pipe >out 2>err &
pid=$!
exec 3>pipe
printf 'Once upon a time' >&3
armed $pid
sleep 0.1
kill -INT $pid
within 20 $pid
exec 3>&-
[ "$code" = 130 ] || die "exit code $code while waiting for a prompt"
[ ! -s out ] || die 'there is output without a prompt'

# with --json the object says so; the slow kernels take a minute for the rest of the context
interrupt_at 0.5 run tiny -p 'Once upon a time' --ignore-eos -n -1 --seed 1 -t 1 --isa ref --exact --json
out_has '"stop":"cancelled"'

# a pass of 2000 tokens, which has no end but its own
ids=2
for i in $(seq 1 1999); do ids=$ids,$((i * 37 % 250 + 6)); done
slow=(--ids "$ids" -t 1 --isa ref --exact)
interrupt_at 0.5 run tiny "${slow[@]}" -ub 2000
interrupt_at 0.5 logits tiny "${slow[@]}" -ub 2000
interrupt_at 0.5 logits tiny "${slow[@]}" --all --naive
interrupt_at 1 bench tiny -p 2000 -n 0 -ub 2000 --isa ref --exact -t 1 -r 100

# a long text, which is an error once it is tokenised
interrupt_text run tiny --raw
interrupt_text run tiny

# what measures, and what checks
interrupt_at 0.2 doctor --measure
interrupt_at 0.2 bench tiny -p 2000 -n 0 -r 100 # its child measures

# A second Ctrl-C kills, whatever the command waits for: here for somebody to read what it says.
mkfifo full
exec 3<>full
dd if=/dev/zero of=full bs=4096 count=1000 oflag=nonblock 2>/dev/null || true
"$CARAT" run tiny hello --seed 1 -v >out 2>full &
pid=$!
armed $pid
sleep 1
kill -INT $pid
sleep 0.3
kill -0 $pid 2>/dev/null || die 'the first Ctrl-C ended what was to wait'
kill -INT $pid
within 20 $pid
exec 3>&-
[ "$code" = 130 ] || die "exit code $code after a second Ctrl-C"

# In front of a reader that does not read, the first one ends it.
exec 3<>full
dd if=/dev/zero of=full bs=4096 count=1000 oflag=nonblock 2>/dev/null || true
"$CARAT" run tiny hello --seed 1 >full 2>err &
pid=$!
armed $pid
sleep 1
kill -INT $pid
within 20 $pid
exec 3>&-
[ "$code" = 130 ] || die "exit code $code while nobody reads"
[ ! -s err ] || die 'a message about a write that was interrupted'
