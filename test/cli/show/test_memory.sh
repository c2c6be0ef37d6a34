#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_memory.sh: what a context needs, to the page, and budgets: show --memory, --memory SIZE of the verbs
# that compute, and exit code 5 with what would fit. The library's part is test/engine/test_plan.c.
. "$CARAT_SOURCE/test/cli/common.bash"

number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" out; } # of the JSON in out

# ---- the plan ----
expect 0 show tiny
! grep -q 'memory by context' out || die "the table was not asked for"
out_has '^  sum  *[0-9.]* MB$'
expect 0 show tiny --memory -c 300
out_has '^memory for a context of 300, bf16 cache$'
out_has '^  cache  *[0-9.]* MB, [0-9]* bytes in [0-9]* pages$'
out_has '^memory by context$'
out_has '^  context  *bf16  *q8  *f32$'
[ "$(sed -n '/^memory by context/,/^computing/p' out | grep -c '^  [0-9]')" = 2 ] || die "not the rows 300 and 2048"

# parts and sum, as the library gives them
expect 0 show tiny --json --memory -c 300
all=$(sed -n 's/.*"bytes":\([0-9]*\),"contexts":.*/\1/p' out)
memory=$(sed -n 's/.*"memory":\({.*\)/\1/p' out)
weights=$(printf '%s' "$memory" | sed -n 's/.*"weight_bytes":\([0-9]*\).*/\1/p')
rest=$(($(number kv_bytes) + $(number work_bytes) + $(number stack_bytes)))
[ "$all" = $((weights + rest)) ] || die "the parts are $((weights + rest)), the sum says $all"
out_has "{\"context\":300,\"bf16\":$all,"
out_has '{"context":2048,"bf16":[0-9]*,"q8":[0-9]*,"f32":[0-9]*}\]'

# snapshots come on top of the cache, and one has a least size
expect 0 show tiny --memory --json
least=$(number snapshot_least)
[ "$least" -ge 1310720 ] || die "a snapshot takes $least bytes" # more where blocks have redzones
expect 0 show tiny --memory
out_has "^  - a snapshot  *[0-9.]* MB, $least bytes"
expect 0 show tiny --snapshots 3M --json -c 300
[ "$(number snapshot_bytes)" = "$least" ] || die "snapshots of a context of 300 take $(number snapshot_bytes)"
[ "$(number bytes)" -ge $((all + least)) ] || die "snapshots are not in the sum"
expect 0 show tiny --snapshots 3M --memory
out_has "^  - of snapshots  *[0-9.]* MB, $((2 * least)) bytes"
expect 2 show tiny --snapshots 1M
err_has "at least $least"

# ---- a budget: what show says is what the others do ----
expect 0 show tiny --memory "$all" --kv bf16
out_has '^memory for a context of [0-9]*, bf16 cache$'
expect 0 show tiny --memory=1G
out_has '^memory for a context of 2048, bf16 cache$'
expect 0 show --memory 1G tiny # the size, then the model
out_has '^memory for a context of 2048, bf16 cache$'
expect 0 show --memory tiny # no size
out_has '^memory for a context of 2048, bf16 cache$'

expect 0 show tiny --memory "$all" --json
chosen=$(sed -n 's/.*"memory":{"context":\([0-9]*\).*/\1/p' out)
[ "$chosen" -ge 300 ] || die "a budget for 300 positions gave $chosen"
expect 0 run tiny hello --memory "$all" -n 2 -v
err_has "^note: --memory leaves room for a context of $chosen"
expect 0 run tiny hello --memory 1G -n 2 --no-perf
[ ! -s err ] || die "a budget that changes nothing made a message"
expect 0 logits tiny --ids 2,5,9 --memory 1G --top 1
cp out plain
expect 0 logits tiny --ids 2,5,9 --top 1
same plain out
expect 0 bench tiny -p 8 -n 0 -r 1 --memory 1G

# show without a size, with the variables that the others obey
export CARAT_ARG_MEMORY=$all CARAT_ARG_THREADS=3
for size in '' "--memory"; do
    expect 0 show tiny $size --json
    shown=$(sed -n 's/.*"memory":{"context":\([0-9]*\).*"threads":3,.*/\1/p' out)
    expect 0 run tiny hello -n 2 -v
    err_has "^note: --memory leaves room for a context of $shown\( with a q8 cache\)\{0,1\}\$"
done
unset CARAT_ARG_MEMORY CARAT_ARG_THREADS

# a context or type that was given stays
refuse 5 run tiny hello -c 2048 --kv f32 --memory "$all"
err_has 'a context of 2048 needs .* f32 cache .* more than the .* of the budget; a context of [0-9]* fits, with a q8 cache one of '
refuse 5 run tiny hello --memory 1M
err_has 'not even the weights fit'
refuse 5 show tiny --memory 1M
refuse 5 logits tiny --ids 2 --memory 1M
refuse 5 bench tiny -p 8 -n 0 -r 1 --memory 1M

# ---- the table of layer inputs ----
fixture=$CARAT_SOURCE/test/fixtures/tiny4
# sum [OPTION]...: bytes of the plan
sum() {
    expect 0 show "$fixture" --memory "$@"
    sed -n 's/^  sum .* \([0-9]*\) bytes in .*/\1/p' out
}
on_disk=$(sum)
out_has '^  on the disk  *197 kB'
resident=$(sum --ple resident)
! grep -q 'on the disk' out && [ "$resident" -gt "$on_disk" ] || die 'the table is not in memory'
sum "$on_disk" >/dev/null
out_has '^  on the disk  *197 kB'
sum "$resident" >/dev/null
if grep -q 'on the disk' out; then die 'there is room, and the table is not in memory'; fi
sum "$resident" --ple disk >/dev/null
out_has '^  on the disk  *197 kB'

# ---- sizes ----
for size in 2x G 0 -1 1e9 2GG 2Gi3 ''; do
    refuse 2 run tiny hello --memory "$size"
    err_has 'option --memory'
done
for size in 1073741824 1048576K 1024M 1G 1g 1GiB 1GB 1.0G; do
    expect 0 run tiny hello --memory "$size" -n 1 --no-perf
done
expect 0 help show
out_has '--memory \[SIZE\]'
expect 0 help run
out_has '--memory SIZE'
