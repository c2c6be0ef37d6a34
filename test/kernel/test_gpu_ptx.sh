#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_gpu_ptx.sh: the PTX that clang made of the kernels for GPUs, executed here: tools/ptx_to_c.py writes it
# as C, and test_gpu*.c compare that with ref. What may change bits is refused.
set -eu
: "${CARAT_SOURCE:?is the root of the sources}" "${CARAT_BUILD:?is where they were built}"
ptx=$CARAT_BUILD/gpu.ptx matrix=$CARAT_BUILD/gpu_matrix.ptx
[ -s "$ptx" ] || { echo 'there is no PTX: the library was built without clang'; exit 77; }
command -v python3 >/dev/null || { echo 'there is no python3'; exit 77; }
[ -z "${CARAT_CFLAGS:-}" ] || { echo 'a sanitizer knows nothing of fibres'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

translate() { python3 "$CARAT_SOURCE/tools/ptx_to_c.py" "$1" "$work/$2.c"; }
translate "$ptx" plain
translate "$matrix" matrix
for test in test_gpu test_gpu_attend test_gpu_best test_gpu_products test_gpu_tensor; do
    "${CC:-cc}" -std=c11 -O2 -ffp-contract=off -I"$CARAT_SOURCE/src" -I"$CARAT_SOURCE/include" \
        -I"$CARAT_SOURCE/test" -I"$CARAT_SOURCE/test/emu" "$work"/{plain,matrix}.c "$CARAT_SOURCE"/test/emu/{fibre,planted,unit}.c \
        "$CARAT_SOURCE/test/kernel/$test.c" "$CARAT_BUILD/libcarat.a" -lcmocka -lm -lpthread -o "$work/$test"
    "$work/$test"
done

# refuse EXPRESSION TEXT: what sed makes of the PTX is refused for that reason
refuse() {
    sed -E "$1" "$ptx" >"$work/bad.ptx"
    ! cmp -s "$ptx" "$work/bad.ptx" || { echo "$1 changes nothing" >&2; exit 1; }
    ! translate "$work/bad.ptx" bad 2>"$work/err" || { echo "$1 is not refused" >&2; exit 1; }
    grep -q "$2" "$work/err" || { cat "$work/err" >&2; exit 1; }
}
refuse '0,/fma\.rn\.f32/s//fma.rn.ftz.f32/' 'may change bits: fma.rn.ftz.f32'
refuse '0,/add\.rn\.f32/s//add.f32/' 'may change bits: add.f32'
refuse '0,/mul\.rn\.f32/s//mul.f32/' 'may change bits: mul.f32'
refuse '0,/sub\.rn\.f32/s//sub.f32/' 'may change bits: sub.f32'
refuse '0,/div\.rn\.f32/s//div.approx.f32/' 'may change bits: div.approx.f32'
refuse '0,/ld\.global\.f32/s//ld.local.f32/' 'no memory of its own: ld.local.f32'
refuse '0,/bar\.sync/s//bar.arrive/' 'not known: bar.arrive'

# What NVIDIA's assembler makes of it, where that is there (PyPI: nvidia-cuda-nvcc; PTXAS names it): no kernel
# may spill registers or keep a stack, which clang cannot know.
assembler=${PTXAS:-$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null || true)}
if [ -z "$assembler" ]; then
    echo 'skipped: ptxas is not there'
    exit 0
fi
whole() { # PTX OPTION: each of its kernels has no stack
    "$assembler" -v "$2" "$1" -o "$work/machine" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
    [ "$(grep -c '0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$work/log")" = \
        "$(grep -c '^\.visible \.entry' "$1")" ]
}
for architecture in sm_80 sm_90; do
    for each in "$ptx" "$matrix"; do
        whole "$each" -arch=$architecture || { echo "${each##*/} spills on $architecture" >&2 && exit 1; }
    done
done
sed 's/^\.maxntid.*/&\n.maxnreg 24/' "$ptx" >"$work/bad.ptx"
! whole "$work/bad.ptx" -arch=sm_90 || { echo 'a kernel that spills is not seen' >&2 && exit 1; }
