#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_doctor.sh: the report is a block that can be pasted, says the same as --json, follows the affinity mask
# and the environment, and needs neither /proc nor /sys.
. "$CARAT_SOURCE/test/cli/common.bash"

# Measuring takes two seconds: where it is not the subject, it is left out or remembered.

expect 0 doctor
[ ! -s err ] || die 'there are messages'
[ "$(head -1 out)" = '```' ] || die 'the block does not begin'
[ "$(tail -1 out)" = '```' ] || die 'the block does not end'
[ "$(grep -c '`' out)" = 2 ] || die 'the block is broken'
for name in carat build system processor levels 'carat uses' threads online 'affinity mask' cpuset 'physical cores' \
    quota memory limit swap 'huge pages' 'page size' load stolen frequency variables limits 'kept in' arithmetic \
    'so at most' 'why not more' cache advice; do
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

# variables that change what carat does are named
CARAT_ARG_THREADS=251 OMP_NUM_THREADS=$'3\n`' CARAT_ARG_MEASURE=off "$CARAT" doctor >out
out_has '^variables .*CARAT_ARG_THREADS=251'
out_has '^variables .*OMP_NUM_THREADS=3??\($\| \)'
out_has '^advice  *CARAT_ARG_THREADS is 251'
out_has '^advice  *OMP_NUM_THREADS '

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
out_has "^cache  *$work/xdg/carat: 0 models, 0 bytes of 4.29 GB, [0-9.]* [GT]B ([0-9]* %) of its disk free\$"
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

# what lies in the cache is counted
counts() { # models, stale, gone, useless, unfinished
    expect 0 doctor --json --cache-size 3G
    out_has "\"cap\":3221225472,\"models\":$1,\"bytes\":[0-9]*,\"stale\":$2,\"gone\":$3,\"useless\":$4,\"unfinished\":$5,"
}
has_advice() { grep -o '"id":"[a-z_]*"' "$1" | tr '\n' ' '; }
for i in 1 2 3 4; do
    cp -r "$tiny" model$i
    expect 0 pack model$i
done
counts 4 0 0 0 0
touch model1/model.safetensors
rm -r model2
packed=$("$CARAT" cache list | sed -n 's/.*  *\([0-9a-f]*\.carat\)  .*model3$/\1/p')
echo damaged >"cache/carat/$packed"
counts 4 1 1 1 0
head -c 5000 /dev/zero >cache/carat/0123456789abcdef.part
head -c 5000 /dev/zero >cache/carat/abcdef.part
ln -s abcdef.part cache/carat/link.part
mkfifo cache/carat/pipe.part
(
    flock -x 9 # somebody writes it
    counts 4 1 1 1 1
) 9<>cache/carat/abcdef.part
has_advice out | grep -q '"cache_unfinished"' || die 'no advice about what was left behind'
has_advice out | grep -q '"cache_useless"' || die 'no advice about what is of no use'
expect 0 doctor
out_has '^  of no use  *1 of changed models, 1 whose models are gone, 1 damaged or of another version, 2 unfinished$'
out_has "^cache  *$work/cache/carat: 4 models, [0-9.]* MB of 4.29 GB, "
chmod 777 cache/carat
counts 0 0 0 0 0
has_advice out | grep -q '"cache"' || die 'no advice about a cache that all may write to'
rm -r cache

refuse 2 doctor tiny tiny
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

