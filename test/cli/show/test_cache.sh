#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_cache.sh: the cache as people meet it: which verbs write it and which only use it, one line on stderr,
# `carat pack`, `carat cache`, the cap. Disks without room and processes that end early are
# test_cache_faults.sh's; what is in a packed file, and every way in which it can be wrong,
# test/checkpoint/test_packed_cache.c's.

. "$CARAT_SOURCE/test/cli/cache.bash"

copy_model m
expect 0 run tiny 'Once upon a time' -n 6 --temp 0 --no-perf
cp out wanted
generate 0 m --no-cache
[ ! -e "$cache" ] || die '--no-cache made a cache'
printf '[{"role":"user","content":"hello"}]' >messages.json

# ---- verbs that do not compute use what is there and write nothing ----

idle=("show m" "show m --tensors" "tokenize m hello" "detokenize m 5" "render m --messages messages.json" "verify m -t 1")
# Under AddressSanitizer, packed weights have forbidden bytes between them, and mapped ones have none: what
# they and the sum take differs there.
without_weights() {
    [ -z "${CARAT_CFLAGS:-}" ] || sed -i -E '/^memory for/,/^  sum/{/^  (weights|sum) /d}' "$1"
}
for i in "${!idle[@]}"; do
    expect 0 ${idle[i]}
    without_weights out
    mv out plain.$i
    lines 0 "${idle[i]}"
    [ ! -e "$cache" ] || die "${idle[i]} made a cache"
done

# ---- the first start writes, with one line; the next ones map ----

generate 1 m
err_has "$made"
[ "$(packed)" = 1 ] || die 'there is not one packed file'
generate 0 m
used=$(ls "$cache"/*.used)
old=$(date -d 2001-01-01 +%s)
touch -d @$old "$used"
generate 0 m --no-cache
[ "$(stat -c %Y "$used")" = $old ] || die '--no-cache has looked into the cache'
for i in "${!idle[@]}"; do
    expect 0 ${idle[i]}
    without_weights out
    lines 0 "${idle[i]} of a packed model"
    case ${idle[i]} in verify*) ;; *) same out plain.$i ;; esac
    [ "$(stat -c %Y "$used")" = $old ] || die "${idle[i]} wrote to the cache"
done
generate 0 m
[ "$(stat -c %Y "$used")" != $old ] || die 'a start does not count as use'
for verb in "logits m --ids 2,5" "bench m -p 1 -n 1 -r 1"; do # these compute, too
    rm -rf "$cache"
    expect 0 $verb
    err_has "$made"
    [ "$(packed)" = 1 ] || die "$verb did not pack"
done

# ---- carat pack ----

rm -rf "$cache"
expect 0 pack m
err_has "$made"
generate 0 m
expect 0 pack m
err_has 'in the cache already'
rm -rf "$cache"
expect 0 pack m -o m.carat
lines 0 'pack -o'
[ ! -e "$cache" ] || die 'pack -o filled the cache'
mkdir elsewhere
(
    cd elsewhere
    mv ../wanted ../m.carat .
    rm -rf ../m # what it was made from is not needed
    generate 0 ./m.carat
    generate 0 m.carat --no-cache
    expect 0 tokenize m.carat hello
    expect 0 pack m.carat # is one itself
    "$CARAT" run - -p 'Once upon a time' -n 6 --temp 0 --no-perf <m.carat >out 2>err || die 'not from a pipe'
    same out wanted
    expect 0 pack m.carat -o again.carat
    generate 0 ./again.carat
    mv wanted ..
)
[ "$(packed)" = 0 ] || die 'a packed file was packed'

copy_model m
cp m/config.json config.json
refuse 2 pack tiny
refuse 2 pack m --no-cache
refuse 2 pack m --tokenizer m/tokenizer.model
refuse 2 pack m -o -
refuse 2 pack m -o m/model.safetensors
err_has 'what the model is read from'
refuse 2 pack m -o m/config.json
same m/config.json config.json
refuse 1 pack m -o elsewhere
mkfifo pipe
refuse 1 pack m -o pipe
[ -p pipe ] || die 'what is no file was replaced'
refuse 1 pack m -o nowhere/x
expect 0 pack tiny -o t.carat
generate 0 ./t.carat
[ "$(files)" = 0 ] || die 'pack wrote to the cache'

# ---- carat cache ----

expect 0 cache list
out_has '^0 packed models, 0 bytes of 4.29 GB, in '
for i in 1 2 3; do
    copy_model m$i
    generate 1 ./m$i
done
refuse 2 cache
refuse 2 cache purge
(cd elsewhere && expect 0 cache list && mv out ../out)
[ "$(sed -n 's/.* current .*\(m[0-9]\)$/\1/p' out | tr -d '\n')" = m3m2m1 ] || die "not by use: $(cat out)"
generate 0 m1
expect 0 cache list --json
[ "$(grep -o '"origin":"[^"]*"' out | grep -o 'm[0-9]"' | tr -d '"\n')" = m1m3m2 ] || die "not by use: $(cat out)"
out_has '"state":"current","removed":false'
one=$(stat -c %s "$(ls "$cache"/*.carat | head -1)")
expect 0 cache prune
[ "$(packed)" = 3 ] || die 'prune removed what is current'
expect 0 cache prune --cache-size $((2 * one))
out_has '^removed .*m2$'
[ "$(packed)" = 2 ] || die 'prune does not keep the cap'
touch m1/config.json
rm -rf m3
expect 0 cache list
out_has ' stale .*m1$'
out_has ' gone .*m3$'
printf x >"$cache/0123456789abcdef.carat"
printf x >"$cache/0123456789abcdef.part"
printf x >"$cache/00000000000000aa.used"
printf x >"$cache/notes.txt"
expect 0 cache list
[ "$(grep -c ' useless ' out)" = 3 ] || die "what is left behind is not listed: $(cat out)"
expect 0 cache prune
[ "$(ls "$cache")" = notes.txt ] || die "prune left $(ls "$cache")"
expect 0 logits "$CARAT_SOURCE/test/data/vectors/gguf/q4_0.gguf" --ids 2
generate 1 m2
generate 1 m1
expect 0 cache prune --cache-size $((one + 1000000)) # strictly by use, though the small one used first would still fit
out_has '^2 removed'
[ "$(packed)" = 1 ] || die 'prune keeps what was used before something that left'
generate 0 m1
generate 1 m2
expect 0 cache clear
out_has '^2 removed'
[ "$(ls "$cache")" = notes.txt ] || die "clear left $(ls "$cache")"

# ---- the cap ----

generate 1 m1 --cache-size $((2 * one + 4096))
generate 1 m2 --cache-size $((2 * one + 4096))
generate 0 m1
copy_model m3
generate 1 m3 --cache-size $((2 * one + 4096)) # m2 leaves
generate 0 m1
generate 0 m3
[ "$(packed)" = 2 ] || die 'more than the cap'
generate 2 m2 --cache-size $((one - 4096))
err_has 'not kept packed: it takes [0-9.]* MB, and the cache may take [0-9.]* MB$'
err_has '^note: --cache-size [0-9]*M keeps it, and the next start is faster$'
[ "$(packed)" = 2 ] || die 'a model that is too large made others leave'
generate 0 m1
generate 0 m3
no_parts 'the cap'
