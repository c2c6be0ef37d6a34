#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_archive.sh: models of Kaggle with more files than are fetched one by one: their archive is unpacked
# as it comes, its files get names when all are right, what was interrupted goes on, and archives that lie
# are refused with nothing under a final name. KILLS says how many kills (default 12).
. "${CARAT_SOURCE:?}/test/cli/common.bash"
. "$CARAT_SOURCE/test/fetch/fetch.bash"
command -v openssl >/dev/null || { echo 'there is no openssl'; exit 77; }
unset ${!KAGGLE_@} KAGGLEHUB_CACHE LLAMA_CACHE
export HOME=$work/home OLLAMA_MODELS=$work/none KAGGLEHUB_CACHE=$work/kaggle
handle=google/gemma-3/gguf/1b-it model=kaggle://google/gemma-3/gguf/1b-it
folder=$work/served/kaggle/$handle files=$work/served/kaggle/$handle/3 cache=$KAGGLEHUB_CACHE/models/$handle
archive=$folder/3.tar.gz
mkdir -p "$HOME" "$files"
expect 0 convert tiny "$files/model.gguf" --type q8_0
for ((i = 0; i < 28; i++)); do echo "note $i" >"$files/note $i.txt"; done
: >"$files/empty"
pack() { tar -C "$files" -czf "$archive" "$@" .; }
ask() { # [FAULT]
    serve "$@"
    export KAGGLE_API_ENDPOINT=$HF_ENDPOINT
    rm -f "$work"/log*
}
clear_cache() { rm -rf "$KAGGLEHUB_CACHE"; }
all_right() {
    diff -r "$files" "$1" || die "$2: files differ"
    ! find "$KAGGLEHUB_CACHE" own -name '*.carat*' ! -name '*.carat.lock' 2>/dev/null | grep . || die "$2: something is left"
}
nothing_named() {
    [ ! -e "$cache/3.complete" ] && ! find "$cache/3" -type f 2>/dev/null | grep -q . || die "$1: something has a name"
    ! find "$KAGGLEHUB_CACHE" -name '*.unpacked' | grep . || die "$1: what was unpacked is left"
}
sent_archive() { awk -F sent= '/^\/kaggle-cdn.*tar.gz/ {n += $2} END {print n + 0}' "$work/log"; }

# ---- whole, in every form of tar, and marked ----
for format in ustar gnu pax v7; do
    clear_cache
    pack --format=$format
    ask
    expect 0 pull $model -q
    out_is "$cache/3/model.gguf
"
    all_right "$cache/3" $format
    [ "$(find "$cache/.complete/3" -name '*.complete' | wc -l)" = 30 ] && [ -e "$cache/3.complete" ] || die 'marks are missing'
    ! grep -q 'cdn.*1b-it/3/' "$work/log" || die 'single files came, too'
    [ "$(sent_archive)" -le $(($(wc -c <"$archive") + 262144)) ] || die "$(sent_archive) bytes came"
done
expect 0 run $model hello -n 4 --temp 0
stop
expect 0 pull $model -q
# a folder of one's own; what is there stays, unless it is another file
ask
expect 0 pull $model --out own -q
all_right own out
echo other >'own/note 3.txt'
rm own/note\ [5-7]*
refuse 1 pull $model --out own -q
rm -r own
mkdir own
echo 'NOTE 3' >'own/note 3.txt' # as many bytes
refuse 1 pull $model --out own -q
err_has 'note 3.txt: is there, and is another file; --force replaces it'
[ "$(cat 'own/note 3.txt')" = 'NOTE 3' ] || die 'a file was replaced'
expect 0 pull $model --out own -q --force
all_right own force
rm -r own
# where few are missing, they come alone
rm "$cache/3/note 3.txt" "$cache/3.complete" "$cache/.complete/3/note 4.txt.complete"
ask
expect 0 pull $model -q
all_right "$cache/3" 'one of them'
[ "$(sent_archive)" = 0 ] || die 'the archive came for one file'

# ---- interrupted ----
head -c 3000000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 >"$files/big" 2>/dev/null
pack
bytes=$(wc -c <"$archive")
clear_cache
for ((i = 0; i < ${KILLS:-12}; i++)); do
    ask link 8000000
    "$CARAT" pull $model -q >out 2>err &
    pid=$!
    sleep "0.$(printf %03d $((RANDOM % 700)))"
    fetch=$(pgrep -P $pid carat-fetch || true)
    kill -9 $fetch $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    if [ -e "$cache/3.complete" ]; then
        diff -r "$files" "$cache/3" || die "kill $i: files differ"
        clear_cache
    elif [ -d "$cache/3" ]; then # names, not all marked yet
        for file in "$cache/3"/*; do same "$files/${file##*/}" "$file"; done
    fi
