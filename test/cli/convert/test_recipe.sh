#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_recipe.sh: --recipe and the types of `carat convert`: which tensors an entry means, that the last one
# counts, and that every mistake is refused with the place of its character. The mixes are
# test/convert/test_mixes.c's.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way

# made RECIPE NAME=TYPE...: types of tensors in the file that a recipe makes of tiny, which is BF16.
made() {
    local recipe=$1 want
    shift
    rm -f x.gguf
    expect 0 convert "$tiny" x.gguf --recipe "$recipe"
    expect 0 show x.gguf --tensors
    for want; do
        grep -q "^ *${want%=*}  *.*${want#*=}" out || die "$recipe: no $want in $(cat out)"
    done
}

made 'all=q4_k' token_embd.weight=Q4_K blk.5.ffn_down.weight=Q4_K blk.0.attn_norm.weight=F32
made 'all=q4_k,ffn_down[0-2,5]=q5_k,blk.4.*=bf16' blk.0.ffn_down.weight=Q5_K blk.2.ffn_down.weight=Q5_K \
    blk.3.ffn_down.weight=Q4_K blk.5.ffn_down.weight=Q5_K blk.4.attn_q.weight=BF16 \
    blk.4.ffn_down.weight=BF16 blk.3.attn_q.weight=Q4_K blk.4.attn_norm.weight=F32
made 'attn=q8_0,attn_k=q4_0,ffn[1]=q6_k' blk.0.attn_q.weight=Q8_0 blk.0.attn_output.weight=Q8_0 \
    blk.0.attn_k.weight=Q4_0 blk.1.ffn_up.weight=Q6_K blk.2.ffn_up.weight=BF16 token_embd.weight=BF16
made 'all=q4_k,ffn[1]=keep,*.attn_v.*=f16,embed=q8_0' blk.1.ffn_up.weight=BF16 blk.3.attn_v.weight=F16 \
    blk.0.ffn_up.weight=Q4_K token_embd.weight=Q8_0
! grep -q '^ *output.weight' out || die "the head is written apart though nobody asked"

# the last entry counts, and a head that is asked to differ stands alone
made 'ffn=q8_0,ffn=q4_0' blk.0.ffn_up.weight=Q4_0
made 'all=q8_0,head=q6_k' token_embd.weight=Q8_0 output.weight=Q6_K
made 'head=q8_0,embed=q8_0' token_embd.weight=Q8_0
! grep -q '^ *output.weight' out || die "the head is written twice in one type"
expect 0 convert "$tiny" apart.gguf --recipe head=f32 # its values are those of the embedding
expect 0 logits "$tiny" -p 'Is the crow black?' -o wanted.npy --exact
expect 0 logits apart.gguf -p 'Is the crow black?' -o got.npy --exact
same wanted.npy got.npy

# beside a type; how it was made is in the file, and stays there
expect 0 convert "$tiny" x.gguf --type q4_k_m --recipe 'ffn_up[0]=q8_0'
grep -aq 'carat.recipe.*q4_k_m,ffn_up\[0\]=q8_0' x.gguf || die "no carat.recipe"
expect 0 convert x.gguf y.gguf
same x.gguf y.gguf
expect 0 convert "$tiny" one.gguf --recipe 'all=q5_k,head=q8_0' -t 1
expect 0 convert "$tiny" three.gguf --recipe 'all=q5_k,head=q8_0' -t 3
same one.gguf three.gguf
expect 0 convert "$tiny" x.gguf --type q4_k_m --pure
expect 0 show x.gguf --tensors
[ "$(grep -c 'Q4_K' out)" -gt 40 ] && ! grep -q 'Q6_K' out || die "--pure: $(cat out)"

# mistakes; the number is the character's
wrong() {
    rm -f x.gguf
    refuse 2 convert "$tiny" x.gguf --recipe "$1"
    err_has "recipe, character $2: $3"
    [ ! -e x.gguf ] || die "$1: a file was written"
}
wrong 'fnn=q4_k' 1 '"fnn" is no part of a model'
wrong 'all=q4_k,ffn_dwon=q5_k' 10 '"ffn_dwon" is no part'
wrong 'all=q9' 5 '"q9" is no type that carat writes'
wrong 'all=int8:group=33' 5 '"int8:group=33" is no type that carat writes: the N of int8:group=N is a multiple of 32'
wrong 'all=q4_k_n' 5 '"q4_k_n" is no type that carat writes; did you mean q4_k_m?'
wrong 'all=q4_k_m' 5 '"q4_k_m" is no type'
wrong 'all=sfp' 5 '"sfp" is no type'
wrong 'all' 4 '"all" is not followed by = and a type'
wrong 'all=' 5 '"" is no type'
wrong '' 1 '"" is no part'
wrong 'all=q4_k,' 10 '"" is no part'
wrong 'attn[]=q4_k' 5 '"\[\]" has no layers in it'
wrong 'attn[0=q4_k' 5 '"\[0" has no layers in it'
wrong 'all=f16,attn[0,6]=q4_k' 16 '"0,6" is no list of layers, which are 0 to 5'
wrong 'attn[2-1]=q4_k' 9 '"2-1" is no list'
wrong 'attn[0-]=q4_k' 8 '"0-" is no list'
wrong 'attn[99999999999999999999]=q4_k' 6 '"9*" is no list'
wrong 'attn[0 ]=q4_k' 7 '"0 " is no list'
wrong 'all=q4_k,experts=q8_0' 10 '"experts" means no matrix of this model'
wrong 'ple=q8_0' 1 '"ple" means no matrix'
wrong 'blk.9.*=q8_0' 1 '"blk.9.\*" means no matrix'
wrong 'blk.0.attn_norm.weight=q8_0' 1 '"blk.0.attn_norm.weight" means no matrix'
wrong 'embed[0]=q8_0' 1 '"embed" means no matrix'

# what is quantised is not quantised again unawares
expect 0 convert "$tiny" q8.gguf --type q8_0
refuse 4 convert q8.gguf x.gguf --type q4_0
err_has 'q8.gguf: token_embd.weight is Q8_0 already, and Q6_K of that would be worse'
expect 0 convert q8.gguf x.gguf --type q4_0 --allow-requantize
expect 0 convert q8.gguf x.gguf --type q8_0
expect 0 convert q8.gguf x.gguf --type bf16
refuse 2 convert "$tiny" x.gguf --type q2_k_s
err_has 'type q2_k_s needs importance'
