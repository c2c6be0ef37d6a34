#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_machine.sh: what `carat doctor` measures is remembered for this very machine; a file that is wrong,
# foreign or of another machine is as good as none and is replaced; a cache that cannot be written stops
# nothing; many may do it at once. A measurement takes two seconds: there are two in turn, the second of
# several processes at once.
. "$CARAT_SOURCE/test/cli/common.bash"

file=$work/cache/carat/machine.json

limits() { sed -n 's/.*"limits":\({[^{}]*{[^{}]*}[^{}]*}\).*/\1/p' out; }
has() { limits | grep -q -e "$1" || die "'$1' is not in the limits: $(limits)"; }
# Whether the file is taken shows without measuring.
recalled() { expect 0 doctor --measure off --json && [ -n "$(limits)" ]; }
taken() { recalled || die "not taken: $*"; }
ignored() {
    ! recalled || die "taken: $*"
    grep -q '"limits":null' out || die "$*: neither limits nor null"
}

# ---- the first measures, the second remembers ----

umask 0
ignored 'no file'
[ ! -e cache ] || die 'without measuring something was written'
expect 0 doctor --json
[ ! -s err ] || die 'there are messages'
has '"remembered":false'
has "\"file\":\"$file\",\"not_kept\":null"
for n in read_gb_s read_one_gb_s threads; do has "\"$n\":[1-9]"; done
limits >first
[ "$(stat -c %a:%h "$file")" = 600:1 ] || die "the file's mode is $(stat -c %a "$file")"
[ "$(stat -c %a cache)$(stat -c %a cache/carat)" = 700700 ] || die 'others may look into the directories'
[ "$(ls cache/carat)" = machine.json ] || die 'a temporary file is left'
cp "$file" good
before=$(stat -c %i-%y "$file")
for measure in auto off; do
    expect 0 doctor --json --measure $measure
    has '"remembered":true'
    limits | sed 's/"remembered":true/"remembered":false/' >again
    same first again
done
[ "$(stat -c %i-%y "$file")" = "$before" ] || die 'remembering writes'
expect 0 doctor
out_has '^limits  *measured 20.* UTC, remembered'
out_has "^  kept in  *$file\$"
CARAT_ARG_MEASURE=off expect 0 doctor
out_has ', remembered'

# what cannot be measured is said, and the rest of the report is there
if [ -z "${CARAT_CFLAGS:-}" ]; then # sanitizers take more memory than that
    (
        ulimit -v 200000
        expect 0 doctor --measure
    )
    out_has '^limits  *not measured: .*the system refuses'
    out_has '^cache '
    same good "$file"
fi

# ---- what the figures become ----

change() { # sed expression: the good file changed
    sed "$1" good >"$file"
    chmod 600 "$file"
    cmp -s good "$file" && die "$1 changes nothing"
    return 0
}
change 's/"read": [^,]*/"read": 1e10/; s/"read_one": [^,]*/"read_one": 9e9/; s/"int4": [^,]*/"int4": 2e11/
    s/"int8": [^,]*/"int8": 0/; s/"others": [^,]*/"others": 1e3/'
taken 'figures of a slow machine'
has '"read_gb_s":10.0,"read_one_gb_s":9.0,'
has '"int8":null,"int4":200.0}'
out_has '{"model":"Gemma 3 1B","type":"Q4_0","bytes":713430792,"prompt_ts":143.2[0-9]*,"generation_ts":14.0[0-9]*}'
out_has '{"model":"Gemma 3 270M","type":"Q8_0","bytes":284854312,"prompt_ts":null,"generation_ts":35.1[0-9]*}'
out_has '{"id":"disturbed","text":"others kept 1000'
change 's/"read": [^,]*/"read": 9e9/; s/"read_one": [^,]*/"read_one": 9e9/; s/"others": [^,]*/"others": -1/'
taken 'as fast with one thread'
out_has '"id":"slow_memory"'
if grep -q '"threads":{"threads":[2-9]' out; then out_has '"id":"scaling"'; fi
has '"others":null'

# ---- what is no such file ----

while IFS= read -r expression; do
    change "$expression"
    ignored "$expression"
