#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_convert_hf.sh: `carat convert` to a Hugging Face directory: it is the model again, bit by bit, from and
# to GGUF, in one file or in several; what its source says beside the weights stays as it is; and what is
# refused or stopped leaves nothing. That other programs open it is tools/check_peers.py's to show.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way

declare -A hash
look() { # at a model: its content hash
    [ -z "${hash[$1]-}" ] || return 0
    expect 0 verify "$1" --json --no-cache
    hash[$1]=$(sed -n 's/.*XXH3-128 \([0-9a-f]*\).*/\1/p' out)
}

# the same weights, ids, template, logits
same_model() { # wanted got
    look "$1"
    look "$2"
    [ "${hash[$1]}" = "${hash[$2]}" ] || die "$2: the content hash is another one"
    for verb in tokenize 'tokenize --special'; do
        "$CARAT" $verb "$1" -f text >wanted.ids
        "$CARAT" $verb "$2" -f text >out
        same wanted.ids out
    done
    expect 0 logits "$1" -p 'Is the crow black?' -o wanted.npy --exact --no-cache
    expect 0 logits "$2" -p 'Is the crow black?' -o got.npy --exact --no-cache
    same wanted.npy got.npy
    expect 0 render "$1" --messages talk.json
    cp out wanted
    expect 0 render "$2" --messages talk.json
    same wanted out
}

echo '[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"},{"role":"user","content":"<b>"}]' >talk.json
{
    cat "$CARAT_SOURCE/NUMERICS.md"
    for run in '\n' ' ' '\t'; do # whose merges come first
        for n in 1 2 31 32 70; do
            for _ in $(seq "$n"); do printf "%b" "$run"; done
            printf 'x<bos><b>\303\251'
        done
    done
} >text
tiny4=$CARAT_SOURCE/test/fixtures/tiny4
for model in "$tiny" "$tiny4"; do
    name=my-${model##*/}
    # there and back: every step is the model, and the second file is the first
    expect 0 convert "$model" "$name.gguf"
    expect 0 convert "$name.gguf" "$name" -t 1
    out_is ''
    same_model "$name.gguf" "$name"
    expect 0 convert "$name" "$name-again.gguf"
    same_model "$name.gguf" "$name-again.gguf"
    expect 0 convert "$name" "$name-again" -t 3
    for file in "$name"/*; do
        same "$file" "$name-again/${file##*/}"
    done
    # both forms of scores, one of merges; pieces that are cut out of a text stand in both texts
    [ -f "$name/tokenizer.json" ] || die "no tokenizer.json"
    [ -f "$name/tokenizer.model" ] || [ "$model" = "$tiny4" ] || die "no tokenizer.model"
    [ ! -f "$name/tokenizer.model" ] || [ "$model" = "$tiny" ] || die "merges in a tokenizer.model"
    n=$(grep -c '^{"id":.*"normalized":false' "$name/tokenizer.json")
    [ "$n" -gt 20 ] || [ "$model" = "$tiny4" ] || die "$n added tokens"
    [ "$(grep -c '^    "[0-9]*": {"content":' "$name/tokenizer_config.json")" = "$n" ] || die "other added tokens"
    # out of a directory everything stays as it is
    expect 0 convert "$model" "$name-copy"
    for file in "$model"/*; do
        case $file in */tools.json | *.safetensors) continue ;; esac
        same "$file" "$name-copy/${file##*/}"
    done
    same_model "$model" "$name-copy"
    # several files
    expect 0 convert "$name" "$name-parts" --shard-size 500K
    second=$(echo "$name-parts"/model-00002-of-000??.safetensors)
    [ -f "$second" ] || die "there are no parts"
    [ ! -e "$name-parts/model.safetensors" ] || die "there is a whole beside the parts"
    same_model "$name" "$name-parts"
done

# what tokenizer.json cannot hold stands in tokenizer.model alone
LC_ALL=C sed 's/<unused1>/<unused0>/' my-tiny.gguf >twice.gguf
expect 0 convert twice.gguf twice
err_has 'the vocabulary is written as tokenizer.model alone: two pieces are one text'
[ -f twice/tokenizer.model ] && [ ! -e twice/tokenizer.json ] || die "two pieces of one text"

