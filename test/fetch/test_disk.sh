#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_disk.sh: nothing that happens to the program or the disk damages what is there: kills at random
# moments, a disk that is full at any write, locks that do nothing, a cache without links or that cannot be
# written, files that somebody else removes or left, a folder that leads elsewhere. KILLS says how many kills
# (default 40).
. "${CARAT_SOURCE:?}/test/cli/common.bash"
. "$CARAT_SOURCE/test/fetch/fetch.bash"
command -v openssl >/dev/null || { echo 'there is no openssl'; exit 77; }
faulty=$CARAT_BUILD/test/faulty_disk.so
[ -z "${CARAT_CFLAGS:-}" ] || faulty= # a sanitizer has to come first

# ---- killed ----
make_big 30000001
serve link 40000000
fresh
for ((i = 0; i < ${KILLS:-40}; i++)); do
    plan >plan
    "$CARAT_BUILD/carat-fetch" <plan >out 2>err &
    pid=$!
    sleep "0.$(printf %03d $((RANDOM % 400)))"
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    if [ -e "$folder/snapshots/$commit/m.gguf" ]; then
        whole || die "kill $i: the file is damaged"
        fresh
    elif [ -e "$folder/blobs/$big_hash" ]; then
        cmp -s "$folder/blobs/$big_hash" "$big" || die "kill $i: the blob is damaged"
    else
        nothing "kill $i"
    fi
done
# what a kill costs at most: pieces that ran ahead
fresh
serve link 40000000
plan >plan
"$CARAT_BUILD/carat-fetch" <plan >out 2>err &
pid=$!
until [ -s "$(part)" ] && [ "$(wc -c <"$(part)")" -gt 8000000 ]; do sleep 0.01; done
kill -9 $pid
wait $pid 2>/dev/null || true
kept=$(wc -c <"$(part)")
serve
get 0
whole || die 'what was taken up differs'
[ "$(sent)" -le $((big_bytes - kept)) ] || die "more than what was missing came: $(sent) of $((big_bytes - kept))"

# ---- an old program's half, and one of something else ----
fresh
mkdir -p "$folder/blobs"
head -c 9000000 "$big" >"$folder/blobs/$big_hash.incomplete"
head -c 5000 "$big" >"$folder/blobs/$big_hash.0123abcd.incomplete"
serve
get 0
whole || die 'an old half: the file differs'
[ "$(sent)" = $((big_bytes - 9000000)) ] || die 'an old half was not taken up'
[ ! -e "$folder/blobs/$big_hash.incomplete" ] && [ -e "$folder/blobs/$big_hash.0123abcd.incomplete" ] || die 'halves of other programs'
# a blob that is a link into the store that repositories share is there
fresh
mkdir -p "$folder/blobs" "$hub/blobs/${big_hash:0:2}"
cp "$big" "$hub/blobs/${big_hash:0:2}/$big_hash"
ln -s "../../blobs/${big_hash:0:2}/$big_hash" "$folder/blobs/$big_hash"
serve
get 0
whole || die 'a shared blob: the file differs'
[ "$(sent)" = 0 ] && [ -L "$folder/blobs/$big_hash" ] || die 'a shared blob was fetched'

# ---- modes as umask says ----
fresh
(umask 027 && get 0)
[ "$(stat -L -c %a "$folder/snapshots/$commit/m.gguf")" = 640 ] && [ "$(stat -c %a "$folder/blobs")" = 750 ] || die 'modes'

# ---- somebody removes what is on its way ----
fresh
serve link 40000000
plan >plan
"$CARAT_BUILD/carat-fetch" <plan >out 2>err &
pid=$!
until [ -s "$(part)" ]; do sleep 0.01; done
rm "$(part)"
wait $pid || die "a part that was removed: $(cat out)"
whole || die 'a part that was removed: the file differs'

# ---- several at once ----
fresh
serve
plan >plan
for i in 1 2 3 4 5 6 7 8; do "$CARAT_BUILD/carat-fetch" <plan >out-$i 2>&1 & pids[i]=$!; done
for i in 1 2 3 4 5 6 7 8; do wait ${pids[i]} || die "process $i: $(cat out-$i)"; done
whole || die 'eight processes: the file differs'
[ "$(sent)" = "$big_bytes" ] || die "eight processes: $(sent) bytes were sent"
[ "$(find "$folder/blobs" -type f | wc -l)" = 1 ] || die 'eight processes: something is left'