# A made-up machine on which everything is wrong, then one on which nothing is: each fact has its advice, and
# no other.
tell() { # file, text: below made-up/
    mkdir -p "made-up/$(dirname "$1")"
    printf '%s\n' "$2" >"made-up/$1"
}
cpu=sys/devices/system/cpu
sick() {
    tell proc/self/cgroup 0::/
    tell sys/fs/cgroup/cpu.max '50000 100000'
    tell sys/fs/cgroup/memory.max 536870912
    tell sys/kernel/mm/transparent_hugepage/enabled 'always madvise [never]'
    tell $cpu/online 0-4095
    tell $cpu/cpufreq/boost 0
    for name in governor:powersave driver:acpi-cpufreq max_freq:1500000; do
        tell "$cpu/cpu$first/cpufreq/scaling_${name%:*}" "${name#*:}"
    done
    tell "$cpu/cpu$first/cpufreq/cpuinfo_max_freq" 3000000
    tell proc/pressure/cpu $'some avg10=51.25 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0'
    tell proc/pressure/memory $'some avg10=0.00 avg60=7.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0'
    tell proc/loadavg '9.00 8.00 7.00 1/100 1000'
    tell proc/stat 'cpu  500 100 200 9000 10 40 60 100 0 0'
    tell proc/meminfo $'MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\nSwapTotal: 4194304 kB\nSwapFree: 1048576 kB'
}
well() {
    rm -r made-up/sys/fs
    tell sys/kernel/mm/transparent_hugepage/enabled '[always] madvise never'
    tell $cpu/online "$(sed -n 's/.*"allowed_list":"\([^"]*\)".*/\1/p' out)"
    tell $cpu/cpufreq/boost 1
    tell "$cpu/cpu$first/cpufreq/scaling_driver" intel_pstate # its powersave is another
    tell "$cpu/cpu$first/cpufreq/scaling_max_freq" 2900000
    tell proc/pressure/cpu 'some avg10=9.00 avg60=99.00 avg300=99.00 total=1'
    tell proc/pressure/memory 'some avg10=99.00 avg60=7.00 avg300=99.00 total=1' # with most memory free
    tell proc/stat 'cpu  500 100 200 9000 10 40 60 10 0 0'
    tell proc/meminfo $'MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\nSwapTotal: 4194304 kB\nSwapFree: 4100000 kB'
}
cat >made-up.sh <<'END'
mount -t tmpfs none /sys && mount -t tmpfs none /proc && mount -t tmpfs -o size=1m none "$XDG_CACHE_HOME" &&
    cp -r made-up/sys made-up/proc / && mkdir "$XDG_CACHE_HOME/carat" || exit 99
[ -z "${FULL:-}" ] || head -c 900000 /dev/zero >"$XDG_CACHE_HOME/full"
[ -z "${FULL:-}" ] || mount -o remount,ro "$XDG_CACHE_HOME" || exit 99
"$CARAT" doctor --json >out && "$CARAT" doctor >text || exit 1
[ -z "${FULL:-}" ] || mount -o remount,rw "$XDG_CACHE_HOME" || exit 99
"$CARAT" doctor --json >out-disk || exit 1
END
expect 0 doctor --json
if [ -n "$first" ] && [ "$(uname -m)" = x86_64 ] && unshare -rm true 2>/dev/null; then
    mkdir -p "$XDG_CACHE_HOME"
    sick
    FULL=1 CARAT_ARG_MEASURE=on CARAT=$CARAT unshare -rm sh made-up.sh || die "a machine on which everything is wrong: $?"
    for id in quota affinity governor frequency boost busy stolen memory huge_pages swap memory_waiting cache; do
        has_advice out | grep -q "\"$id\"" || die "no advice about $id: $(has_advice out)"
    done
    has_advice out-disk | grep -q '"disk"' || die "no advice about the disk"
    cp text out
    out_has '^threads  *1: the CPU quota, rounded up'
    out_has '^load  *51.2 % of the last ten seconds'
    out_has '^  stolen  *10.0 % of'
    out_has '^  frequency  *powersave (acpi-cpufreq), up to 1.50 of 3.00 GHz, no boost'
    out_has '^  swap  *3.22 GB of 4.29 GB used'
    out_has '^limits  *not measured: it takes up to 1.07 GB of memory'
    out_has '^cache .*: exists, not writable, 0 models, 0 bytes of 4.29 GB, .*([0-9]* %) of its disk free'
    out_has '^advice .* the CPU quota grants 0.5 of '
    out_has '^advice .*may use [0-9]* of 4096 processors'
    expect 0 doctor --json
    well
    CARAT=$CARAT unshare -rm sh made-up.sh || die "a machine on which nothing is wrong: $?"
    [ -z "$(has_advice out | sed 's/"id":"kernels_[a-z]*" //g; s/"id":"build" //')" ] ||
        die "advice where nothing is wrong: $(has_advice out)"
    tell proc/pressure/cpu nonsense # and without a word about waiting the load decides
    CARAT=$CARAT unshare -rm sh made-up.sh || die 'a machine without pressure'
    has_advice out | grep -q '"busy"' || die 'no advice about load'
fi

# a processor without AVX, emulated: the plain kernels, and a warning that says so
if [ "$(uname -m)" = x86_64 ] && command -v qemu-x86_64 >/dev/null; then
    qemu-x86_64 -cpu qemu64 "$CARAT" doctor >out 2>err || die 'it needs AVX'
    out_has '^  levels  *sse2  *has'
    out_has '^  *avx2+fma+f16c  *-'
    out_has '^  carat uses  *ref'
    out_has '^  why not more  *the processor lacks avx, avx2+fma+f16c, .* and amx-tile+int8+bf16$'
    ! grep -q 'does not permit' out || die 'what has no kernels is called forbidden'
    out_has '^advice .*lacks AVX2'
    # and one whose system does not save the registers of AVX
    qemu-x86_64 -cpu Haswell,-xsave "$CARAT" doctor >out 2>err || die 'it needs AVX to be permitted'
    out_has '^  *avx2+fma+f16c  *has, but the system does not permit it'
    out_has '^  why not more .*; the system does not permit avx and avx2+fma+f16c$'
    out_has '^advice  *the processor has avx and avx2+fma+f16c, which the system'
fi

# keys of config.json that do not count are told, with their class; one of a release to come as such
mkdir forms
cp "$CARAT_SOURCE"/test/data/vectors/models/gemma2-bf16/* forms/
chmod u+w forms/*
sed -i 's/{/{"sliding_window_pattern": 3, "key_of_later": [1], /' forms/config.json
expect 0 doctor forms
out_has '^config.json  *sliding_window_pattern does not count in a Gemma2Config, as in transformers$'
out_has '^  *key_of_later is in no class of transformers that carat knows: it is not read$'
expect 0 doctor --json forms
out_has '"config_unread":\[{"key":"sliding_window_pattern","class":"Gemma2Config","known":true},{"key":"key_of_later",'
expect 0 doctor --json "$CARAT_SOURCE"/test/data/vectors/models/gemma2-bf16
out_has '"config_unread":\[\]'
