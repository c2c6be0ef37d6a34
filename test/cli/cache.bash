# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # those that source it use its variables
# cache.bash: what the tests of the cache share; each sources it instead of common.bash.

# A fifth of the disk stays free, or nothing is packed: looks for a place that has more. In memory nobody
# waits for a disk.
for TMPDIR in /dev/shm "${TMPDIR:-/tmp}" none; do
    df -P "$TMPDIR" 2>/dev/null | awk 'NR == 2 { exit !($4 > 0.21 * $2 && $4 > 200000) }' && break
done
[ "$TMPDIR" != none ] || exit 77
export TMPDIR
. "$CARAT_SOURCE/test/cli/common.bash"
cache=$XDG_CACHE_HOME/carat

copy_model() {
    rm -rf "$1"
    cp -r "$tiny" "$1"
    chmod -R u+w "$1"
}

lines() { [ "$(wc -l <err)" = "$1" ] || die "$2: $(wc -l <err) lines on stderr, expected $1"; }
files() { find "$cache" -type f | wc -l; }
packed() { find "$cache" -name '*.carat' | wc -l; }
no_parts() { [ -z "$(find "$XDG_CACHE_HOME" -name '*.part*')" ] || die "$1: a part of a file is left"; }
made='^note: packed into the cache, [0-9.]* MB: '"$cache"'/[0-9a-f]*\.carat$'

# generate LINES MODEL OPTIONS...: gives what is in the file `wanted`, with so many lines on stderr.
generate() {
    local n=$1 model=$2
    shift 2
    expect 0 run "$model" 'Once upon a time' -n 6 --temp 0 --no-perf "$@"
    same out wanted
    lines "$n" "run $model $*"
}
