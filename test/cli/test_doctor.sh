#!/usr/bin/env bash
# test_doctor.sh: the report is a block that can be pasted, says the same as --json, follows the affinity mask and the
# environment, and needs neither /proc nor /sys.
. "$CARAT_SOURCE/test/cli/common.bash"

# Nothing is written into the cache of whoever runs this. Measuring takes two seconds: where it is not the subject, it
# is left out or remembered.
export XDG_CACHE_HOME=$work/cache

expect 0 doctor
[ ! -s err ] || die 'there are messages'
[ "$(head -1 out)" = '```' ] || die 'the block does not begin'
[ "$(tail -1 out)" = '```' ] || die 'the block does not end'
[ "$(grep -c '`' out)" = 2 ] || die 'the block is broken'
for name in carat build system processor levels 'carat uses' threads online 'affinity mask' cpuset 'physical cores' \
    quota memory limit swap 'huge pages' 'page size' load hypervisor frequency 'at most' 'kept in' 'so at most' \
    cache advice; do
    out_has "^ *$name  *[^ ]"
done
out_has "^carat  *$("$CARAT" version | sed -n 's/^carat //p'), numerics [0-9]"
out_has "$(uname -r)"
cp out report
"$CARAT" show tiny >shown # what an engine takes is what the report says
grep -q "^  threads  *$(sed -n 's/^threads  *\([0-9]*\):.*/\1/p' report), " shown || die 'threads differ from show'
grep -q " $(sed -n 's/^  carat uses  *//p' report) kernels" shown || die 'kernels differ from show'

# the same facts as JSON, on one line
expect 0 doctor --json
[ "$(wc -l <out)" = 1 ] || die 'JSON is not one line'
for key in version numerics compiler build system libc processor levels isa threads decided_by online allowed \
    allowed_list cpuset cores quota memory total available limit huge_pages page swap now load limits measured_at \
    remembered read_gb_s gop_s speed_at_most cache directory exists writable disk disk_free advice; do
    out_has "\"$key\":"
done
out_has "\"threads\":{\"threads\":$(sed -n 's/^threads  *\([0-9]*\):.*/\1/p' report),"
out_has "\"isa\":\"$(sed -n 's/^  carat uses  *//p' report)\""

# one processor left: one thread, named, and a warning where the machine has more
first=$(taskset -pc $$ 2>/dev/null | sed 's/.*: //; s/[-,].*//') || first=
if [ -n "$first" ]; then
    taskset -c "$first" "$CARAT" doctor --measure off >out
    out_has '^threads  *1: '
    out_has "^  affinity mask  *1 ($first)"
    if grep -q '^  online  *[2-9]' out; then out_has '^advice .*may use 1 of'; fi
fi

# the cache directory is found as the standard says, and without measuring nothing is written there
export CARAT_ARG_MEASURE=off
env -u XDG_CACHE_HOME HOME="$work/home" "$CARAT" doctor >out
out_has "^cache  *$work/home/.cache/carat: can be made, "
[ ! -e home ] || die 'something was written'
XDG_CACHE_HOME=$work/xdg HOME=$work/home "$CARAT" doctor --json >out
out_has "\"directory\":\"$work/xdg/carat\",\"exists\":false,\"writable\":true"
mkdir -p xdg/carat
XDG_CACHE_HOME=$work/xdg "$CARAT" doctor >out
out_has "^cache  *$work/xdg/carat: exists, "
: >file
XDG_CACHE_HOME=$work/file "$CARAT" doctor >out
out_has '^cache .*: cannot be made'
XDG_CACHE_HOME=relative HOME=$work/home "$CARAT" doctor >out
out_has "^cache  *$work/home/.cache/carat"
for home in '' relative; do
    XDG_CACHE_HOME='' HOME=$home "$CARAT" doctor >out
    out_has '^cache  *none: '
done
env -i CARAT_ARG_MEASURE=off "$CARAT" doctor --json >out
out_has '"directory":null'
XDG_CACHE_HOME=/$(head -c 5000 /dev/zero | tr '\0' x) "$CARAT" doctor >out
out_has '^cache  *none: its path is too long'
XDG_CACHE_HOME=$'/no\n```\e[31m' "$CARAT" doctor >out
[ "$(grep -c '`' out)" = 2 ] || die 'a directory breaks the block'
out_has '^cache  */no?????\[31m/carat'
XDG_CACHE_HOME=$'/\xff' "$CARAT" doctor --json >out
out_has '"directory":"/'$'\xef\xbf\xbd''/carat"'

refuse 2 doctor tiny
refuse 2 doctor --temp 1
code=0
"$CARAT" doctor >/dev/full 2>err || code=$?
[ "$code" = 1 ] || die "a full disk gives $code"

[ -z "${CARAT_CFLAGS:-}" ] || exit 0 # sanitizers need /proc themselves, and no emulator

# without /proc and /sys: what only they know is unknown, the rest is there, and models run
if unshare -rm sh -c 'mount -t tmpfs none /proc && mount -t tmpfs none /sys' 2>/dev/null; then
    cat >bare <<'END'
mount -t tmpfs none /sys && mount -t tmpfs none /proc || exit 99
"$CARAT" doctor >out 2>err || exit 1
"$CARAT" run tiny 'Once upon' --seed 7 -n 8 >bare-run 2>err || exit 1
END
    CARAT=$CARAT unshare -rm sh bare || die 'it needs /proc or /sys'
    out_has '^threads  *[1-9]'
    out_has '^  online  *unknown'
    out_has '^  physical cores  *unknown'
    out_has '^  huge pages  *unknown'
    out_has '^memory .*available unknown'
    expect 0 run tiny 'Once upon' --seed 7 -n 8
    same bare-run out
fi

# a processor without AVX, emulated: the plain kernels, and a warning that says so
if [ "$(uname -m)" = x86_64 ] && command -v qemu-x86_64 >/dev/null; then
    qemu-x86_64 -cpu qemu64 "$CARAT" doctor >out 2>err || die 'it needs AVX'
    out_has '^  levels  *sse2  *has'
    out_has '^  *avx2+fma+f16c  *-'
    out_has '^  carat uses  *ref'
    out_has '^advice .*lacks AVX2'
fi
