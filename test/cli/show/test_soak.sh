#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_soak.sh: `doctor --soak` and `bench --self-check` compute the same answer on every processor that they
# may use and say that nothing differed. What they say when something does is cli/model/self_check's.
. "$CARAT_SOURCE/test/cli/common.bash"

expect 0 doctor --soak 0.1
grep -qE '^[0-9]+ runs on [0-9]+ processors? in [0-9.]+ s: every operation gave the same bits$' out || die "$(cat out)"
expect 0 doctor tiny --soak 0.05 --json
grep -qE '^\{"ok":true,"runs":[0-9]+,"processors":\[[0-9,]+\],"seconds":[0-9.e-]+,"wrong":\[\],"undecided":false\}$' out || die "$(cat out)"
expect 0 bench tiny --self-check -r 2 --isa ref
grep -q "runs on $(nproc) processor" out || die "$(cat out): not $(nproc) processors"
expect 0 bench tiny --self-check -r 1 -o json
out_has '"ok":true'
# it ends with its reader, long before its time
{ timeout 60 "$CARAT" doctor --soak 3000 2>err || echo $? >code; } | true
[ "$(cat code)" = 141 ] || die "exit code $(cat code) when the reader has gone, expected 141"
[ ! -s err ] || die "$(cat err)"
if command -v taskset >/dev/null; then
    taskset -c 0 "$CARAT" bench tiny --self-check -r 3 >out 2>err || die "$(cat err)"
    out_has '3 runs on 1 processor in'
fi
expect 0 convert tiny q4.gguf --type q4_0
expect 0 doctor q4.gguf --soak 0.05

# ---- what is refused ----

refuse 2 doctor --soak
refuse 2 doctor --soak 0
refuse 2 doctor --soak x
refuse 2 doctor --soak nan
refuse 2 doctor --soak 1 --measure on
err_has 'without --measure'
refuse 2 bench --self-check
for option in '-p 4' '-n 4' '-d 4' '-npl 2' '-t 1' '-ub 8' '-pg 4,4' '--draft-right 0.5' '--profile' '--plot p.svg' '--prompt x'; do
    # shellcheck disable=SC2086 # an option and its value
    refuse 2 bench tiny --self-check $option
    err_has "--self-check computes one answer by one thread, without ${option%% *}"
done
refuse 2 bench timeline tiny --self-check
refuse 2 bench lm-head tiny --self-check
refuse 2 bench tiny --self-check -o csv
err_has 'so -o must be md or json'
refuse 3 doctor nothing --soak 1
printf x >bad.gguf
refuse 4 doctor bad.gguf --soak 1
if [ -w /dev/full ]; then
    code=0
    "$CARAT" doctor --soak 0.05 >/dev/full 2>err || code=$?
    [ "$code" = 1 ] || die "/dev/full: exit code $code"
fi
echo ok