done
clear_cache
ask link 8000000
"$CARAT" pull $model -q >out 2>err &
pid=$!
part=$cache/3.archive.carat.incomplete
until [ -s "$part" ] && [ "$(wc -c <"$part")" -gt 1000000 ]; do sleep 0.01; done
kill -9 "$(pgrep -P $pid carat-fetch)"
wait $pid 2>/dev/null && die 'it was killed'
nothing_named_yet() { [ ! -e "$cache/3.complete" ] && [ ! -e "$cache/3" ]; }
nothing_named_yet || die 'killed: something has a name'
kept=$(wc -c <"$part")
cmp -s -n "$kept" "$part" "$archive" || die 'what is kept is no beginning'
ask
expect 0 pull $model -q
all_right "$cache/3" 'taken up'
[ "$(sent_archive)" -le $((bytes - kept + 1)) ] || die "$(sent_archive) bytes came, $((bytes - kept)) were missing"
# kagglehub's half is taken up, and one of something else is not kept
clear_cache
mkdir -p "$cache"
head -c 2000000 "$archive" >"$cache/3.archive"
ask
expect 0 pull $model -q
all_right "$cache/3" "kagglehub's half"
[ "$(sent_archive)" -le $((bytes - 2000000 + 1)) ] || die "$(sent_archive) bytes came"
clear_cache
mkdir -p "$cache"
head -c 2000000 /dev/zero >"$cache/3.archive"
expect 0 pull $model -q
all_right "$cache/3" 'a wrong half'
# several at once: one body
clear_cache
ask
for i in 1 2 3 4; do "$CARAT" pull $model -q >out-$i 2>&1 & pids[i]=$!; done
for i in 1 2 3 4; do wait ${pids[i]} || die "process $i: $(cat out-$i)"; done
all_right "$cache/3" 'four processes'
[ "$(sent_archive)" -le $((bytes + 4 * 65536)) ] || die "four processes: $(sent_archive) bytes of $bytes came"

# ---- what is refused ----
lies() { # WHAT MESSAGE: the archive is served as it is now
    clear_cache
    ask ${3:+"$3"}
    refuse 3 pull $model -q
    err_has "$2"
    nothing_named "$1"
}
while read -r name message; do
    gzip -c "$CARAT_SOURCE/fuzz/corpus/untar/$name" >"$archive"
    lies "$name" "$message"
done <<'END'
parent the name "../x" leaves its folder
root the name "/etc/x" leaves its folder
link l is of the type 50: neither a file nor a folder
hard l is of the type 49: neither a file nor a folder
device l is of the type 51: neither a file nor a folder
huge a.txt has 8589934591 bytes, expected at most
huge_256 an entry has a size that is no number
negative an entry has a size that is no number
sum the checksum of a header is wrong
no_end it ends without the two empty blocks
one_block it ends without the two empty blocks
pax_length a record of pax is not
pax_line a record of pax is not
pax_huge a has 99999999999 bytes, expected at most
large_256 a.txt has 1099511627776 bytes, expected at most
hole an empty block is followed by another entry
ustar it lacks big
END
[ ! -e "$work/x" ] && [ ! -e "$KAGGLEHUB_CACHE/x" ] || die 'a name left its folder'
cp "$CARAT_SOURCE/fuzz/corpus/untar/flipped.gz" "$archive"
lies flipped 'it is no gzip, or damaged'
cp "$CARAT_SOURCE/fuzz/corpus/untar/ustar" "$archive"
lies 'no gzip' 'it is no gzip'
pack
head -c $((bytes - 1000)) "$archive" >short
mv short "$archive"
lies truncated 'it ends in the middle'
echo twice >"$files/twice"
tar -C "$files" --hard-dereference -cf two.tar . ./twice
gzip -c two.tar >"$archive"
lies twice 'it has twice twice'
pack --exclude=./twice
lies lacks 'it lacks twice'
pack
echo longer than listed >"$files/twice"
lies size 'its twice has 6 bytes, expected 19'
pack
lies hash 'what came has the hash' bad-hash
# more files than are listed are passed over
echo more >"$work/more"
tar -C "$files" -cf two.tar . -C "$work" more
gzip -c two.tar >"$archive"
clear_cache
ask
expect 0 pull $model -q
all_right "$cache/3" 'more files'
# and a bomb of them is not
head -c 200000000 /dev/zero >"$work/more"
tar -C "$files" -cf - . -C "$work" more | gzip -1 >"$archive"
rm "$work/more"
lies bomb 'more has 200000000 bytes, expected at most'

# ---- a full disk, at every write ----
faulty=$CARAT_BUILD/test/faulty_disk.so
[ -z "${CARAT_CFLAGS:-}" ] && [ -e "$faulty" ] || exit 0 # a sanitizer has to come first
rm "$files/big"
pack
ask
clear_cache
for ((n = 1; ; n++)); do
    code=0
    LD_PRELOAD=$faulty FAULTY_WRITE=$n "$CARAT" pull $model -q >out 2>err || code=$?
    [ $code != 0 ] || break
    [ $code = 1 ] || die "write $n fails: exit code $code: $(cat err)"
    [ ! -e "$cache/3.complete" ] || die "write $n fails: the version is marked"
    for file in "$cache/3"/*; do [ ! -e "$file" ] || same "$files/${file##*/}" "$file"; done
    [ $((n % 3)) = 0 ] || clear_cache
    [ $n -lt 400 ] || die 'the disk is always full'
done
all_right "$cache/3" 'a full disk'
[ $n -gt 20 ] || die "only $n writes"
