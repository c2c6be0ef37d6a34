#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_first_user_cancel.sh: Ctrl-C while something takes long, and too little memory, as somebody who comes
# for the first time meets them. Every place where a call stops is test_interrupt.sh's and test_cancel.c's.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/interrupt.bash"

# 18: a long text is not tokenised to its end
interrupt_text run tiny --raw

# 18: between two layers of a prompt that is one pass
ids=2
for i in $(seq 1 1999); do ids=$ids,$((i * 37 % 250 + 6)); done
interrupt_at 0.5 run tiny --ids "$ids" -ub 2000 --isa ref --exact -t 1

# 18: a benchmark measures the machine first, in a process of its own
interrupt_at 0.1 bench tiny -p 16 -n 0 -r 1000

# 11: a line that memory does not hold
head -c 16777216 /dev/zero | tr '\0' 'a' >long
(ulimit -v 60000 && "$CARAT" version) >/dev/null 2>&1 || exit 0 # sanitizers need more
{ printf '{"text": "' && cat long && printf '"}\n'; } >lines
for limit in 40000 50000 60000 80000 100000; do
    code=0
    (ulimit -v $limit && exec "$CARAT" tokenize tiny --jsonl lines) >out 2>err || code=$?
    [ $code = 5 ] || die "$limit KiB: code $code"
    err_has '^error: E_MEMORY: '
done
