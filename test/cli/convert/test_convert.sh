#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_convert.sh: `carat convert`: the file is the model again (content hash, ids, answers), the same bytes
# for every number of threads and from a file that was written before; and what it refuses leaves nothing. The
# bytes of types are test/quant/test_encode_row.c's.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way

content() { # of a model
    expect 0 verify "$1" --json
    sed -n 's/.*XXH3-128 \([0-9a-f]*\).*/\1/p' out
}

expect 0 convert "$tiny" same.gguf
out_is ''
[ "$(content same.gguf)" = "$(content "$tiny")" ] || die "the content hash is another one"
"$CARAT" tokenize "$tiny" -f "$CARAT_SOURCE/NUMERICS.md" >wanted
"$CARAT" tokenize same.gguf -f "$CARAT_SOURCE/NUMERICS.md" >out
same wanted out
expect 0 logits "$tiny" -p 'Is the crow black?' -o wanted.npy --exact
expect 0 logits same.gguf -p 'Is the crow black?' -o got.npy --exact
same wanted.npy got.npy
echo '[{"role":"user","content":"hi"}]' >talk.json
expect 0 render "$tiny" --messages talk.json
cp out wanted
expect 0 render same.gguf --messages talk.json
same wanted out

# Gemma 4: inputs of layers, shared K and V, heads of two widths, pairs that stand still
tiny4=$CARAT_SOURCE/test/fixtures/tiny4
expect 0 convert "$tiny4" same4.gguf
[ "$(content same4.gguf)" = "$(content "$tiny4")" ] || die "tiny4: the content hash is another one"
"$CARAT" tokenize "$tiny4" -f "$CARAT_SOURCE/NUMERICS.md" >wanted
"$CARAT" tokenize same4.gguf -f "$CARAT_SOURCE/NUMERICS.md" >out
same wanted out
expect 0 run "$tiny4" 'What color is the horse?' --temp 0 --no-cache
cp out wanted
expect 0 convert same4.gguf small4.gguf --type q8_0
expect 0 run small4.gguf 'What color is the horse?' --temp 0 --no-cache
same wanted out

# an added token without a row, as Gemma 3 has one for pictures: left out, by whoever opens the model
cp -r "$tiny" picture
sed -i 's|"added_tokens":\[|&{"id":1024,"content":"<image_soft_token>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},|' picture/tokenizer.json
for how in 'convert picture same.gguf' 'convert picture x.gguf --dry-run' 'quantize picture picture.gguf q8_0' \
    'run picture Hi -n 2 --no-cache' 'convert picture again'; do
    # shellcheck disable=SC2086  # words of a command line
    expect 0 $how
    err_has 'note: 1 added token, <image_soft_token> = 1024, lies beyond the 1024 rows of the table: left out'
done
expect 0 tokenize "$tiny" --special 'a <image_soft_token> b'
mv out wanted
for model in picture picture/tokenizer.json; do # of the model; of no model
    expect 0 tokenize $model --special 'a <image_soft_token> b'
    [ $model = picture ] || break
    err_has '<image_soft_token> = 1024, lies beyond the 1024 rows of the table: left out'
    same wanted out
done
differ wanted out
expect 0 run picture Hi -n 2 # out of its packed copy, too
expect 0 tokenize picture --special 'a <image_soft_token> b'
same wanted out
[ "$(content same.gguf)" = "$(content "$tiny")" ] || die "added tokens: the content hash is another one"
expect 0 run picture.gguf Hi -n 2

for type in f32 f16 bf16 q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs mxfp4; do
    expect 0 convert "$tiny" $type.gguf --type $type -t 1
    expect 0 convert "$tiny" other.gguf --type $type -t 3
    same $type.gguf other.gguf
    expect 0 run $type.gguf 'What color is the horse?' -n 8 --temp 0 --no-cache
    out_is 'The horse is white.'$'\n'
    expect 0 convert $type.gguf other.gguf
    same $type.gguf other.gguf
done

# what closes a conversion, and a dry run of it, is one line; another type than was asked for is told before
expect 0 convert "$tiny" some.gguf --type q4_k_m
err_has 'note: [0-9]* tensors: .*[0-9]* Q4_K.*; [0-9.]* MB -> [0-9.]* MB, [0-9.]* bits a weight'
cp err wanted
expect 0 convert "$tiny" some.gguf --type q4_k_m --dry-run
grep 'bits a weight' wanted >line
grep 'bits a weight' err | cmp - line || die "a dry run tells another sum"
expect 0 convert "$tiny4" some.gguf --recipe all=q4_0,embed=q6_k
err_has 'note: 1 tensor, token_embd.weight first, becomes Q8_0 instead of Q6_K, of whose blocks a row of [0-9]* values is no multiple'
expect 0 quantize "$tiny4" some.gguf 15
err_has 'bits a weight'

