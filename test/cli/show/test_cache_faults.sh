#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_cache_faults.sh: the cache when the disk has no room or is not to be written, when the command is
# killed or interrupted at random, and when somebody clears it meanwhile. Faults at chosen moments are
# test/checkpoint/test_cache_faults.c's.
. "$CARAT_SOURCE/test/cli/cache.bash"

copy_model m
expect 0 run tiny 'Once upon a time' -n 6 --temp 0 --no-perf
cp out wanted

# ---- ended at any moment ----

# end SIGNAL DELAY: starts a run, ends it after so many thousandths of a second; its exit code is in $code.
end() {
    "$CARAT" run m 'Once upon a time' -n 6 --temp 0 --no-perf >/dev/null 2>&1 &
    local pid=$!
    sleep "0.0$(printf %02d "$2")"
    { kill "-$1" $pid 2>/dev/null && code=0 || code=0; } # it may have ended by now
    wait $pid 2>/dev/null || code=$?
}
RANDOM=7
for i in $(seq 40); do
    [ $((i % 3)) = 0 ] || rm -rf "$cache" # every third finds something
    [ $((i % 6)) != 0 ] || for f in "$cache"/*.carat; do printf x >>"$f"; done
    end KILL $((RANDOM % 40)) 2>/dev/null
    expect 0 run m 'Once upon a time' -n 6 --temp 0 --no-perf
    same out wanted
    [ "$(wc -l <err)" -le 1 ] || die 'more than one line after a kill'
    [ "$(files)" = 2 ] || die "after a kill there is $(ls -l "$cache")"
    generate 0 m
done
for i in $(seq 20); do
    rm -rf "$cache"
    end INT $((RANDOM % 40)) 2>/dev/null
    [ "$code" = 130 ] || [ "$code" = 0 ] || [ "$code" = 2 ] || die "interrupted it ended with code $code"
    [ ! -e "$cache" ] || no_parts 'an interrupt'
done

# ---- cleared and removed while in use ----

rm -rf "$cache"
generate 1 m
mkfifo pipe
for verb in 'cache clear' 'cache prune --cache-size 1' none; do
    "$CARAT" run m -n 6 --temp 0 --no-perf <pipe >out 2>err &
    pid=$!
    exec 3>pipe
    until grep -q -F "$cache" /proc/$pid/maps 2>/dev/null; do
        kill -0 $pid 2>/dev/null || die 'it ended by itself'
        sleep 0.01
    done
    if [ "$verb" = none ]; then rm -rf "$cache"; else "$CARAT" $verb >/dev/null; fi
    printf 'Once upon a time' >&3
    exec 3>&-
    wait $pid || die "with $verb it ended with code $?"
    same out wanted
    generate 1 m
done

# ---- files may not be that large ----

rm -rf "$cache"
(ulimit -f 1000 && generate 1 m && err_has 'not kept packed: .*File too large') || die 'a limit on files ended it'
no_parts 'a limit on files'
generate 1 m

# ---- disks ----

unshare -rm mount -t tmpfs none /mnt 2>/dev/null || exit 0 # cannot be looked at here
export -f generate expect same lines die files packed no_parts err_has copy_model
export CARAT cache tiny XDG_CACHE_HOME

# on_disk SIZE COMMANDS: with the cache on a disk of that size.
on_disk() {
    rm -rf "$XDG_CACHE_HOME"
    mkdir "$XDG_CACHE_HOME"
    unshare -rm bash -euc "mount -t tmpfs -o size=$1,mode=700 none '$XDG_CACHE_HOME'; $2" || exit 1
}
free='df --output=size,avail "$XDG_CACHE_HOME" | awk "NR == 2 { exit !(\$2 >= 0.2 * \$1) }" || die "less than a fifth of the disk is free"'

on_disk 6m '
    generate 1 m
    err_has "not kept packed: its disk is nearly full"
    [ "$(files)" = 0 ] || die "something is left"'
on_disk 24m '
    for i in 1 2 3 4; do
        cp -r m m$i
        generate 1 m$i
        err_has "packed into"
        '"$free"'
    done
    generate 0 m4
    generate 0 m2
    generate 1 m1 # left for m4
    generate 1 m3 # and this for m1
    [ "$(packed)" = 3 ] || die "not three of them"
    '"$free"'
    head -c 5m /dev/zero >"$XDG_CACHE_HOME/other" # somebody else wants the disk, too
    generate 0 m3
    touch m3/config.json
    generate 1 m3 # without the others
    [ "$(packed)" = 2 ] || die "not two of them"
    '"$free"'
    "$CARAT" cache prune --cache-size 6M >/dev/null
    head -c 10m /dev/zero >>"$XDG_CACHE_HOME/other"
    generate 0 m3
    generate 1 m4
    err_has "its disk is nearly full"
    generate 0 m3'
on_disk 24m '
    generate 1 m
    mount -o remount,ro none "$XDG_CACHE_HOME"
    generate 0 m
    cp -r m other
    generate 1 other
    err_has "not kept packed, because the cache cannot be written: "
    mount -o remount,rw none "$XDG_CACHE_HOME"
    rm "$cache"/*.used
    mount -o remount,ro none "$XDG_CACHE_HOME"
    generate 0 m
    mount -o remount,rw none "$XDG_CACHE_HOME"
    printf x >>"$(ls "$cache"/*.carat)"
    mount -o remount,ro none "$XDG_CACHE_HOME"
    generate 1 m
    rm -rf other'
on_disk 24m '
    mount -o remount,ro none "$XDG_CACHE_HOME"
    generate 1 m
    err_has "the cache is not used, because it cannot be made: "'
