#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_written.sh: no option writes over a file that the command reads: the model whatever it consists of and
# however it is called, and every file that an option names. What is refused stays as it is, byte for byte.
. "$CARAT_SOURCE/test/cli/common.bash"

vectors=$CARAT_SOURCE/test/data/vectors
gguf=$vectors/gguf/q8_0.gguf
bench='-p 4 -n 1 -r 1'

# spares FILE CODE ARGUMENTS...: the command refuses and leaves FILE alone.
spares() {
    local file=$1
    shift
    cp "$file" before
    expect "$@"
    same before "$file"
    err_has '^error: E_[A-Z]*: '
    err_has 'name another file$'
    [ "$(ls -- *.part 2>/dev/null | wc -l)" = 0 ] || die 'something is left'
}

# a model that is one file, under its own name and others
cp "$gguf" m.gguf
ln m.gguf hard
ln -s m.gguf soft
mkdir d
for name in m.gguf ./m.gguf d/../m.gguf hard soft "$PWD/m.gguf"; do
    spares m.gguf 2 logits m.gguf --ids 2 --out "$name"
    err_has 'option -o: .* is what the model is read from'
    spares m.gguf 2 bench m.gguf $bench --plot "$name"
    spares m.gguf 2 pack m.gguf -o "$name"
done
spares m.gguf 2 logits hard --ids 2 -o m.gguf
spares m.gguf 2 logits -m soft --ids 2 -o m.gguf
[ -L soft ] || die 'a link was replaced'
# through standard input
cp m.gguf before
code=0
"$CARAT" logits - --ids 2 -o m.gguf <m.gguf >out 2>err || code=$?
[ "$code" = 2 ] || die "exit code $code"
err_has 'is what the model is read from'
same before m.gguf
# and its packed form, in the cache or not
expect 0 pack m.gguf -o m.carat
spares m.gguf 2 logits m.carat --ids 2 -o m.gguf
spares m.carat 2 logits m.carat --ids 2 -o m.carat
expect 0 logits m.gguf --ids 2 -o fine.npy
for packed in "$XDG_CACHE_HOME"/carat/*.carat; do
    [ -e "$packed" ] || continue # the disk has no room for a cache
    spares "$packed" 2 logits m.gguf --ids 2 -o "$packed"
done

# every file of a directory, and those of another tokenizer
cp -R "$tiny" hf
cp -R "$vectors/models/gemma3-mm" shards
for file in hf/config.json hf/tokenizer.json hf/tokenizer.model hf/model.safetensors shards/*; do
    [ -e "$file" ] || continue
    spares "$file" 2 logits "${file%/*}" --ids 2 -o "$file"
    spares "$file" 2 bench "${file%/*}" $bench --no-cache --plot "$file"
    spares "$file" 2 pack "${file%/*}" -o "$file"
done
cp "$CARAT_SOURCE/test/data/text/tokenizer.model" t.model
for verb in 'logits tiny --ids 2 -o' 'pack tiny -o' "bench tiny $bench --plot"; do
    spares t.model 2 $verb t.model --tokenizer t.model
    err_has 'is what --tokenizer reads'
done

# what options read, before the model is even looked for
expect 0 bench tiny $bench -o json
mv out old.json
ln -s old.json link.json
spares old.json 2 bench no.gguf $bench --compare old.json --plot link.json
err_has '^error: E_USAGE: bench: option --plot: link.json is what --compare reads: name another file$'

spares old.json 2 bench no.gguf --prompt hi --bench-json old.json --tokenizer old.json
spares m.gguf 2 bench m.gguf --prompt hi --bench-json hard

# what is neither is written as ever, also beside the model and over another file
echo old >hf/other.npy
expect 0 logits hf --ids 2 -o hf/other.npy
[ "$(head -c 6 hf/other.npy | tail -c 5)" = NUMPY ] || die 'not written'
expect 0 logits tiny --ids 2 -o - --tokenizer t.model
expect 0 bench tiny $bench --plot /dev/null
