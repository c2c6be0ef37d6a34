#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_shrink.sh: a model file that is cut short while it is mapped ends the command with one line and code 1,
# not with a bus error. The prompt is held back until the file is mapped and the command sleeps, waiting for
# it, so that the cut always falls between the two.
. "$CARAT_SOURCE/test/cli/common.bash"
[ -r /proc/self/maps ] || exit 77
[ "$(df --output=fstype . | tail -1)" != 9p ] || exit 77 # keeps mapped pages of a file that has shrunk

mkfifo pipe

# shrink SIZE ARGUMENTS...: starts the command on a copy of the model, cuts the mapped file $file to SIZE,
# sends the prompt.
shrink() {
    local size=$1 pid tries=0
    shift
    "$CARAT" "$@" <pipe >out 2>err &
    pid=$!
    exec 3>pipe
    until grep -q -F "$file" /proc/$pid/maps 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || die "$* has not mapped $file"
        kill -0 $pid 2>/dev/null || die "$* ended by itself"
        sleep 0.01
    done
    tries=0
    while [ $tries -lt 5 ]; do # in five looks on end: it has opened the model, and knows what to call it
        tries=$((tries + 1))
        grep -q '^State:.S' /proc/$pid/status 2>/dev/null || tries=0
        kill -0 $pid 2>/dev/null || die "$* ended by itself"
        sleep 0.01
    done
    truncate -s "$size" "$file"
    printf 'Once upon a time' >&3 2>/dev/null || true # it may have ended by now
    exec 3>&-
    code=0
    wait $pid || code=$?
    [ "$code" = 1 ] || die "$*: cut to $size: exit code $code"
    [ "$(wc -l <err)" = 1 ] || die "$*: cut to $size: not one line on stderr"
    err_has '^error: E_IO: '"$name"': the file was cut short'
}

trap '' PIPE
file=$(pwd -P)/model/model.safetensors
whole=$(stat -c %s "$tiny/model.safetensors")
for threads in 1 2; do
    for size in 0 $((whole / 2)) $(((whole - 1) / 4096 * 4096)); do
        rm -rf model
        mkdir model
        cp "$tiny"/* model/
        name=./model
        shrink $size run ./model --no-cache --seed 1 -n 4 -t $threads
        [ ! -s out ] || die 'there is output of a model that is gone'
    done
done

# the packed form in the cache is called by its own name
rm -rf model
mkdir model
cp "$tiny"/* model/
"$CARAT" run ./model hello -n 1 </dev/null >out 2>err || die 'does not run'
file=$(ls "$PWD"/cache/carat/*.carat)
whole=$(stat -c %s "$file")
name=$file
shrink $((whole / 2)) run ./model --seed 1 -n 4
