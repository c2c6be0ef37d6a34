#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_progress.sh: the bar of long work: rate and remaining time on a terminal, wiped at the end; nothing
# elsewhere.
. "$CARAT_SOURCE/test/cli/common.bash"
command -v script >/dev/null || exit 77

ids=2
for i in $(seq 1 319); do ids=$ids,$((i * 37 % 250 + 6)); done
# every position anew, by the slowest kernels: long enough for a bar on any machine
slow=(logits tiny --ids "$ids" --naive --exact --isa ref -t 1 --top 1)
timeout 100 script -qec "$CARAT ${slow[*]}" /dev/null </dev/null >out || die 'the command failed on a terminal'
tr '\r' '\n' <out >lines
grep -q '^evaluating \[#* *\] *[0-9]* %  [0-9.]* tok/s  [0-9]* s left' lines || die "no bar: $(head -c 300 lines)"
tail -n 2 lines | grep -q 's left' && die 'the bar is left standing'
expect 0 "${slow[@]}"
grep -q 's left' err && die 'a bar where there is no terminal'
exit 0
