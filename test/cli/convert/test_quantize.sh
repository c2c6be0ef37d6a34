#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_quantize.sh: `carat quantize` is `carat convert` as llama-quantize is typed, and its options choose the
# same tensors; --imatrix, --report, --dry-run and `carat show --recipe`. Bytes are test_mixes.c's.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way

importance=$CARAT_SOURCE/test/data/convert/tiny-imatrix.gguf

# types FILE: "NAME TYPE" of every matrix
types() {
    expect 0 show "$1" --tensors
    sed -n 's/^  \([a-z0-9_.]*weight\) *\([A-Z0-9_]*\) .*/\1 \2/p' out
}
type_of() { sed -n "s/^$1 //p" types; }

expect 0 convert "$tiny" want.gguf --type q4_k_m
for words in 'Q4_K_M' 'q4_k_m 1' 'Q4_K 3' 15 '15 2'; do
    set -- $words
    expect 0 quantize "$tiny" x.gguf "$@"
    out_is ''
    same want.gguf x.gguf
done
expect 0 quantize --pure "$tiny" x.gguf Q4_K_M
expect 0 convert "$tiny" want.gguf --type q4_k_m --pure
same want.gguf x.gguf

expect 0 quantize --output-tensor-type q5_0 "$tiny" x.gguf Q4_K_M
types x.gguf >types
[ "$(type_of token_embd.weight)" = Q5_0 ] || die "a tied head keeps $(type_of token_embd.weight)"
expect 0 quantize --output-tensor-type q5_0 --token-embedding-type q4_1 --tensor-type 'attn_(q|k)=q8_0' \
    --tensor-type 'blk\.[02]\.=q5_1' "$tiny" x.gguf Q4_0
types x.gguf >types
for want in token_embd=Q4_1 blk.0.attn_q=Q8_0 blk.0.ffn_up=Q5_1 blk.2.attn_v=Q5_1 blk.1.ffn_up=Q4_0 \
    blk.0.attn_norm=F32; do
    [ "$(type_of "${want%=*}.weight")" = "${want#*=}" ] || die "$want: $(cat types)"
done
expect 0 convert "$tiny" apart.gguf --recipe head=f16
expect 0 quantize --leave-output-tensor apart.gguf x.gguf Q4_0
types x.gguf >types
[ "$(type_of output.weight) $(type_of token_embd.weight)" = 'F16 Q4_0' ] || die "$(cat types)"
expect 0 quantize --output-tensor-type q8_0 apart.gguf x.gguf Q4_0
types x.gguf >types
[ "$(type_of output.weight) $(type_of token_embd.weight)" = 'Q8_0 Q4_0' ] || die "$(cat types)"

rm -f x.gguf
refuse 2 quantize "$tiny" x.gguf Q4_X
err_has 'type "Q4_X" is no type that carat writes; did you mean q4_[01]?'
refuse 2 quantize "$tiny" x.gguf
err_has 'quantize needs IN, OUT and TYPE'
refuse 2 quantize "$tiny" x.gguf Q4_0 two
err_has "'two' is no number of threads"
refuse 2 quantize --tensor-type '=q8_0' "$tiny" x.gguf Q4_0
refuse 2 quantize --tensor-type 'attn(=q8_0' "$tiny" x.gguf Q4_0
err_has "'attn(' is no regular expression"
refuse 2 quantize --tensor-type 'attn_q=q9' "$tiny" x.gguf Q4_0
err_has 'is no type that carat writes'
[ ! -e x.gguf ] || die "a file was written"

# nothing is written, and all is said
expect 0 quantize --dry-run "$tiny" x.gguf Q4_K_M
cp out dry
[ ! -e x.gguf ] || die "--dry-run wrote a file"
out_has '^blk.5.ffn_down.weight  *256 x 256  *BF16 *-> Q6_K  *53760$'
expect 0 show "$tiny" --type q4_k_m
same dry out
expect 0 convert "$tiny" x.gguf --type q4_k_m --dry-run
same dry out
expect 0 show "$tiny" --recipe 'head=q8_0' --json
out_has '"name": *"output.weight", *"from": *"BF16", *"to": *"Q8_0"'
refuse 2 show "$tiny" --recipe 'fnn=q8_0'
err_has 'recipe, character 1:'

