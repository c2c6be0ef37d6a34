#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_convert_hf_members.sh: directories of drafters and embedders, out of both containers, are the model
# again: config.json and modules byte for byte where the source has them, else written; and K and V that
# nobody reads go along. That transformers opens them is tools/check_peers_hf.py's to show.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way

content() {
    expect 0 verify "$1" --json --no-cache
    sed -n 's/.*XXH3-128 \([0-9a-f]*\).*/\1/p' out
}

# there and back: every step has the weights of the first, and the last file is the second
round() { # model name
    expect 0 convert "$1" "$2-copy"
    expect 0 convert "$1" "$2.gguf"
    expect 0 convert "$2.gguf" "$2" -t 1
    expect 0 convert "$2" "$2-again.gguf" -t 3
    expect 0 convert "$2-again.gguf" "$2-again" -t 3
    local wanted out
    wanted=$(content "$1")
    for out in "$2-copy" "$2.gguf" "$2" "$2-again.gguf" "$2-again"; do
        [ -n "$wanted" ] && [ "$(content "$out")" = "$wanted" ] || die "$out: the content hash is another one"
    done
    for out in "$2"/*; do
        [ -d "$out" ] || same "$out" "$2-again/${out##*/}"
    done
    same "$1/config.json" "$2-copy/config.json"
}

# a drafter, which nothing but convert opens alone
expect 0 convert "$CARAT_SOURCE/test/fixtures/tiny4-assistant" drafter-copy
expect 0 convert "$CARAT_SOURCE/test/fixtures/tiny4-assistant" drafter.gguf
expect 0 convert drafter.gguf drafter -t 1
for in in drafter drafter-copy; do
    expect 0 convert "$in" again.gguf -t 3
    same drafter.gguf again.gguf
done
same "$CARAT_SOURCE/test/fixtures/tiny4-assistant/config.json" drafter-copy/config.json

data=$CARAT_SOURCE/test/data/embed/models
for name in embed1 embed2 embed2-other; do
    cp -rL "$data/$name" "in-$name"
    round "in-$name" "$name"
    expect 0 embed "in-$name" --ids 2,9,17 -o wanted.npy --exact --no-cache
    for out in "$name-copy" "$name" "$name-again"; do
        expect 0 embed "$out" --ids 2,9,17 -o got.npy --exact --no-cache
        same wanted.npy got.npy
    done
done
(cd in-embed1 && find . -type f ! -name '*.safetensors' -o -path '*_Dense/*') | while read -r file; do
    same "in-embed1/$file" "embed1-copy/$file"
done
for module in 1_Pooling/config.json 2_Dense/model.safetensors 3_Dense/config.json modules.json; do
    [ -s "embed1/$module" ] || die "embed1 out of GGUF has no $module"
done

# other programs end the texts of an embedder
expect 0 convert "$CARAT_SOURCE/models/tiny" words.gguf
expect 0 convert words.gguf words
grep -q '"add_eos_token": false' words/tokenizer_config.json || die "texts of tiny end"
cp words/tokenizer.json in-embed1
expect 0 convert in-embed1 ends.gguf
expect 0 convert ends.gguf ends
grep -q '"add_eos_token": true' ends/tokenizer_config.json || die "texts of an embedder do not end"
grep -q '"id":"A","type_id":0}},{"SpecialToken":{"id":"<eos>"' ends/tokenizer.json || die "nor in tokenizer.json"

# K and V of layers that read another's are dead, and in published files, as in tiny4
tiny4=$CARAT_SOURCE/test/fixtures/tiny4
names() { # without the prefix of the text tower
    expect 0 show "$1" --tensors
    sed -n 's/^ *\([a-z_.0-9]*layer[^ ]*\|blk[^ ]*\) .*/\1/p' out | sed 's/^model\.\(language_model\.\)\?//' | sort
}
expect 0 convert "$tiny4" dead-copy
names "$tiny4" >wanted
grep -q '^layers.5.self_attn.k_proj.weight' wanted || die "tiny4 has no dead K"
names dead-copy >got
diff wanted got >differ || die "dead-copy: $(cat differ)"