# the type of the config is that of the weights, and nothing else of it changes
expect 0 convert "$tiny" half --type f16
sed 's/"torch_dtype": "bfloat16"/"torch_dtype": "float16"/' "$tiny/config.json" >wanted
same wanted half/config.json
expect 0 convert "$tiny4" wide --type f32
sed 's/"dtype": "bfloat16"/"dtype": "float32"/' "$tiny4/config.json" >wanted
same wanted wide/config.json
# what was quantised becomes BF16, and what is a float stays
expect 0 convert "$tiny" small.gguf --type q8_0
expect 0 convert small.gguf small
grep -q '"torch_dtype": "bfloat16"' small/config.json || die "Q8_0 is not written as BF16"
expect 0 run small 'What color is the horse?' -n 8 --temp 0 --no-cache
out_is 'The horse is white.'$'\n'
# --to stands above the ending
expect 0 convert my-tiny.gguf named.gguf --to safetensors
[ -f named.gguf/model.safetensors ] || die "--to safetensors made no directory"
expect 0 convert my-tiny.gguf named --to gguf
same my-tiny.gguf named

# What is there stays, and what fails leaves nothing.
refuse 2 convert my-tiny.gguf x --type q8_0
err_has 'safetensors have no place for blocks of Q8_0'
refuse 1 convert my-tiny.gguf my-tiny
err_has 'my-tiny has files in it: name a new directory, or an empty one'
refuse 1 convert my-tiny.gguf talk.json
err_has 'talk.json is there and is no directory'
refuse 1 convert my-tiny.gguf /dev/null
refuse 1 convert my-tiny.gguf .
refuse 1 convert my-tiny.gguf nowhere/x
mkdir empty linked
ln -s linked link
refuse 1 convert my-tiny.gguf link
expect 0 convert my-tiny.gguf empty/
same_model my-tiny empty
refuse 2 convert my-tiny.gguf x --to onnx
expect 0 pack "$tiny" -o packed.carat
expect 4 convert packed.carat x
err_has "packed.carat: a packed file does not have all of a directory: convert .*tiny, which it was made from"
# a killed process left something there
mkdir -p x.carat-part/1_Dense
touch x.carat-part/left x.carat-part/1_Dense/left
expect 0 convert my-tiny.gguf x
[ -f x/model.safetensors ] || die "nothing is written beside what was left"
[ ! -e x/left ] && [ ! -e x/1_Dense ] || die "what a killed process left is there"
rm -r x
# a weight that is not finite
expect 0 convert "$tiny" whole.gguf --type f32
at=$(($(stat -c %s whole.gguf) - 4))
printf '\0\0\300\177' | dd of=whole.gguf bs=1 seek=$at conv=notrunc status=none
refuse 4 convert whole.gguf x
err_has 'expected a finite number'
# no room
(ulimit -f 100 && expect 1 convert my-tiny.gguf x)
# what follows the type of the embedding is said
expect 0 convert my-tiny4.gguf scaled --type f32
err_has 'the embedding is multiplied by 11.31371 in a directory where it is F32, and by 11.3125 in the model: +0.011 %'
expect 0 convert my-tiny4.gguf unscaled
out_is ''
err_has 'the embedding is multiplied by 11.3125, the root of 128 in BF16, as in the model; a reference that opens the directory in float32 has 11.31371'
# stopped, and two at once: one makes it, and nothing else is left
expect 0 convert "$tiny" big.gguf --type f32
for _ in 1 2 3; do
    "$CARAT" convert big.gguf both 2>/dev/null &
    first=$!
    "$CARAT" convert big.gguf both 2>/dev/null &
    second=$!
    "$CARAT" convert big.gguf stopped 2>/dev/null &
    third=$!
    while [ ! -d stopped.carat-part ] && kill -0 $third 2>/dev/null; do :; done
    kill -INT $third 2>/dev/null || true
    ok=0
    wait $first && ok=$((ok + 1))
    wait $second && ok=$((ok + 1))
    [ $ok = 1 ] || die "$ok of two made one directory"
    wait $third || true
    [ ! -d stopped ] || [ -f stopped/model.safetensors ] || die "half a directory"
    [ -f both/model.safetensors ] || die "nobody made it"
    rm -rf both stopped
done
[ ! -e x ] || die "there is a directory, though what it should hold failed"
! ls -d ./*carat-part* 2>/dev/null || die "a part is left"
