#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_prompt_cache.sh: run --prompt-cache: the next run evaluates only what is new, the file is the same
# whoever writes it, and one that is of no use is a note. The library's part is
# test/engine/test_timeline_file.c.
. "$CARAT_SOURCE/test/cli/common.bash"

evaluated() { # how many tokens of the prompt
    sed -n 's/.*"prompt_n":\([0-9]*\).*/\1/p' out
}
prompt="Turn on the kitchen lights"

expect 0 run tiny "$prompt" --json --seed 1
all=$(evaluated)
sed 's/"timings".*//' out >plain
for file in a a; do
    expect 0 run tiny "$prompt" --json --seed 1 --prompt-cache $file
    sed 's/"timings".*//' out >kept
    same plain kept
    [ ! -s err ] || die "a message"
done
[ "$(evaluated)" = 0 ] || die "$(evaluated) tokens were evaluated again"

# the same bytes from other threads, chunks, contexts and kernels
expect 0 run tiny "$prompt" -n 0 -t 1 --chunk 7 -c 300 --isa ref --prompt-cache b
same a b
expect 0 run tiny "$prompt" --prompt-cache=b --prompt-cache-ro -n 1
same a b
expect 0 run tiny "$prompt" --prompt-cache b --prompt-cache-all
! cmp -s a b || die "the answer is not kept"
expect 0 run tiny "$prompt" --json --seed 1 --prompt-cache b --prompt-cache-ro
sed 's/"timings".*//' out >kept
same plain kept

# of no use
cp a damaged
printf x | dd of=damaged bs=1 seek=200 conv=notrunc 2>/dev/null
for other in "--kv q8" "--exact" "--max-layers 1"; do
    expect 0 run tiny "$prompt" -n 1 $other --prompt-cache a --prompt-cache-ro
    err_has '^note: a: is a timeline .*; the prompt is evaluated$'
done
expect 0 run tiny "$prompt" --json --prompt-cache damaged --prompt-cache-ro
err_has '^note: damaged: .* damaged; the prompt is evaluated$'
[ "$(evaluated)" = "$all" ] || die "$(evaluated) of $all tokens were evaluated"
expect 0 run tiny "$prompt" -n 1 --prompt-cache damaged # and is made anew
same a damaged

# what cannot be written: the answer comes all the same
mkdir directory
expect 1 run tiny "$prompt" --prompt-cache directory
out_has 'kitchen lights are now on'
err_has 'directory is not a regular file'

# a full disk: the answer comes, the older file stands, and nothing else is left
unshare -rm mount -t tmpfs none /mnt 2>/dev/null || exit 0 # cannot be looked at here
mkdir disk
export -f expect die err_has out_has same
export CARAT work
unshare -rm bash -euc '
    mount -t tmpfs -o size=64k none disk
    expect 0 run tiny "Turn on the kitchen lights" -n 0 --prompt-cache disk/file
    cp disk/file older
    expect 1 run tiny "$(printf "Turn on the lights. %.0s" {1..60})" --prompt-cache disk/file -n 3
    err_has "disk/file.*there is no room for [0-9]* bytes: No space left on device"
    same disk/file older
    [ "$(ls disk)" = file ] || die "something is left: $(ls disk)"'
