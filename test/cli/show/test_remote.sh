#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_remote.sh: carat show of a model that is not on this machine: what it says is what it says of the same
# model once it is there, and of the weights only the heads have come. Nothing is kept.
. "${CARAT_SOURCE:?}/test/cli/hub.bash"
unset ${!KAGGLE_@} KAGGLEHUB_CACHE LLAMA_CACHE
export OLLAMA_MODELS=$work/none
mkdir -p served/u/{g,deep,parts,big} "$HOME"
expect 0 convert tiny served/u/g/g-Q8_0.gguf --type q8_0

nothing_kept() { [ ! -e "$HF_HUB_CACHE" ] && [ ! -e "$XDG_CACHE_HOME" ] && [ -z "$(ls -A "$HOME")" ] || die "$1: something was kept"; }
quiet() { # until no answer is noted any more
    local n=-1
    while [ "$(requests)" != $n ]; do
        n=$(requests)
        sleep 0.2
    done
}
sent() { quiet && awk -F 'sent=' -v name="$1" '/^\/(cdn|kaggle-cdn)\// && index($0, name) {n += $2} END {print n + 0}' log; } # FILE
ranges() { quiet && sed -n "s|^/cdn/$1?[^ ]* range=\([^ ]*\).*|\1|p" log | tr '\n' ' '; } # FILE
# agree NAME [OPTIONS]: what is shown without the model and with it.
agree() {
    expect 0 show "$@" --memory --tensors
    nothing_kept "show $1"
    out_has '^  path  *none: nothing of it is on this machine$'
    out_has "^  to fetch  .* carat pull $1\$"
    grep -v '^  \(path\|to fetch\)  ' out >remote
    expect 0 pull "$1" -q
    expect 0 show "$@" --memory --tensors --no-cache
    ! grep -q '^  to fetch' out || die "show $1: there is something to fetch"
    grep -v '^  path  ' out >here
    same here remote
    rm -rf "$HF_HUB_CACHE" "$XDG_CACHE_HOME"
    mkdir -p "$XDG_CACHE_HOME"
    rmdir "$XDG_CACHE_HOME"
    : >log
}

# ---- a directory of safetensors, in one file and in shards ----
serve
expect 0 show gemma3:1b
out_has '^  rule  *name of the family$'
out_has '^  found  *gemma3:1b is google/gemma-3-1b-it, commit 0123456789ab of main$'
out_has '^  to fetch  *7 files, [0-9.]* MB: carat pull gemma3:1b$'
length=$(($(od -A n -t u8 -N 8 "$tiny/model.safetensors")))
[ "$(ranges google/gemma-3-1b-it/model.safetensors)" = "bytes=0-7 bytes=8-$((length + 7)) " ] || die "$(cat log)"
[ "$(sent model.safetensors)" = $((length + 8)) ] || die "$(sent model.safetensors) bytes of the weights came"
nothing_kept 'show gemma3:1b'
agree gemma3:1b
# both shards have all tensors; the index says whose are whose
for i in 1 2; do cp "$tiny/model.safetensors" served/u/parts/model-0000$i-of-00002.safetensors; done
cp "$tiny"/*.json served/u/parts
"$CARAT" show tiny --tensors --json | tr '{' '\n' | sed -n 's/^"name":"\([^"]*\)","type".*/\1/p' >names
[ "$(wc -l <names)" -gt 20 ] || die 'the tensors have no names'
awk 'BEGIN {printf("{\"weight_map\": {")}
    {printf("%s\"%s\": \"model-0000%d-of-00002.safetensors\"", NR > 1 ? ", " : "", $0, NR % 2 + 1)}
    END {print "}}"}' names >served/u/parts/model.safetensors.index.json
expect 0 show u/parts
for i in 1 2; do
    [ "$(sent model-0000$i-of)" = $((length + 8)) ] || die "shard $i: $(sent model-0000$i-of) bytes came"
