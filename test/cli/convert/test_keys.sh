#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_keys.sh: `carat convert --set`, `quantize --override-kv` and `convert --metadata-only`: keys change,
# their order and all else stay; what cannot be read, or contradicts tensors, is refused by name and leaves
# nothing; and how CoreML's converter is typed.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way

expect 0 convert "$tiny" plain.gguf
key() { # MODEL NAME: as `carat show --json` has it
    expect 0 show "$1" --json
    grep -o "\"$2\": *[^,}]*" out | head -n 1 | sed 's/.*: *//'
}
is() { # MODEL NAME VALUE
    [ "$(key "$1" "$2")" = "$3" ] || die "$1 has $2 of $(key "$1" "$2"), expected $3"
}

# values get the types of their keys; new keys what they look like; tensors stay
expect 0 convert plain.gguf x.gguf --set general.name=Foo --set gemma3.context_length=999 \
    --set gemma3.attention.layer_norm_rms_epsilon=1e-5 --set my.real=0.5 --set my.flag=true --set my.text=7x --set my.n=-3
is x.gguf name '"Foo"'
is x.gguf max_context 999
for name in my.real my.flag my.text my.n; do
    grep -aq "$name" x.gguf || die "$name is not there"
done
expect 0 compare plain.gguf x.gguf -p hi -n 1
expect 0 convert x.gguf y.gguf --set gemma3.context_length="$(key plain.gguf max_context)" --set general.name=
[ "$(grep -ao 'general.name' y.gguf | wc -l)" = 1 ] || die "a key is there twice"
# longer, shorter and as before: the bytes of a file that was never changed
expect 0 convert plain.gguf x.gguf --set gemma3.context_length=77 --set gemma3.attention.layer_norm_rms_epsilon=1
expect 0 convert x.gguf y.gguf --set gemma3.context_length="$(key plain.gguf max_context)" \
    --set gemma3.attention.layer_norm_rms_epsilon=1e-6
same plain.gguf y.gguf
expect 0 convert plain.gguf a.gguf --set tokenizer.ggml.add_space_prefix=true
expect 0 convert a.gguf b.gguf --set tokenizer.ggml.add_space_prefix=false
same plain.gguf b.gguf
expect 0 convert "$tiny" a.gguf --type q8_0 --set general.name=A --set general.name=B
is a.gguf name '"B"'