# a file that is there gives way by force alone, or when a terminal agrees
unset CARAT_ARG_FORCE
echo mine >there.gguf
for how in "convert $tiny there.gguf" "quantize $tiny there.gguf q8_0" "pack $tiny -o there.gguf" \
    "imatrix $tiny --ids 2,5 -o there.gguf"; do
    # shellcheck disable=SC2086  # words of a command line
    expect 1 $how
    err_has 'there.gguf is there already and stays as it is: name another file, or --force replaces it'
    [ "$(cat there.gguf)" = mine ] || die "$how: the file was replaced"
    # shellcheck disable=SC2086
    expect 0 $how --force
    case $how in imatrix*) err_has 'there.gguf: F32, .*how much columns matter over 2 tokens' ;; esac
    [ "$(head -c 4 there.gguf)" != mine ] || die "$how: the file was not replaced"
    echo mine >there.gguf
done
expect 0 convert "$tiny" there.gguf --dry-run
export CARAT_ARG_FORCE=1

# gemma.cpp's factor of a matrix has no place in GGUF: what it makes of the values is kept
sbs=$CARAT_SOURCE/test/data/sbs/g1-sfp.sbs
expect 0 convert "$sbs" sbs.gguf
[ "$("$CARAT" convert "$sbs" sbs.gguf --dry-run | grep -c 'SFP  *-> F32')" = 2 ] || die "a factor is lost"

# SFP, which GGUF does not have, and rows that are no multiple of 256 would be the vectors': tests of src/.
# What exists gives way only to a whole file; what fails leaves nothing.
echo old >kept.gguf
refuse 1 convert "$tiny" nowhere/x.gguf
refuse 3 convert missing x.gguf
refuse 2 convert "$tiny" x.gguf --type q9
refuse 2 convert "$tiny"
refuse 1 convert same.gguf same.gguf
err_has 'same.gguf is what the model is read from: name another file'
refuse 1 convert "$tiny" /dev/null
expect 2 convert "$tiny" kept.gguf --type f33
[ "$(cat kept.gguf)" = old ] || die "a failure changed what was there"
expect 0 convert "$tiny" kept.gguf --type q8_0
same kept.gguf q8_0.gguf
! ls ./*carat-part* 2>/dev/null || die "a part is left"

# a weight that is not finite: nothing is written
expect 0 convert "$tiny" whole.gguf --type f32
at=$(($(stat -c %s whole.gguf) - 4))
cp whole.gguf nan.gguf
printf '\0\0\300\177' | dd of=nan.gguf bs=1 seek=$at conv=notrunc status=none
refuse 4 convert nan.gguf x.gguf --type q8_0
err_has "nan.gguf: tensor [a-z_.]* has -\{0,1\}nan in row [0-9]*, column [0-9]*, the value at byte $at; expected a finite number"
[ ! -e x.gguf ] || die "a file was written though a weight is not finite"

# what F16 does not hold: refused, or saturated and counted; blocks may hold it all the same
cp whole.gguf large.gguf
width=$(sed -n 's/.*"hidden_size": *\([0-9]*\).*/\1/p' "$tiny/config.json")
at=$(($(stat -c %s whole.gguf) - 2 * 4 * width - 4)) # before two norms: the last value of a matrix
printf '\0\0\200\310' | dd of=large.gguf bs=1 seek=$at conv=notrunc status=none # -262144
refuse 4 convert large.gguf x.gguf --type f16
err_has "has -262144 in row [0-9]*, column [0-9]*, the value at byte $at; expected at most 65504"
[ ! -e x.gguf ] || die "a file was written though F16 does not hold a value"
expect 0 convert large.gguf x.gguf --type f16 --clamp --report report.json
err_has '1 value was saturated to what F16 holds'
[ "$(grep -c '"clipped": 1,' report.json)" = 1 ] && grep -q '"largest_clipped": 262144' report.json || die "no clipped value"
expect 0 convert large.gguf y.gguf --type bf16
rm x.gguf y.gguf
printf '\377\377\177\377' | dd of=large.gguf bs=1 seek=$at conv=notrunc status=none # the lowest float
for type in bf16 q8_0; do
    refuse 4 convert large.gguf x.gguf --type $type
    err_has "large.gguf: tensor [a-z0-9._]* .*in row [0-9]*, column [0-9]*"
    [ ! -e x.gguf ] || die "$type: a file was written though a weight became infinite"
done