done
agree u/parts
# Gemma 4: the table of inputs of layers is counted as on the disk, where it will lie
mkdir -p served/u/g4
cp "$CARAT_SOURCE"/test/fixtures/tiny4/*.* served/u/g4
agree u/g4
grep -q '^  on the disk ' here || die 'the table of inputs of layers is not on the disk'
agree u/g4 --ple resident

# ---- GGUF: a head above 1 MiB is tried with ever more of it ----
le() { local i n=$1; for ((i = 0; i < $2; i++)); do printf '%b' "\\x$(printf %x $((n >> 8 * i & 255)))"; done; } # NUMBER BYTES
# pad FROM TO BYTES: with so many bytes of metadata more, a multiple of 32.
pad() {
    local n
    n=$(($(od -A n -t u8 -j 16 -N 8 "$1")))
    { head -c 16 "$1" && le $((n + 1)) 8 && le 8 8 && printf 'test.pad' && le 8 4 && le $(($3 - 28)) 8 &&
        head -c $(($3 - 28)) /dev/zero | tr '\0' x && tail -c +25 "$1"; } >"$2"
}
small=served/u/g/g-Q8_0.gguf
pad $small served/u/deep/m.gguf $((5 << 19))
: >log
expect 0 show u/deep
out_has '^  to fetch  *m.gguf, [0-9.]* MB: carat pull u/deep$'
[ "$(ranges u/deep/m.gguf)" = 'bytes=0-1048575 bytes=1048576-2097151 bytes=2097152-4194303 ' ] || die "$(cat log)"
[ "$(sent m.gguf)" = $((4 << 20)) ] || die "$(sent m.gguf) bytes came"
agree u/deep
agree u/g:q8_0
expect 0 show u/g --json
for words in '"rule":"repository of the hub"' '"path":null' '"repository":"u/g"' "\"commit\":\"$commit\"" \
    "\"missing_bytes\":$(stat -c %s $small)" '"fetched_bytes":1048576' \
    '"files":\[{"name":"g-Q8_0.gguf","bytes":' '"n_layer":6'; do
    out_has "$words"
done
expect 0 show u/g --json --memory
out_has '"contexts":\['
# above 16 MiB nobody tries: what is asked for ends there
pad $small served/u/deep/m.gguf $((17 << 20))
: >log
refuse 4 show u/deep
err_has 'its first 16.8 MB were fetched, where a head ends'
[ "$(sent m.gguf)" = $((16 << 20)) ] || die "$(sent m.gguf) bytes came of a head without end"

# ---- what convert would make of it needs no weights ----
expect 0 show gemma3:1b --type q4_0
cp out remote
expect 0 show tiny --type q4_0
same out remote

# ---- servers ----
# one that knows no ranges is left as soon as the head has come
cp $small served/u/big/m.gguf
truncate -s 64M served/u/big/m.gguf
serve range-ignored
: >log
expect 0 show u/big
[ "$(sent m.gguf)" -lt $((64 << 20)) ] || die "the whole file came"
grep -q '^/cdn/u/big' log || die 'nothing was asked for'
# what comes before the part that is wanted is passed over
pad $small served/u/deep/m.gguf $((5 << 19))
expect 0 show u/deep
expect 0 show gemma3:1b
for fault in '429 2' '500 2' 'reset 1000' 'resets 600000' 'foreign' 'expires 1'; do
    # shellcheck disable=SC2086
    serve $fault
    expect 0 show u/g
    nothing_kept "$fault"
done
for fault in 'gated' 'missing' 'range-wrong' 'range-absent' 'html' 'gzip' 'loop' 'downgrade' 'etag-changes' \
    'bad-name' 'huge-size' 'large-size 4611686018427387904' 'large-size 5000'; do
    # shellcheck disable=SC2086
    serve $fault
    code=0
    "$CARAT" show u/g >out 2>err || code=$?
    case $fault in
    html | gzip) [ $code = 3 ] || [ $code = 4 ] ;;
    etag-changes) [ $code = 0 ] ;; # the first answer is right, and there is one
    large-size\ 4611*) [ $code = 5 ] || [ $code = 3 ] ;;
    *) [ $code = 3 ] ;;
    esac || die "$fault: exit code $code: $(cat err)"
    [ $code = 0 ] || [ "$(grep -c '^error: E_' err)" = 1 ] || die "$fault: $(cat err)"
    nothing_kept "$fault"
done
serve gated
refuse 3 show gemma3:1b
err_has 'its licence has to be accepted on its page first'
stop
refuse 6 show gemma3:1b

# ---- nothing is asked where that is forbidden ----
serve
asks 0 3 show gemma3:1b --offline
err_has "gemma3:1b is google/gemma-3-1b-it, which is not on this machine; 'carat pull gemma3:1b' fetches it"
HF_HUB_OFFLINE=1 asks 0 3 show u/g
asks 0 3 show gemma3:1b --ranges
asks 0 3 show gemma3:1x

# ---- Kaggle and addresses; a name of one's own ----
mkdir -p served/kaggle/google/gemma-3/gguf/1b-it/3
cp $small served/kaggle/google/gemma-3/gguf/1b-it/3/model.gguf
echo x >served/kaggle/google/gemma-3/gguf/1b-it/3/notes.txt
export KAGGLE_API_ENDPOINT=$HF_ENDPOINT
: >log
expect 0 show kaggle://google/gemma-3/gguf/1b-it
out_has '^  rule  *handle of Kaggle$'
out_has '^  found  *kaggle://google/gemma-3/gguf/1b-it, version 3$'
out_has '^  to fetch  *model.gguf, '
[ "$(sent model.gguf)" = $((1 << 20)) ] || die "$(sent model.gguf) bytes came from Kaggle"
expect 0 show "$HF_ENDPOINT/cdn/$(echo u/g)/g-Q8_0.gguf"
out_has '^  rule  *address of a file$'
out_has '^  to fetch  *g-Q8_0.gguf, '
nothing_kept 'Kaggle, addresses'
expect 0 cp $small mine
expect 0 show mine
out_has "^  rule  *path, by the name that carat cp gave to .*g-Q8_0.gguf\$"
expect 0 show tiny
out_has '^  rule  *model inside this command$'
expect 0 show $small
out_has '^  rule  *path$'
out_has "^  path  *$small\$"

# ---- what the program itself keeps in memory, of a part of 64 MiB, and a plan that cannot be ----
parts() { printf '{"do": "parts", "endpoint": "%s", "repository": "u/big", "commit": "%s", "files": [{"name": "m.gguf", "bytes": %d, "hash": "%s", "from": %s, "until": %s}]}' "$HF_ENDPOINT" $commit $((64 << 20)) "$(sha256sum <served/u/big/m.gguf | cut -d ' ' -f 1)" "$1" "$2"; }
if [ -z "${CARAT_CFLAGS:-}" ]; then
    parts 0 $((64 << 20)) | (ulimit -d 65536 && exec "$CARAT_BUILD/carat-fetch") >out || die 'the program took more than 64 MiB'
    [ "$(wc -c <out)" -gt $((64 << 20)) ] || die 'not all came'
fi
parts 5 12 | "$CARAT_BUILD/carat-fetch" >raw
{ echo '{"event": "part", "name": "m.gguf", "at": 5, "raw": 7}' && head -c 12 $small | tail -c 7; } >wanted
same wanted raw
for range in '12 5' '-1 5' "0 $(((64 << 20) + 1))" 'null 5'; do
    code=0
    # shellcheck disable=SC2086
    parts $range | "$CARAT_BUILD/carat-fetch" >out || code=$?
    [ $code = 2 ] || die "part $range: exit code $code"
    out_has 'file 1 has a part that cannot be'
done
