#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_rm.sh: carat rm takes a model's links, the blobs that nothing else needs and its packed copy, and no
# more; it asks first. Other programs' stores and what the hub's programs share are left to these.
. "${CARAT_SOURCE:?}/test/cli/hub.bash"
export OLLAMA_MODELS=$work/ollama LLAMA_CACHE=$work/llama KAGGLEHUB_CACHE=$work/kaggle
mkdir -p served/u/g home
for quant in Q8_0 Q4_0; do
    expect 0 convert tiny served/u/g/g-$quant.gguf --type ${quant,,}
done
serve
expect 0 pull gemma3:1b u/g:Q4_0 u/g:Q8_0
tree() { (cd "$HF_HUB_CACHE" && find . -path ./.locks -prune -o -print | sort); }
nowhere() { [ -z "$(find "$HF_HUB_CACHE" -xtype l)" ] || die "$1: a link leads nowhere"; }
tree >all

# ---- it asks ----
refuse 2 rm gemma3:1b
err_has 'rm: gemma3:1b: 5.43 MB would be free, and nobody is there to be asked: --yes removes it'
tree | cmp - all || die 'something has gone'
if script -qec true raw >/dev/null 2>&1; then
    typed n rm gemma3:1b && code=0 || code=$?
    [ $code = 1 ] || die "exit code $code: $(cat out)"
    out_has 'Remove gemma3:1b, which frees 5.43 MB? \[y/N\]'
    out_has 'rm: gemma3:1b was not removed'
    tree | cmp - all || die 'something has gone'
    typed y rm gemma3:1b || die "$(cat out)"
    [ ! -e "$folder" ] || die 'it is still there'
    expect 0 pull gemma3:1b
fi

# ---- one of two files ----
blob=$(readlink -f "$HF_HUB_CACHE/models--u--g/snapshots/$commit/g-Q4_0.gguf")
expect 0 rm u/g:Q4_0 -y
out_is 'removed u/g:Q4_0 (g-Q4_0.gguf), 1.60 MB are free'$'\n'
[ ! -e "$blob" ] || die 'the blob is still there'
nowhere 'one of two'
asks 0 0 run u/g hi -n 1
expect 0 rm u/g --yes
[ ! -e "$HF_HUB_CACHE/models--u--g" ] || die 'the repository is still there'
[ -e "$folder/refs/main" ] || die 'another repository has gone'
refuse 3 rm u/g --yes
err_has "rm: u/g is not on this machine; 'carat ls' lists what is"

# ---- blobs that another snapshot needs ----
other=89abcdef0123456789abcdef0123456789abcdef
cp -r "$folder/snapshots/$commit" "$folder/snapshots/$other"
rm "$folder/snapshots/$other/config.json"
cp "$tiny/config.json" "$folder/snapshots/$other/config.json" # no link: a system without them
expect 0 rm google/gemma-3-1b-it@$other --yes
err_has 'stay: other snapshots need them$'
[ ! -e "$folder/snapshots/$other" ] || die 'the snapshot is still there'
asks 0 0 run gemma3:1b hi -n 1 --no-cache
nowhere 'another snapshot'

# ---- the store that repositories share ----
hash=$(basename "$(readlink "$folder/snapshots/$commit/model.safetensors")")
mkdir -p "$HF_HUB_CACHE/blobs/${hash::2}"
echo 1 >"$HF_HUB_CACHE/.huggingface-shared-blobs"
mv "$folder/blobs/$hash" "$HF_HUB_CACHE/blobs/${hash::2}/$hash"
ln -s "../../blobs/${hash::2}/$hash" "$folder/blobs/$hash"
expect 0 ls --json
out_has '"shared_bytes":5265848'
expect 0 rm gemma3:1b --yes
out_has '^removed gemma3:1b, 164 kB are free$'
err_has "^note: 5.27 MB stay in the store that repositories share; 'hf cache prune' removes what none needs\$"
[ -f "$HF_HUB_CACHE/blobs/${hash::2}/$hash" ] || die 'the shared blob has gone'
[ ! -e "$folder" ] || die 'the repository is still there'
rm -r "$HF_HUB_CACHE"

# ---- the packed copy ----
expect 0 run gemma3:1b hi -n 1
if ! grep -q 'not kept packed' err; then
    expect 0 pull u/g:Q4_0
    expect 0 run u/g hi -n 1
    expect 0 run tiny hi -n 1
    refuse 2 rm gemma3:1b # it asks, and nobody is there
    expect 0 cache list
    out_has '^2 packed models, '
    expect 0 rm gemma3:1b --yes
    out_has '^removed gemma3:1b, 10.9 MB are free'
    expect 0 cache list
    out_has '^1 packed model, '
    expect 0 rm u/g --yes
    expect 0 cache list
    out_has '^0 packed models, '
else
    expect 0 rm gemma3:1b --yes
fi

# ---- what is only begun ----
serve silent
"$CARAT" pull gemma3:1b >out 2>err &
pull=$!
until compgen -G "$folder/blobs/*.incomplete" >/dev/null; do sleep 0.05; done
kill -INT $pull
wait $pull || true
serve
expect 0 rm gemma3:1b --yes
[ ! -e "$folder" ] || die 'what was begun is still there'

expect 0 pull u/g@$commit:g-Q4_0.gguf # a snapshot that no branch names is no rest of another
echo x >"$HF_HUB_CACHE/models--u--g/blobs/$commit.carat.incomplete"
expect 0 rm u/g:Q8_0 --yes
[ ! -e "$HF_HUB_CACHE/models--u--g/blobs/$commit.carat.incomplete" ] || die 'what was begun is still there'
asks 0 0 run u/g@$commit hi -n 1

# ---- names given with cp, and what is no model of the hub ----
expect 0 pull u/g:Q4_0
expect 0 cp u/g:Q4_0 mine
expect 0 rm mine
out_is 'removed the name mine; what it stood for is still there'$'\n'
asks 0 0 run u/g hi -n 1
asks 0 3 run mine hi
for name in tiny - ./served; do
    refuse 2 rm $name
done
refuse 3 rm nothing
refuse 3 rm google/gemma-3-4b-it
mkdir -p llama
cp served/u/g/g-Q4_0.gguf llama/v_h_h-Q4_0.gguf
refuse 2 rm v/h --yes
err_has "in the store of llama.cpp, which carat only reads; 'rm $work/llama/v_h_h-Q4_0.gguf' removes it"
[ -e llama/v_h_h-Q4_0.gguf ] || die "another program's file has gone"
refuse 2 rm

# ---- nothing may be changed there ----
if [ "$(id -u)" != 0 ]; then
    chmod -R a-w "$HF_HUB_CACHE"
    refuse 1 rm u/g --yes
    err_has 'cannot be removed: Permission denied'
    chmod -R u+w "$HF_HUB_CACHE"
fi
