#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_first_user_files.sh: what somebody meets who brings files of his own: nothing in them is replaced or
# passed over in silence. Numbers are those of the list that test_first_user.sh is the proof of.
. "$CARAT_SOURCE/test/cli/common.bash"

# copy NAME: tiny as a directory that may be written to
copy() {
    cp -r "$tiny" "$1"
    chmod -R u+w "$1"
}

# ---- 4: a chat template that was altered ----

copy tuned
sed -i 's/You are a model that can do function calling/You are Bob. &/' tuned/chat_template.jinja
differ "$tiny/chat_template.jinja" tuned/chat_template.jinja
altered='^note: .*tuned: its chat template is altered: .*built-in template functiongemma is used in its place$'
for opening in first packed 'from the cache'; do
    expect 0 run -m tuned -p hello -n 2
    [ "$(grep -c "$altered" err)" = 1 ] || die "opened $opening: not one note"
done
expect 0 cache list
out_has tuned
expect 0 pack tuned -o tuned.carat
expect 0 run -m tuned.carat -p hello -n 2
err_has '^note: .*tuned.carat: its chat template is altered'
expect 0 show tuned
out_has '^  chat template  *functiongemma, altered: '
expect 0 show tuned --json
out_has '"template_altered":true'
expect 0 verify tuned
out_has '^chat  *note  *altered: .*the built-in functiongemma is used in its place; generation ends at '
expect 0 verify tuned --json
out_has '"name":"chat","verdict":"otherwise","detail":"altered: '
# white space that means nothing is no alteration, and a published one is told by name
copy spaced
sed -i 's/{%- macro value(v) -%}/{%-macro   value(v)-%}\n\n/' spaced/chat_template.jinja
differ "$tiny/chat_template.jinja" spaced/chat_template.jinja
expect 0 run -m spaced -p hello -n 2
! grep -q altered err || die 'white space counts'
expect 0 show spaced
out_has "^  chat template  *functiongemma, that of carat's own tiny$"

# ---- 17: a link that leads nowhere is not absence ----

copy snapshot
mv snapshot/generation_config.json away
ln -s ../../blobs/0a1b snapshot/generation_config.json
refuse 3 run -m snapshot -p hello
err_has 'generation_config.json: is a link to ../../blobs/0a1b, which is not there$'
rm snapshot/generation_config.json
ln -s generation_config.json snapshot/generation_config.json
refuse 3 run -m snapshot -p hello
err_has 'generation_config.json: is a link that leads in a circle$'
# also where a packed form of the model is in the cache from before the link was made
rm snapshot/generation_config.json
expect 0 run -m snapshot -p hello -n 1
ln -s nowhere snapshot/generation_config.json
refuse 3 run -m snapshot -p hello -n 1

# ---- 17: linear scaling needs its factor; refusals say value, byte and exact bounds ----

copy scaled
sed -i 's/"rope_scaling": *null/"rope_scaling":{"rope_type":"linear"}/' scaled/config.json
refuse 4 show scaled
err_has 'config.json: rope_scaling.rope_type at byte [0-9]* is "linear", which needs a factor beside it$'
copy deep
sed -i 's/"num_hidden_layers": *[0-9]*/"num_hidden_layers":1e9/' deep/config.json
refuse 4 show deep
err_has 'config.json: num_hidden_layers at byte [0-9]* is 1e9, expected an integer from 1 to [0-9]*$'
copy hot
printf '{"temperature":"hot"}' >hot/generation_config.json
refuse 4 show hot
err_has 'generation_config.json: temperature at byte 15 is "hot", expected a number$'

# ---- 17: what was made for CoreML ----

mkdir -p ml/gemma_lm_head.mlmodelc
touch ml/meta.yaml
refuse 4 run -m ml -p hello
err_has 'ml holds a model converted to CoreML (\*.mlmodelc), .*: give the checkpoint it came from'

# ---- 8: folders that stand for a model ----

hub=hub/models--google--gemma-3-1b-it
hash=0123456789abcdef0123456789abcdef01234567
mkdir -p $hub/refs $hub/snapshots $hub/blobs
copy $hub/snapshots/$hash
refuse 3 run -m $hub -p hello
err_has 'is a folder of a hub cache without refs/main'
printf %s $hash >$hub/refs/main
expect 0 run -m $hub -p hello -n 2
cp out direct
expect 0 run -m $hub/snapshots/$hash -p hello -n 2
same direct out
expect 0 run -m $hub -p hello -n 2 # out of the cache
same direct out
expect 0 tokenize $hub hello
printf %s 99 >$hub/refs/main
refuse 3 run -m $hub -p hello
err_has 'refs/main names snapshots/99, which is not there'
printf ../../../tiny >$hub/refs/main
refuse 4 run -m $hub -p hello
err_has 'that name no snapshot'

gguf=$CARAT_SOURCE/test/data/vectors/gguf
mkdir one several
cp "$gguf/gemma1-f32.gguf" one/
touch one/mmproj-gemma.gguf one/README.md
expect 0 logits one --ids 2,3
cp out direct
expect 0 logits one/gemma1-f32.gguf --ids 2,3
same direct out
cp "$gguf/gemma1-f32.gguf" several/b.gguf
touch several/a.gguf several/m-00001-of-00002.gguf several/m-00002-of-00002.gguf
refuse 3 show several
err_has 'several holds 3 GGUF models: name one of "a.gguf", "b.gguf", "m-00001-of-00002.gguf"$'
