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

# logits of 40 ids: others than those of fast, and near them; of 32 the same
ids=$(seq -s , 2 7 275)
logits() { expect 0 logits "$tiny" --ids "$1" --device cuda "${@:2}" --json; }
logits "$ids"
cp out fast
EMU_UNIT=whole logits "$ids" --arith tensor
err_has 'note: --arith tensor: the GPU sums products of prompts in an order of its own'
differ out fast
for given in "$ids --chunk 32" "${ids%,*,*,*,*,*,*,*,*}"; do
    # shellcheck disable=SC2086 # ids, and perhaps an option
    logits $given
    cp out fast
    # shellcheck disable=SC2086
    logits $given --arith tensor
    same out fast
done

expect 0 run "$tiny" "$prompt" -n 8 --device cuda
cp out fast
expect 0 run "$tiny" "$prompt" -n 8 --device cuda --arith tensor
same out fast
expect 0 run "$tiny" "$prompt" -n 4 --device cuda --arith tensor --explain-plan
err_has 'arithmetic.*tensor: as fast, but the units of the GPU sum'
expect 0 bench "$tiny" -p 40 -n 0 -r 1 --arith tensor --device cuda --json
out_has '"tensor": *true'
EMU_LOST=cuLaunchKernel:300 expect 0 run "$tiny" "$prompt" -n 8 --device cuda --arith tensor
err_has 'the CPU goes on'
