#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_qat.sh: weights on a lattice of four bits keep every value as Q4_0: `tiny`, put on one, rounded to
# BF16, converted and decoded again is the same model, and the scales of llama-quantize are far from that.
# The scales themselves are test/quant/test_lattice.c's.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way

content() {
    expect 0 verify "$1" --no-cache
    sed -n 's/.*XXH3-128 \([0-9a-f]*\).*/\1/p' out
}
alike() { [ "$(content "$1")" = "$(content "$2")" ] || die "$1 and $2 have other weights"; }
# far A B: the mean KL in float32
far() {
    expect 0 compare "$1" "$2" --prompt 'Is the crow black?' --ref exact --test exact
    sed -n 's/.*mean KL(ref||test) is \([0-9.e-]*\).*/\1/p' out err | head -n 1
}
# share NAME: what the report says of a tensor's member
share() { tr -d '\n' <report.json | sed "s/.*\"name\": \"$1\"[^}]*\"$2\": \([^,}]*\).*/\1/"; }

expect 0 convert "$tiny" steps.gguf --type q4_0 --pure --qat on -t 1
expect 0 convert "$tiny" three.gguf --type q4_0 --pure --qat on -t 3
same steps.gguf three.gguf
expect 0 convert steps.gguf lattice.gguf --type bf16
expect 0 convert steps.gguf exact.gguf --type f32

# the lattice is found, and every value is what it was
expect 0 convert lattice.gguf auto.gguf --type q4_0 --pure --report report.json
err_has '^note: 43 of 43 tensors lie on lattices of four bits'
for tensor in blk.0.attn_q.weight token_embd.weight; do
    [ "$(share "$tensor" on_lattice)" = 1.0 ] || die "$tensor: $(share "$tensor" on_lattice) on a lattice"
done
expect 0 convert auto.gguf again.gguf --type bf16
alike again.gguf lattice.gguf
expect 0 convert lattice.gguf on.gguf --type q4_0 --pure --qat on
alike on.gguf auto.gguf

# what was decoded gives the same blocks
expect 0 convert exact.gguf blocks.gguf --type q4_0 --pure
alike blocks.gguf steps.gguf

# and the usual scales lose more than a hundred times as much
expect 0 convert lattice.gguf off.gguf --type q4_0 --pure --qat off
expect 0 quantize --pure lattice.gguf q4_0.gguf q4_0
alike off.gguf q4_0.gguf
near=$(far lattice.gguf auto.gguf)
off=$(far lattice.gguf off.gguf)
awk -v near="$near" -v off="$off" 'BEGIN { exit !(near != "" && near <= 1e-6 && off >= 100 * near) }' ||
    die "KL $near on the lattice, $off with the usual scales"

# other weights: nothing is found, and the bytes are the usual ones
expect 0 convert "$tiny" auto.gguf --type q4_0 --report report.json
! grep -q lattices err || die "$(cat err)"
[ "$(share blk.0.attn_q.weight on_lattice)" = 0.0 ] || die "weights of tiny lie on a lattice"
expect 0 quantize "$tiny" q4_0.gguf q4_0
same auto.gguf q4_0.gguf
expect 0 convert "$tiny" q8_0.gguf --type q8_0 --report report.json
! grep -q on_lattice report.json || die "lattices of Q8_0"

# half of the layers: each tensor by itself
expect 0 convert "$tiny" some.gguf --type bf16 --recipe 'blk.0.*=q4_0' --qat on
expect 0 convert some.gguf half.gguf --type bf16
expect 0 convert half.gguf out.gguf --type q4_0 --pure
err_has '^note: 7 of 43 tensors lie on lattices'

# what is wrong
refuse 2 convert "$tiny" x.gguf --type q4_0 --qat yes
err_has "'yes' must be one of auto, on, off"
refuse 2 convert "$tiny" x.gguf --type q8_0 --qat on
err_has 'qat is on, which is about blocks of Q4_0, and no tensor becomes Q4_0'
refuse 2 convert "$tiny" x.gguf --type lut4 --qat on
refuse 2 convert "$tiny" directory --type bf16 --qat on
[ ! -e x.gguf ] && [ ! -e directory ] || die "something was written"