done <<'END'
s/"cpu": "/&x/
s/"vendor": "/&x/
s/"family": [0-9]*/"family": -7/
s/"model": [0-9]*/"model": -7/
s/"stepping": [0-9]*/"stepping": -7/
s/"isa": "/&x/
s/"threads": /&1/
s/"online": /&1/
s/"memory_gib": /&1/
s/"huge_pages": "/&x/
s/"system": "/&x/
s/"build": "/&x/
s/"version": "/&x/
s/"numerics": /&1/
s/"numerics": [0-9]*/&, "more": 1/
s/"threads": \([0-9]*\)/"threads": \1.0/
s/"machine"/"engine"/
s/"read": [^,]*/"read": -1/
s/"read": [^,]*/"read": 0/
s/"read": [^,]*/"read": 1e300/
s/"read": [^,]*/"read": 1e999/
s/"read": [^,]*/"read": nan/
s/"read": [^,]*/"read": "1e10"/
s/"read": [^,]*,/&"read": 1e10,/
s/"read_one": [^,]*/"read_one": null/
s/"others": [^,]*/"others": -2/
s/"int8": [^,]*/"int8": -1/
s/"int8": [^,]*,//
s/"operations": {/"operations": [/
s/"measured_at": "20/"measured_at": "99/
s/"measured_at": "20/"measured_at": "2\\u001b/
s/"measured_at": "[^"]*/"measured_at": "/
s/"measured_at": "[^"]*/&Z/
s/"measured_at": "[^"]*"/"measured_at": 7/
s/^}$/},/
s/"/'/g
1d
$d
s/.*//
END
for damage in ':' 'head -c 100 good' 'cat good good' 'head -c 700 /dev/zero' \
    'cat good; head -c 20000 /dev/zero | tr "\0" " "' 'head -c 9000 /dev/zero | tr "\0" "["'; do
    eval "$damage" >"$file"
    ignored "$damage"
done
restore() { rm -rf "$file" && cp good "$file" && chmod "${1:-600}" "$file"; }
restore
taken 'the good one'
restore 622
ignored 'a file that others may write'
rm -f "$file" && ln -s "$work/good" "$file"
ignored 'a link'
rm -f "$file" && mkfifo "$file"
ignored 'a pipe' # and does not wait for a writer
rm -f "$file" && mkdir "$file"
ignored 'a directory'
restore
chmod 775 cache/carat
ignored 'a directory that others may write to'
chmod 700 cache/carat
taken 'the good one again'
root=
[ "$(id -u)" = 0 ] && root=1
if [ "$root" ]; then
    restore
    chown 12345 "$file"
    ignored "somebody else's file"
    mkdir -p foreign/carat
    cp good foreign/carat/machine.json
    chown -R 12345 foreign/carat
    XDG_CACHE_HOME=$work/foreign ignored "somebody else's directory"
    out_has '"writable":false'
    out_has '"id":"cache","text":"[^"]*belongs to another user"'
fi

# ---- measured again, by three at once: two into one cache with somebody's or a broken file, one that may not
# keep it ----

# With one thread each, where that can be had: threads that wait for each other are slow among so many.
first=$(taskset -pc $$ 2>/dev/null | sed 's/.*: //; s/[-,].*//') || first=
if [ -n "$first" ]; then taskset -pc "$first" $$ >/dev/null; fi
: >plain
closed=plain why='Not a directory'
if [ "$root" ]; then
    closed=foreign why='it belongs to another user'
else
    echo broken >"$file"
fi
"$CARAT" doctor --json >one 2>err-one &
"$CARAT" doctor --measure --json >two 2>err-two &
XDG_CACHE_HOME=$work/$closed "$CARAT" doctor --json >out 2>err || die 'a cache that cannot be written stops it'
has '"file":null,"not_kept":"'"$work/$closed/carat: $why\""
has '"read_gb_s":[1-9]'
wait %1 || die 'the first of two at once fails'
wait %2 || die 'the second of two at once fails'
cat err-* >>err
[ ! -s err ] || die 'there are messages'
for each in one two; do
    cp $each out
    has '"remembered":false'
    has "\"file\":\"$file\""
done
[ "$(ls cache/carat)" = machine.json ] || die 'a temporary file is left'
[ "$(stat -c %a:%u "$file")" = "600:$(id -u)" ] || die 'the file of another was not replaced'
taken 'what two wrote at once'
has '"remembered":true'
if [ "$root" ]; then
    same good foreign/carat/machine.json
    [ "$(ls foreign/carat)" = machine.json ] || die "something was written into somebody else's directory"
fi
