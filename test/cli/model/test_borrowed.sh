#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_borrowed.sh: models in stores of other programs, which are made here from their documented layouts (the
# programs themselves were not run): run where they lie, defaults that ollama keeps beside them, and what is
# damaged or not for carat. No store may be changed.
. "$CARAT_SOURCE/test/cli/common.bash"
unset HF_HUB_CACHE HF_HOME LLAMA_CACHE KAGGLEHUB_CACHE
export HOME=$work/home OLLAMA_MODELS=$work/ollama HF_HUB_OFFLINE=1
library=$OLLAMA_MODELS/manifests/registry.ollama.ai/library
mkdir -p "$HOME" "$OLLAMA_MODELS/blobs" "$library/gemma3" "$library/mine"
expect 0 convert tiny x.gguf --type q8_0

# layer TYPE FILE: puts the file into the store and writes its entry.
layer() {
    local hash
    hash=$(sha256sum <"$2" | cut -d' ' -f1)
    cp "$2" "$OLLAMA_MODELS/blobs/sha256-$hash"
    printf '{"mediaType":"application/vnd.ollama.image.%s","digest":"sha256:%s","size":%d}' "$1" "$hash" "$(stat -c %s "$2")"
}
# model NAME/TAG ENTRY...
model() {
    local file=$library/$1 entries=$2
    shift 2
    for entry in "$@"; do entries+=,$entry; done
    echo "{\"schemaVersion\":2,\"layers\":[$entries]}" >"$file"
}

weights=$(layer model x.gguf)
printf '{"temperature": 0, "top_k": 5, "num_ctx": 4096}' >params
printf 'Answer in verse.' >system
printf '{{ .System }} [INST] {{ .Prompt }} [/INST]' >template
model gemma3/1b "$weights"
model mine/latest "$weights" "$(layer params params)" "$(layer system system)" "$(layer template template)"
model mine/image "$weights" "$(layer projector system)"
echo '{"layers":[' >"$library/mine/cut"
echo '[1]' >params
model mine/params "$weights" "$(layer params params)"
model mine/gone '{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:'"$(printf 'a%.0s' {1..64})"'"}'
find "$OLLAMA_MODELS" -exec stat -c '%n %s %Y %i' {} + | sort >before

# ---- ollama's: the same text as from the file ----
expect 0 run x.gguf 'Tell me' -n 24 --temp 0
mv out wanted
expect 0 run gemma3:1b 'Tell me' -n 24 --temp 0
same out wanted
expect 0 run gemma3-1B 'Tell me' -n 24 --temp 0
same out wanted
expect 0 show gemma3:1b
out_has 'gemma3:1b in the store of ollama'
# what lies beside the weights: defaults, which options go over, and a template that is not used
expect 0 run x.gguf 'Tell me' -n 24 --temp 0 -sys 'You are a pirate who counts numbers 1 2 3'
mv out wanted
expect 0 run mine 'Tell me' -n 24 -sys 'You are a pirate who counts numbers 1 2 3'
same out wanted
err_has 'the template in the store of ollama has text of its own, which is not used'
expect 0 run x.gguf 'Tell me' -n 24 --temp 0 -sys 'Answer in verse.'
differ out wanted
mv out wanted
for seed in 1 2; do
    expect 0 run mine 'Tell me' -n 24 -s $seed
    same out wanted
done
expect 0 run x.gguf 'Tell me' -n 24 -sys 'Answer in verse.' --temp 9 --top-k 5 -s 3
mv out wanted
expect 0 run mine 'Tell me' -n 24 --temp 9 -s 3
same out wanted
expect 0 show mine
out_has "store's params *{\"temperature\": 0, \"top_k\": 5, \"num_ctx\": 4096}"
out_has "store's system *Answer in verse."
out_has "store's template .*INST"
# damaged, not for carat, incomplete
refuse 4 run mine:image hi
err_has 'the model has a projector'
refuse 4 run mine:cut hi
refuse 4 run mine:params hi
err_has 'are no object of JSON'
refuse 3 run mine:gone hi
err_has "mine:gone, of which sha256-a*a is not on this machine, though ollama knows it; 'ollama pull mine:gone' fetches it"
refuse 3 run ollama.com/library/gemma3:4b hi
err_has "is not on this machine; 'carat pull ollama.com/library/gemma3:4b' fetches it, but HF_HUB_OFFLINE forbids that"
refuse 3 pull ollama.com/library/gemma3:4b
err_has 'registry.ollama.ai/library/gemma3:4b is not fetched: HF_HUB_OFFLINE forbids it'
refuse 2 pull mine:gone
err_has "is ollama's: 'ollama pull mine:gone' fetches it, and carat runs it there"

# ---- the other stores ----
mkdir -p "$HOME/.lmstudio/models/u/studio" "$HOME/.cache/kagglehub/models/google/gemma-3/gguf/1b/2" "$XDG_CACHE_HOME/llama.cpp"
cp x.gguf "$XDG_CACHE_HOME/llama.cpp/u_flat-GGUF_x-Q8_0.gguf"
cp x.gguf "$HOME/.lmstudio/models/u/studio/x-Q8_0.gguf"
cp x.gguf "$HOME/.cache/kagglehub/models/google/gemma-3/gguf/1b/2/x.gguf"
refuse 3 run kaggle://google/gemma-3/gguf/1b hi
err_has 'of which x.gguf is not on this machine'
touch "$HOME/.cache/kagglehub/models/google/gemma-3/gguf/1b/2.complete"
expect 0 run x.gguf 'Tell me' -n 24 --temp 0
mv out wanted
for name in u/flat-GGUF:q8_0 u/studio kaggle://google/gemma-3/gguf/1b kaggle://google/gemma-3/gguf/1b/2; do
    expect 0 run "$name" 'Tell me' -n 24 --temp 0
    same out wanted
done
expect 0 show kaggle://google/gemma-3/gguf/1b
out_has 'in the store of Kaggle, version 2'
mkdir -p elsewhere/models/u/moved
cp x.gguf elsewhere/models/u/moved/
printf '%s/elsewhere\n' "$work" >"$HOME/.lmstudio-home-pointer"
expect 0 run u/moved 'Tell me' -n 24 --temp 0
same out wanted
refuse 3 run kaggle://google/gemma-3 hi
err_has 'expected OWNER/MODEL/FRAMEWORK/VARIATION'

find "$OLLAMA_MODELS" -exec stat -c '%n %s %Y %i' {} + | sort | diff before - >&2 || die "the store of ollama was changed"
