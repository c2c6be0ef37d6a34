#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_residual.sh: a model with another residual scale gives the same logits; in f16 a stream that is too
# large overflows, is named, and is well again with the scale undone.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way

XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
tiny4=$CARAT_SOURCE/test/fixtures/tiny4

# near A B LIMIT WORDS...: the mean KL between two models, in float32 but for WORDS, is at most LIMIT.
near() {
    expect 0 compare "$1" "$2" --prompt 'Is the crow black?' --ref exact --test "exact${4:+,$4}"
    local kl
    kl=$(sed -n 's/.*mean KL(ref||test) is \([0-9.e-]*\).*/\1/p' out err | head -n 1)
    awk -v kl="$kl" -v limit="$3" 'BEGIN { exit !(kl != "" && kl + 0 <= limit) }' || die "$2: KL $kl, at most $3"
}

for scale in 0.125 4 16384; do
    expect 0 convert "$tiny" "$scale.gguf" --residual-scale "$scale"
    near "$tiny" "$scale.gguf" 1e-9
done
expect 0 show 4.gguf --tensors
grep -q '^ *output.weight ' out || die "the head is not a tensor of its own"
expect 0 convert "$tiny4" e.gguf --residual-scale 0.5
near "$tiny4" e.gguf 1e-7
expect 0 convert "$tiny4" e4.gguf --type q4_0 --residual-scale 0.5 # quantised after it is scaled
expect 0 run e4.gguf hi -n 1

# directories, from both containers: norms in F32, the head a tensor of its own, which its config.json says
for model in "$tiny" "$tiny4"; do
    expect 0 convert "$model" in.gguf
    for in in "$model" in.gguf; do
        expect 0 convert "$in" scaled --residual-scale 0.5
        near "$model" scaled 1e-7
        grep -q '"tie_word_embeddings": false' scaled/config.json || die "$in: the head is tied"
        ! grep -q '"tie_word_embeddings": true' scaled/config.json || die "$in: the head is tied, too"
        expect 0 show scaled --tensors
        grep -q '^ *lm_head.weight *BF16' out || die "$in: no head"
        grep -q 'layers.0.post_attention_layernorm.weight *F32' out || die "$in: the norm is not F32"
        expect 0 convert scaled scaled.gguf
        expect 0 logits scaled -p hi -o wanted.npy --exact --no-cache
        expect 0 logits scaled.gguf -p hi -o got.npy --exact --no-cache
        same wanted.npy got.npy
        rm -r scaled
    done
done

refuse 4 convert "$tiny" scaled --residual-scale 2 --tied
err_has 'keeps its values has another factor, which only .gguf files say'

# 2^14 is too much for f16, and undone it is not
refuse 4 logits 16384.gguf -p 'Is the crow black?' --exact --activations f16
err_has 'embed made .*, and the largest number of f16 is 65504'
expect 0 convert 16384.gguf back.gguf --residual-scale 6.103515625e-05
near "$tiny" back.gguf 1e-4 activations=f16

# one table with the head, for carat alone: the factor of the embedding has the scale
expect 0 convert "$tiny" tied.gguf --residual-scale 0.125 --tied
near "$tiny" tied.gguf 1e-9
expect 0 show tied.gguf --tensors
! grep -q '^ *output.weight ' out || die "the head is a tensor of its own"
out_has '^  scales .*embedding 2$'
expect 0 convert "$tiny4" tied4.gguf --residual-scale 0.5 --tied --type q8_0
expect 0 convert "$tiny4" plain4.gguf --type q8_0
near plain4.gguf tied4.gguf 1e-7
expect 0 convert "$tiny" tied14.gguf --residual-scale 16384 --tied
near "$tiny" tied14.gguf 1e-9
expect 0 convert tied14.gguf x.gguf --residual-scale auto --tied
near "$tiny" x.gguf 1e-4 activations=f16
refuse 2 convert "$tiny" x.gguf --tied
err_has '--tied belongs to --residual-scale'

# a drafter reads the table as it was
expect 0 convert "$tiny4" far.gguf --residual-scale 0.0078125
expect 0 convert "$tiny4" fartied.gguf --residual-scale 0.0078125 --tied
for model in "$tiny4" far.gguf fartied.gguf; do
    expect 0 run "$model" -md "$tiny4-assistant" -p 'Tell me about the horse' --raw -n 60 --temp 0 --exact \
        --spec-type draft-mtp --draft 4 --json
    grep -o '"draft_n":[0-9]*,"draft_n_accepted":[0-9]*' out >>drafts
done
[ "$(sort -u drafts | wc -l)" = 1 ] && [ "$(wc -l <drafts)" = 3 ] || die "drafts differ: $(cat drafts)"

# the scale that the model asks for undoes it, and is the product in the key; who needs none stays as it is
expect 0 convert 16384.gguf auto.gguf --residual-scale auto -t 2
err_has 'residual scale 0\.[0-9]*: over [0-9]* ids the residual stream is at most [0-9.e+]*, by .* at id'
near "$tiny" auto.gguf 1e-4 activations=f16
expect 0 convert 16384.gguf again.gguf --residual-scale auto -t 1
same auto.gguf again.gguf
refuse 4 logits 16384.gguf -p hi --exact --activations f16
expect 0 logits auto.gguf -p hi --exact --activations f16
expect 0 convert "$tiny" plain.gguf
expect 0 convert "$tiny" x.gguf --residual-scale auto
err_has 'residual scale 1: over'
same plain.gguf x.gguf
echo 'The crow is black.' >text.txt
expect 0 convert 16384.gguf x.gguf --residual-scale auto -f text.txt
err_has 'over [0-9] ids'
refuse 1 convert "$tiny" y.gguf --residual-scale auto -f missing.txt

# mistakes
for scale in 0 -1 nan 1e12 1099511627776 inf x autos ""; do
    refuse 2 convert "$tiny" x.gguf --residual-scale "$scale"
    err_has 'is not a number from 9.53674e-07 to 1.04858e+06, or auto'
done
expect 4 convert "$CARAT_SOURCE/test/data/vectors/models/gemma1-f32" x.gguf --residual-scale auto
err_has 'gemma models have no residual scale'
expect 4 convert "$CARAT_SOURCE/test/data/vectors/models/gemma1-f32" x.gguf --residual-scale 2
err_has 'gemma models have no residual scale: their layers add to the stream without a norm'
expect 0 convert "$tiny" q8.gguf --type q8_0
refuse 4 convert q8.gguf x.gguf --residual-scale 2
err_has 'q8.gguf: token_embd.weight is Q8_0 already'
expect 0 convert q8.gguf x.gguf --residual-scale 2 --allow-requantize
near q8.gguf x.gguf 1e-7
