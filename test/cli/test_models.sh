#!/usr/bin/env bash
# test_models.sh: models that are not there, not whole, or there under a name that needs care.
. "$CARAT_SOURCE/test/cli/common.bash"

for verb in 'run %s hi' 'logits %s --ids 2' 'tokenize %s hi' 'show %s' 'bench %s'; do
    # shellcheck disable=SC2059
    refuse 3 $(printf "$verb" ./absent)
    err_has 'absent'
done
refuse 3 run '' hi
refuse 3 tokenize $'no\nsuch\nmodel' hi

# `tiny` is inside the command even where a directory has that name; ./tiny is that directory
mkdir tiny
expect 0 show tiny
cp out embedded
code=0
"$CARAT" show ./tiny >out 2>err || code=$?
[ "$code" = 3 ] || [ "$code" = 4 ] || die "an empty directory gives $code"

# the same files from disk and from inside the command
cp "$tiny"/* tiny/
expect 0 show ./tiny
out_has '^memory for a context of'
expect 0 run tiny 'Once upon' --seed 7 -n 16
cp out from_memory
expect 0 run ./tiny 'Once upon' --seed 7 -n 16
same from_memory out

# cut short
head -c 100000 "$tiny/model.safetensors" >tiny/model.safetensors
refuse 4 run ./tiny hi
err_has 'model.safetensors'
refuse 4 show ./tiny
: >tiny/model.safetensors
refuse 4 show ./tiny
# the tokenizer beside the broken weights still serves
expect 0 tokenize ./tiny hi
cp out wanted
expect 0 tokenize tiny hi
same wanted out
expect 0 tokenize "$tiny/tokenizer.json" hi
same wanted out
mkdir only
cp "$tiny/tokenizer.json" only/
expect 0 tokenize only hi
same wanted out

expect 0 show tiny --tensors
out_has '^tensors'
expect 0 show tiny -c 100 --kv f32 --json --tensors
out_has '"context":100'
out_has '"tensors":\[{'