# ---- only below the folders that are named ----
fresh
mkdir -p "$folder" elsewhere
ln -s "$work/elsewhere" "$folder/blobs"
# the version of Landlock that the kernel has; 2 is the first that allows renames
version=$(python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint(1)))' || echo 0)
if "$CARAT_BUILD/carat-fetch" <plan >out 2>&1; then
    [ "$version" -lt 2 ] || die 'Landlock is there, and something was written elsewhere'
    echo 'there is no Landlock here'
else
    grep -q 'cannot be opened: Permission denied' out || die "$(cat out)"
    [ -z "$(ls elsewhere)" ] || die 'something was written elsewhere'
fi
rm -r elsewhere
# the token: neither in the environment nor in the arguments of the program
fresh
serve silent
HF_TOKEN=hf_verysecret "$CARAT" pull u/big >out 2>err &
pull=$!
# one that has only asked for the list of files ends by itself, and another one begins; each confines itself
core=
for ((i = 0; i < 500; i++)); do
    if fetch=$(pgrep -P $pull carat-fetch) && cat /proc/$fetch/environ /proc/$fetch/cmdline >seen 2>/dev/null; then
        ! grep -aq verysecret seen || die 'the token can be seen'
    fi
    core=$(awk '/Max core/ {print $5}' /proc/"$fetch"/limits 2>/dev/null) || true
    [ "$core" != 0 ] || break
    sleep 0.01
done
[ "$core" = 0 ] || die 'cores have the token'
kill -INT $pull
wait $pull || true
! pgrep -P $pull >/dev/null || die 'a process is left'

[ -n "$faulty" ] && [ -e "$faulty" ] || exit 0
# ---- a full disk, at every write ----
make_big 1500000
fresh
serve
for ((n = 1; ; n++)); do
    code=0
    plan '"jobs": 2' | LD_PRELOAD=$faulty FAULTY_WRITE=$n "$CARAT_BUILD/carat-fetch" >out 2>err || code=$?
    [ $code != 0 ] || break
    [ $code = 1 ] || die "write $n fails: exit code $code"
    error_has 'No space left on device'
    [ ! -e "$folder/refs/main" ] || die "write $n fails: the branch has a commit"
    [ -e "$folder/blobs/$big_hash" ] || nothing "write $n"
    [ ! -e "$folder/snapshots/$commit/m.gguf" ] || whole || die "write $n fails: a link leads to what is damaged"
    [ $((n % 3)) = 0 ] || rm -rf "$hub"
    [ $n -lt 300 ] || die 'the disk is always full'
done
[ $n -gt 3 ] && whole || die "only $n writes, or the file differs"

# ---- locks that do nothing ----
fresh
serve
plan >plan
LD_PRELOAD=$faulty FAULTY_FLOCK=1 FAULTY_RENAME=.incomplete "$CARAT_BUILD/carat-fetch" <plan >out 2>&1 ||
    die "another has given the file its name: $(cat out)"
whole || die 'another has given the file its name: it differs'
make_big 9000001
fresh
serve
plan | sed 's/"patience": 1/"patience": 60/' >plan # eight on a busy machine: none gives a connection up
for i in 1 2 3 4 5 6 7 8; do LD_PRELOAD=$faulty FAULTY_FLOCK=1 "$CARAT_BUILD/carat-fetch" <plan >out-$i 2>&1 & pids[i]=$!; done
for i in 1 2 3 4 5 6 7 8; do wait ${pids[i]} || die "without locks, process $i: $(cat out-$i)"; done
whole || die 'without locks: the file differs'
[ "$(sent)" -le $((8 * big_bytes)) ] || die 'without locks: more than eight bodies came'
[ "$(find "$folder/blobs" -type f | wc -l)" = 1 ] || die "without locks: something is left: $(ls "$folder/blobs")"