# what is refused, and with what; nothing is written
while IFS='|' read -r code set words; do
    refuse "$code" convert plain.gguf no.gguf --set "$set"
    err_has "$words"
    [ ! -e no.gguf ] || die "$set: a file was written"
    ! ls ./*carat-part* 2>/dev/null || die "a part is left"
done <<'END'
2|nothing|set is "nothing", expected KEY=VALUE
2|=x|expected KEY=VALUE
2|:int=1|expected KEY=VALUE
2|gemma3.context_length=x|gemma3.context_length is "x", expected a whole number
2|gemma3.context_length=-1|from 0 on
2|gemma3.context_length=4294967296|that its type holds
2|gemma3.context_length=1.5|expected a whole number
2|gemma3.rope.freq_base=nan|gemma3.rope.freq_base is "nan", expected a number
2|gemma3.rope.freq_base=1e39|expected a number
2|tokenizer.ggml.add_bos_token=2|expected true or false
2|tokenizer.ggml.tokens=1|tokenizer.ggml.tokens is an array
2|my.key:word=1|the type of my.key is "word", expected int, float, bool or str
2|general.alignment=64|general.alignment says how the file lies
2|split.count=2|split.count says how
2|carat.palette=1|carat.palette says how
4|gemma3.context_length=0|"gemma3.context_length" is 0
4|gemma3.context_length:str=a|gemma3.context_length
4|gemma3.block_count=7|7 layers
4|gemma3.block_count=5|5 layers
4|gemma3.embedding_length=128|values of a row of 256, but GGUF would say 128
4|gemma3.feed_forward_length=128|another shape of layer 0
4|gemma3.attention.head_count=2|another shape of layer 0
4|general.architecture=gemma2|gemma2.block_count
4|general.architecture=foo|general.architecture "foo"
4|tokenizer.ggml.model=bar|tokenizer.ggml.model
4|tokenizer.ggml.bos_token_id=99999|tokenizer.ggml.bos_token_id
4|carat.embedding_scale=-1|carat.embedding_scale
4|carat.residual_scale=0|carat.residual_scale
END
refuse 2 convert plain.gguf folder --set general.name=x
err_has 'keys are set in GGUF files alone'

# as llama-quantize is typed
expect 0 quantize --override-kv general.name=str:7 --override-kv gemma3.context_length=int:512 \
    --override-kv gemma3.rope.freq_base=float:5e5 --override-kv my.flag=bool:true plain.gguf q.gguf Q8_0
is q.gguf name '"7"'
is q.gguf max_context 512
refuse 2 quantize --override-kv general.name=7 plain.gguf x.gguf Q8_0
err_has '--override-kv is KEY=TYPE:VALUE'
refuse 2 quantize --override-kv a=word:7 plain.gguf x.gguf Q8_0
refuse 2 run plain.gguf hi --override-kv a=int:1

# keys anew, tensors as they are: what was changed is undone, types and recipe stay
expect 0 convert "$tiny" q8.gguf --type q8_0
expect 0 convert q8.gguf changed.gguf --set general.name=X --set gemma3.context_length=77 --set tokenizer.chat_template=x
expect 0 convert "$tiny" changed.gguf --metadata-only
expect 0 convert "$tiny" changed.gguf --metadata-only # once more: the same
is changed.gguf type '"Q8_0"'
is changed.gguf max_context "$(key plain.gguf max_context)"
expect 0 show changed.gguf --tensors
sed -n '/^tensors/,$p' out >a
expect 0 show q8.gguf --tensors
sed -n '/^tensors/,$p' out >b
same a b
grep -aq carat.recipe changed.gguf || die "the recipe is gone"
expect 0 compare q8.gguf changed.gguf -p hi -n 1
expect 0 convert "$tiny" half.gguf --tied --residual-scale 0.5
cp half.gguf before.gguf
expect 0 convert "$tiny" half.gguf --metadata-only
expect 0 compare half.gguf before.gguf -p hi -n 1 --ref exact --test exact
grep -aq carat.embedding_scale half.gguf || die "the scale is gone"
expect 0 convert plain.gguf changed.gguf --metadata-only --set general.name=Z
is changed.gguf name '"Z"'
cp q8.gguf kept.gguf
refuse 4 convert "$tiny" missing.gguf --metadata-only
expect 4 convert "$CARAT_SOURCE/test/fixtures/tiny4" q8.gguf --metadata-only
expect 4 convert "$CARAT_SOURCE/test/data/vectors/models/gemma3-bf16" q8.gguf --metadata-only
same kept.gguf q8.gguf
for more in '--type q4_0' '--recipe all=q4_0' '--residual-scale 0.5' --dry-run; do
    # shellcheck disable=SC2086 # two words
    refuse 2 convert "$tiny" q8.gguf --metadata-only $more
    err_has 'nothing else is asked for with it'
done
refuse 4 convert "$tiny" "$CARAT_SOURCE/LICENSE" --metadata-only
refuse 4 convert "$tiny" q8.gguf --metadata-only --to safetensors
err_has 'q8.gguf is no directory of safetensors'

# of a directory: what stands beside its tensors, which stay
for how in '' '--type f32' '--residual-scale 0.5'; do
    rm -rf dir
    # shellcheck disable=SC2086 # two words, or none
    expect 0 convert "$tiny" dir $how
    cp -r dir before
    sed -i 's/"max_position_embeddings": *[0-9]*/"max_position_embeddings": 64/' dir/config.json
    rm dir/tokenizer_config.json dir/generation_config.json
    echo mine >dir/notes.txt
    expect 0 convert "$tiny" dir --metadata-only
    [ "$(cat dir/notes.txt)" = mine ] || die "a file of the user's has gone"
    rm dir/notes.txt
    diff -r before dir || die "convert $how: --metadata-only made another directory"
    rm -r before
    ! ls -d dir?* 2>/dev/null || die 'something was left'
done
is dir max_context "$(key plain.gguf max_context)"
cp -r dir before
expect 4 convert "$CARAT_SOURCE/test/fixtures/tiny4" dir --metadata-only
expect 4 convert "$CARAT_SOURCE/test/data/vectors/models/gemma3-bf16" dir --metadata-only
refuse 4 convert "$tiny" missing/ --metadata-only
refuse 2 convert "$tiny" dir --metadata-only --type bf16
rm dir/model.safetensors
expect 4 convert "$tiny" dir --metadata-only
cp before/model.safetensors dir
diff -r before dir || die 'what was refused changed the directory'
! ls -d dir?* 2>/dev/null || die 'something was left'

# as CoreML's converter is typed
expect 0 convert --model "$tiny" --output x.gguf --context 512 --batch 64 --chunk 2 --prefix abc --skip-check
[ "$(grep -c '^note: one file serves every context' err)" = 1 ] || die "not one note"
err_has '--lm-tile 16384'
same plain.gguf x.gguf
expect 0 convert --model "$tiny" --output l.gguf --lut1 none --lut2 4,8 --lut3 6,4
refuse 2 convert --model "$tiny"
err_has 'convert needs a model and OUT'
refuse 2 convert "$tiny" x.gguf --output y.gguf
err_has "OUT is 'x.gguf' and, by --output, 'y.gguf'"
