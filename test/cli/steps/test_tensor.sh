#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_tensor.sh: --arith tensor by an emulated GPU: said where arithmetics are said, near fast in logits, and
# refused where bits are promised.
. "$CARAT_SOURCE/test/cli/common.bash"
prompt='Turn on the kitchen lights'

expect 2 logits "$tiny" --ids 2 --arith tensor
err_has 'tensor arithmetic is for the device cuda alone, not for cpu'
expect 2 run "$tiny" "$prompt" --arith tensor --device auto
err_has 'tensor arithmetic is for the device cuda alone, not for auto'
for option in --receipt --prompt-cache; do
    expect 2 run "$tiny" "$prompt" --arith tensor --device cuda $option kept
    err_has "options $option and --arith tensor: what is kept has bits that every device gives"
    [ ! -e kept ] || die "$option left a file"
done
[ -e "$CARAT_BUILD/emu/libcuda.so.1" ] && "$CARAT" version | grep -q 'gpu kernels PTX' || exit 0
export LD_LIBRARY_PATH=$CARAT_BUILD/emu

expect 2 logits "$tiny" --ids 2 --exact --arith tensor --device cuda
err_has 'exact and tensor are both set, expected one arithmetic'
EMU_DEVICES=7.5 expect 4 logits "$tiny" --ids 2 --arith tensor --device cuda
err_has 'tensor arithmetic needs a GPU of capability 8.0 or more, and .* has 7.5'

# the unit sums passes of more than 32 ids alone: a broken one changes no others
small=$CARAT_SOURCE/test/data/vectors/models/gemma3-bf16 ids=$(seq -s , 2 2 80)
logits() { expect 0 logits "$1" --ids "$2" --device cuda "${@:3}" --json; }
logits "$small" "$ids"
cp out fast
EMU_UNIT=swaps logits "$small" "$ids" --arith tensor
err_has 'note: tensor arithmetic: the GPU sums products of prompts in an order of its own'
differ out fast
EMU_UNIT=swaps logits "$small" "$ids" --arith tensor --chunk 32
same out fast
logits "$small" "${ids%,*,*,*,*,*,*,*,*}"
cp out fast
EMU_UNIT=swaps logits "$small" "${ids%,*,*,*,*,*,*,*,*}" --arith tensor
same out fast

# the best ids are those of fast, also where types that read their input in different ways are side by side
expect 0 convert "$CARAT_SOURCE/test/data/vectors/gguf/gemma3-f16.gguf" mixed.gguf --type f16 --recipe attn_k=f32,ffn_up=bf16
for model in "$small" mixed.gguf; do
    logits "$model" "$ids"
    grep -oE '"id":[0-9]+' out | head -n 4 >fast
    EMU_UNIT=whole logits "$model" "$ids" --arith tensor
    grep -oE '"id":[0-9]+' out | head -n 4 >best
    same best fast
done

expect 0 run "$tiny" "$prompt" -n 4 --device cuda --arith tensor --explain-plan
err_has 'arithmetic.*tensor: as fast, but the units of the GPU sum'
expect 0 bench "$small" -p 40 -n 0 -r 1 --arith tensor --device cuda --json
out_has '"tensor": *true'
EMU_LOST=cuLaunchKernel:300 expect 0 run "$tiny" "$prompt" -n 8 --device cuda --arith tensor
err_has 'the CPU goes on'