# ---- a file system without locks: one that is made where it was not, as filelock makes it ----
lock=$hub/.locks/models--u--big/$big_hash.lock
for error in 38 95 37; do # ENOSYS, EOPNOTSUPP, ENOLCK
    fresh
    serve
    plan >plan
    for i in 1 2 3 4 5 6 7 8; do LD_PRELOAD=$faulty FAULTY_FLOCK=$error "$CARAT_BUILD/carat-fetch" <plan >out-$i 2>&1 & pids[i]=$!; done
    for i in 1 2 3 4 5 6 7 8; do wait ${pids[i]} || die "error $error of flock, process $i: $(cat out-$i)"; done
    whole || die "error $error of flock: the file differs"
    [ "$(sent)" = "$big_bytes" ] || die "error $error of flock: $(sent) bytes were sent"
    [ ! -e "$lock" ] || die "error $error of flock: the lock is left"
done
# who has it says so in it; one whose process is gone is taken over, one of another machine is waited for
serve link 4000000
fresh
plan >plan
LD_PRELOAD=$faulty FAULTY_FLOCK=38 "$CARAT_BUILD/carat-fetch" <plan >out 2>&1 &
pid=$!
until [ -s "$(part)" ]; do sleep 0.01; done
[ "$(cat "$lock")" = "$pid
$(uname -n)" ] || die "the lock has $(cat "$lock")"
kill -9 $pid
wait $pid 2>/dev/null && die 'it was killed'
serve
plan >plan
LD_PRELOAD=$faulty FAULTY_FLOCK=38 "$CARAT_BUILD/carat-fetch" <plan >out 2>&1 || die "a lock that was left: $(cat out)"
whole && [ ! -e "$lock" ] || die 'a lock that was left stays'
for text in "$pid\nelsewhere\n" "filelock/2\npid=$pid\nhost=elsewhere\nmode=exclusive\n" "filelock/2\npid=$$\nhost=$(uname -n)\nmode=exclusive\n" ''; do
    fresh
    mkdir -p "${lock%/*}"
    printf '%b' "$text" >"$lock"
    LD_PRELOAD=$faulty FAULTY_FLOCK=38 "$CARAT_BUILD/carat-fetch" <plan >out 2>&1 &
    pid=$!
    sleep 0.3
    [ ! -e "$(part)" ] && kill -0 $pid || die "a lock of somebody else ($text) was not waited for"
    rm "$lock"
    wait $pid || die "after a lock of somebody else: $(cat out)"
    whole || die 'after a lock of somebody else: the file differs'
done
fresh
mkdir -p "${lock%/*}"
touch -d '20 minutes ago' "$lock"
LD_PRELOAD=$faulty FAULTY_FLOCK=38 "$CARAT_BUILD/carat-fetch" <plan >out 2>&1 || die "an old lock of nobody: $(cat out)"
whole && [ -e "$lock" ] || die 'an old lock of nobody is gone'

# ---- no links ----
fresh
plan | LD_PRELOAD=$faulty FAULTY_SYMLINK=1 "$CARAT_BUILD/carat-fetch" >out 2>&1 || die "without links: $(cat out)"
whole && [ ! -L "$folder/snapshots/$commit/m.gguf" ] || die 'without links there is no file'
before=$(sent)
plan | LD_PRELOAD=$faulty FAULTY_SYMLINK=1 "$CARAT_BUILD/carat-fetch" >out 2>&1 || die "without links, again: $(cat out)"
[ "$(sent)" = "$before" ] || die 'without links: it came again'

# ---- a cache that cannot be written, and one that somebody else owns ----
as=()
if [ "$(id -u)" = 0 ]; then # who may write everywhere: nobody tries it
    command -v setpriv >/dev/null || exit 0
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    chmod 755 "$work"
    "${as[@]}" test -x "$CARAT_BUILD/carat-fetch" || exit 0
fi
refused() { # WORDS
    local code=0
    plan | "${as[@]}" "$CARAT_BUILD/carat-fetch" >out 2>err || code=$?
    [ $code = 1 ] || die "a cache that cannot be written: exit code $code: $(cat out)"
    error_has "$1"
    [ -z "$(find "$hub" -type f)" ] || die 'something was written'
}
fresh
mkdir "$hub"
chmod 555 "$hub"
refused 'cannot be made: Permission denied'
chmod 755 "$hub"
mkdir -p "$folder/blobs" "$hub/.locks"
[ "$(id -u)" = 0 ] || chmod 555 "$folder/blobs" "$hub/.locks"
refused 'cannot be .*: Permission denied'
