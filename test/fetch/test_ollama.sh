#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_ollama.sh: models of ollama's registry, into the user's store of ollama or carat's own: the manifest
# last, blobs checked, resumed and shared; what is refused; and run, verify, ls and rm of what has come.
# ollama itself was not run: its layout is the documented one.
. "${CARAT_SOURCE:?}/test/cli/common.bash"
. "$CARAT_SOURCE/test/fetch/fetch.bash"
unset ${!KAGGLE_@} KAGGLEHUB_CACHE LLAMA_CACHE OLLAMA_MODELS
export HOME=$work/home
mkdir -p "$HOME"
name=registry.ollama.ai/library/gemma3:1b
tag=$work/served/ollama/library/gemma3/1b own=$XDG_CACHE_HOME/carat/models/ollama
mkdir -p "$tag"
expect 0 convert tiny x.gguf --type q8_0
cp x.gguf "$tag/model"
printf '{"temperature": 0, "top_k": 5}' >"$tag/params"
printf 'terms' >"$tag/license"
printf 'more terms' >"$tag/license-2"
printf '{"model_format": "gguf"}' >"$tag/config"
weights=$(sha256sum <"$tag/model" | cut -d ' ' -f 1)
ask() { # [FAULT [NUMBER]]
    serve "$@"
    export CARAT_OLLAMA_REGISTRY=$HF_ENDPOINT
    rm -f "$work"/log*
}
clear_store() { rm -rf "$own"; }
manifest_of() { echo "$1/manifests/registry.ollama.ai/library/gemma3/1b"; }
# is_whole STORE: all blobs are there under their hashes, and the manifest; nothing else.
is_whole() {
    local file
    for file in "$tag"/*; do
        same "$file" "$1/blobs/sha256-$(sha256sum <"$file" | cut -d ' ' -f 1)"
    done
    [ "$(ls "$1/blobs" | wc -l)" = 5 ] || die "there are other blobs: $(ls "$1/blobs")"
    [ "$(find "$1/manifests" -type f)" = "$(manifest_of "$1")" ] || die "other manifests: $(find "$1/manifests")"
    [ -z "$(ls -A "$1/.carat")" ] || die "something is left: $(ls -A "$1/.carat")"
}
# no_name: nothing leads to anything.
no_name() { [ ! -e "$own" ] || [ -z "$(find "$own/manifests" -type f 2>/dev/null)" ] || die "$1: there is a manifest"; }
blobs() { awk -F 'sent=' '/^\/cdn\/ollama/ {n += $2} END {print n + 0}' "$work/log"; }

# ---- into a store of carat's own ----
ask
expect 0 pull $name
out_is "$own/blobs/sha256-$weights
"
err_has "^note: $name, manifest [0-9a-f]\{12\}: 5 files, .*, into $own$"
is_whole "$own"
grep -qx 'application/vnd.docker.distribution.manifest.v2+json, \*/\*;q=0.5' "$work/log.accept" || die "the registry heard $(cat "$work/log.accept")"
[ "$(sha256sum <"$(manifest_of "$own")" | cut -c 1-12)" = "$(sed -n 's/.*manifest \([0-9a-f]*\):.*/\1/p' err)" ] || die 'the manifest has another hash'
[ "$(grep -c '^/v2/library/gemma3/manifests/1b' "$work/log")" = 1 ] || die "asked for the manifest: $(cat "$work/log")"
# what is there is not asked for
rm -f "$work/log"
expect 0 pull $name
expect 0 pull ollama.com/library/gemma3:1b -q
expect 0 pull ollama://gemma3:1b -q
[ ! -e "$work/log" ] || die "asked for what is there: $(cat "$work/log")"
# what is up to date costs one request
expect 0 pull $name --force --dry-run
out_has ' there *gemma3-1b.gguf$'
[ "$(wc -l <"$work/log")" = 1 ] || die "asked too much: $(cat "$work/log")"
stop
server=
# run, with what lies beside the weights; verify, ls
expect 0 run x.gguf 'Tell me' -n 8 --temp 0
mv out wanted
expect 0 run gemma3:1b 'Tell me' -n 8
same wanted out
expect 0 verify $name
out_has 'gemma3:1b.*\|1 file, .* with the publisher.s hashes'
expect 0 ls
out_has '^gemma3:1b .*carat'
expect 0 show $name
out_has 'in the store of carat'
refuse 6 pull registry.ollama.ai/library/gemma3:4b
err_has 'library/gemma3: its manifest: no connection'
refuse 3 run registry.ollama.ai/library/gemma3:4b hi --offline
err_has "is not on this machine; 'carat pull registry.ollama.ai/library/gemma3:4b' fetches it, but --offline forbids that"

printf x | dd of="$own/blobs/sha256-$weights" bs=1 seek=500000 conv=notrunc status=none
expect 7 verify $name
out_has "has hash [0-9a-f]*, expected $weights"
cp "$tag/model" "$own/blobs/sha256-$weights"

# ---- rm: what another tag needs stays ----
ask
other=$work/served/ollama/library/gemma3/other
mkdir -p "$other"
cp "$tag/model" "$tag/license" "$other"
expect 0 pull registry.ollama.ai/library/gemma3:other -q
[ "$(blobs)" = 0 ] || die 'a blob came again'
refuse 2 rm $name
err_has 'would be free, and nobody is there to be asked'
expect 0 rm $name --yes
err_has 'stay: other models need them$'
[ -e "$own/blobs/sha256-$weights" ] && [ ! -e "$(manifest_of "$own")" ] || die 'rm left the manifest, or took what others need'
[ "$(ls "$own/blobs" | wc -l)" = 2 ] || die "rm left $(ls "$own/blobs")"
expect 0 run registry.ollama.ai/library/gemma3:other 'Tell me' -n 8 --temp 0
same wanted out
expect 0 rm ollama.com/library/gemma3:other --yes
[ -z "$(ls "$own/blobs")" ] && [ ! -e "$own/manifests/registry.ollama.ai" ] || die "rm left $(find "$own")"
refuse 3 rm $name

# ---- run fetches; the spellings of the host ----
clear_store
expect 0 run ollama.com/library/gemma3:1b 'Tell me' -n 8
err_has 'manifest .*: 5 files'
same wanted out
is_whole "$own"
# a folder of one's own has the files by what they are
expect 0 pull $name --out into -q
same into/gemma3-1b.gguf "$tag/model"
same into/license-2 "$tag/license-2"
refuse 2 pull $name --include 'x*'
err_has 'a tag of ollama.s comes whole'
refuse 2 pull $name --revision 4b
refuse 2 pull $name --lock

# ---- the user's store ----
clear_store
mkdir -p "$HOME/.ollama/models"
expect 0 pull $name -q
is_whole "$HOME/.ollama/models"
[ ! -e "$own" ] || die 'it went into both stores'
refuse 2 rm $name
err_has "is in the store of ollama, which carat only reads; 'ollama rm $name' removes it"
rm -rf "$HOME/.ollama/models"/*
if [ "$(id -u)" != 0 ]; then
    chmod 555 "$HOME/.ollama/models"
    expect 0 pull $name -q
    is_whole "$own"
    chmod 755 "$HOME/.ollama/models"
fi
export OLLAMA_MODELS=$work/absent # ollama never ran with it
clear_store
expect 0 pull $name -q
is_whole "$own"
unset OLLAMA_MODELS
rm -rf "$HOME/.ollama"

# ---- what is overcome ----
for fault in 'reset 30000' 'resets 150000' 'range-ignored' 'range-wrong' 'expires 1' '500 3' 'busy-list 2'; do
    clear_store
    ask $fault
    expect 0 pull $name -q
    is_whole "$own"
done
# a beginning of ours goes on, a wrong one does not; one of ollama's is left alone
for wrong in '' wrong; do
    clear_store
    mkdir -p "$own/.carat" "$own/blobs"
    echo x >"$own/blobs/sha256-$weights-partial"
    head -c 100000 "$tag/model" >"$own/.carat/sha256-$weights.incomplete"
    [ -z "$wrong" ] || printf '%s' $wrong | dd of="$own/.carat/sha256-$weights.incomplete" conv=notrunc status=none
    ask
    expect 0 pull $name -q
    [ "$(cat "$own/blobs/sha256-$weights-partial")" = x ] || die "ollama's own part was touched"
    rm "$own/blobs/sha256-$weights-partial"
    is_whole "$own"
    all=$(cat "$tag"/* | wc -c)
    [ -n "$wrong" ] || [ "$(blobs)" = $((all - 100000)) ] || die "a part came again: $(cat "$work/log")"
done

# ---- what ends it: one line, and nothing leads to anything ----
while read -r code words fault; do
    clear_store
    ask $fault
    refuse "$code" pull $name -q
    err_has "${words//_/ }"
    no_name "$fault"
done <<'END'
3 what_came_has_the_hash flip 100
3 is_compressed\|the_server_has gzip
3 layer_[0-9]*_has_no_digest bad-hash
3 layer_[0-9]*_has_no_digest bad-name
3 layer_[0-9]*_has_no_digest huge-size
3 the_registry.s_manifest html
3 the_registry.s_manifest deep
3 the_manifest_has_[0-9]*_bytes,_expected many 1000
3 the_answer_has_more_than many 20000
4 the_model_has_several_layers many 2
3 it_is_missing_or_private gated
3 there_is_no_such_model_or_tag missing
3 the_server_has_[0-9]*_bytes long
END
clear_store
ask
refuse 3 pull registry.ollama.ai/library/gemma3:none
err_has 'library/gemma3:none: its manifest: there is no such model or tag (status 404)'
refuse 3 pull registry.ollama.ai/nobody/x -q
refuse 3 pull 'registry.ollama.ai/../../x' -q
for kind in projector adapter tensor spell; do
    odd=$work/served/ollama/me/$kind/latest
    mkdir -p "$odd"
    cp "$tag/model" "$odd"
    echo x >"$odd/$kind"
    refuse 4 pull ollama.com/me/$kind -q
    err_has "me/$kind:latest: the model has .*image.$kind"
done
no_name 'a layer that is not read'

# ---- kill: what is there is whole or a beginning, and the next one goes on ----
head -c 6000000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 >>"$tag/license" 2>/dev/null
clear_store
for ((i = 1; i <= 12; i++)); do
    ask link 4000000
    "$CARAT" pull $name -q >/dev/null 2>&1 &
    victim=$!
    sleep 0.$((i * 7 % 10))$((i % 10))
    child=$(pgrep -P $victim carat-fetch || true)
    kill -9 $victim $child 2>/dev/null || true
    wait $victim 2>/dev/null || true
    [ ! -e "$(manifest_of "$own")" ] || is_whole "$own"
    for file in "$own"/blobs/*; do
        [ ! -e "$file" ] || [ "sha256-$(sha256sum <"$file" | cut -d ' ' -f 1)" = "${file##*/}" ] || die "$file is not whole"
    done
    [ $((i % 4)) -gt 0 ] || clear_store
done
ask
expect 0 pull $name -q
rm -f "$own"/.carat/manifest-*
is_whole "$own"

# ---- ollama clears what no manifest names: then none may name it ----
clear_store
ask link 4000000
"$CARAT" pull $name -q >out 2>err &
pull=$!
terms=$own/blobs/sha256-$(sha256sum <"$tag/license-2" | cut -d ' ' -f 1)
until [ -e "$terms" ]; do sleep 0.01; done
rm "$terms"
code=0
wait $pull || code=$?
[ $code = 1 ] || die "a blob has gone, and the exit code is $code"
err_has 'another program has removed it; begin again'
no_name 'a blob has gone'

# ---- eight at once: one body of each blob ----
clear_store
ask
for ((i = 0; i < 8; i++)); do "$CARAT" pull $name -q >eight.$i 2>&1 & done
for job in $(jobs -p | grep -vx "$server"); do wait "$job" || die "one of eight failed: $(cat eight.*)"; done
is_whole "$own"
[ "$(blobs)" = "$(cat "$tag"/* | wc -c)" ] || die "eight were sent $(blobs) bytes"