# importance: other bytes, keys as llama-quantize writes them, and no path
expect 0 convert "$tiny" plain.gguf --type q4_k_m
expect 0 convert "$tiny" one.gguf --type q4_k_m --imatrix "$importance" -t 1
expect 0 quantize --imatrix "$importance" "$tiny" three.gguf Q4_K_M 3
same one.gguf three.gguf
differ plain.gguf one.gguf
for key in quantize.imatrix.file quantize.imatrix.dataset quantize.imatrix.entries_count \
    quantize.imatrix.chunks_count tiny-imatrix.gguf words.txt 'carat.recipe.*q4_k_m,imatrix'; do
    grep -aq "$key" one.gguf || die "$key is not in the file"
done
! grep -aq "test/data" one.gguf || die "a path is in the file"
cp "$importance" new.gguf
expect 0 convert one.gguf x.gguf --type q4_0 --imatrix new.gguf --allow-requantize # the older keys give way
[ "$(grep -ao 'quantize.imatrix.file' x.gguf | wc -l)" = 1 ] || die "keys of importance are there twice"
expect 0 convert one.gguf x.gguf --imatrix new.gguf
expect 0 convert "$tiny" x.gguf --type q2_k_s --imatrix "$importance"
rm -f x.gguf
expect 4 convert "$CARAT_SOURCE/test/fixtures/tiny4" x.gguf --type q4_k_m --imatrix "$importance"
err_has 'the importance is of another model: it has 256 columns of blk.0.[a-z_]*.weight, but .*tiny4 has'
head -c 9999 "$importance" >cut.gguf
refuse 4 convert "$tiny" x.gguf --type q4_k_m --imatrix cut.gguf
err_has 'cut.gguf'
refuse 1 convert "$tiny" x.gguf --type q4_k_m --imatrix missing.gguf
refuse 4 convert "$tiny" x.gguf --type q4_k_m --imatrix "$CARAT_SOURCE/LICENSE"
[ ! -e x.gguf ] || die "a file was written"

# the report: figures of what is in the file, none of them for what stayed
expect 0 convert "$tiny" x.gguf --type q4_0 --report report.json
cp report.json out
out_has '"name": "blk.0.ffn_up.weight"'
for key in snr_db correlation mean_error rms_error largest least_scale most_scale seconds bits_per_weight \
    clipped largest_clipped distinct; do
    [ "$(grep -c "\"$key\": " report.json)" = "$(grep -c '"name": ' report.json)" ] || die "$key is not everywhere"
done
out_has '"bits_per_weight": 4.5,'
out_has '"snr_db": null' # of vectors: every value is what it was
grep -q '"snr_db": [12][0-9]\.' report.json || die "Q4_0 has another distance: $(grep snr report.json)"
grep -v seconds report.json >wanted
expect 0 convert "$tiny" y.gguf --type q4_0 --report again.json -t 1
same x.gguf y.gguf
grep -v seconds again.json >out
same wanted out # sums do not depend on threads
# clipped, the largest of them, different values: what the type says, and where it clips what lies beyond
told() { # NAME OPTIONS...: of the tensor
    local name=$1
    shift
    expect 0 convert "$tiny" y.gguf --report report.json "$@"
    { tr -d '\n' <report.json && echo; } | sed "s/.*\"name\": \"$name\"\([^}]*\)}.*/\1/" >member
    for key in clipped largest_clipped distinct largest; do
        sed "s/.*\"$key\": \([^, ]*\).*/\1/" member
    done | paste -sd' '
}
[ "$(told blk.0.ffn_up.index --type lut4)" = '0 0.0 16 0.78125' ] || die "lut4: $(cat member)"
[ "$(told blk.0.ffn_up.weight --type int8:tensor --qmax 3)" = '0 0.0 7 0.78125' ] || die "qmax 3: $(cat member)"
# 65536 values, of which 1 % are larger: half of a step beyond the last integer is none
[ "$(told blk.0.ffn_up.weight --type int8:tensor --clip-percentile 99)" = '634 0.78125 255 0.78125' ] ||
    die "clipped: $(cat member)"
for threads in 1 3; do
    [ "$(told blk.0.ffn_up.weight --type int8:tensor --clip-percentile 50 --qmax 1 -t $threads)" = '20543 0.78125 3 0.78125' ] ||
        die "clipped: $(cat member)"
done
refuse 2 convert "$tiny" x.gguf --report "$tiny/config.json"
