#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_gpu_pocl.sh: the kernels for GPUs as OpenCL C, compiled and run by pocl in place of the fibres
# (test/emu/pocl.c): test_gpu*.c compare what that gives with ref. A compiler that may round as it likes is
# seen.
set -eu
: "${CARAT_SOURCE:?is the root of the sources}" "${CARAT_BUILD:?is where they were built}"
[ -z "${CARAT_CFLAGS:-}" ] || { echo 'what pocl compiles knows nothing of a sanitizer'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export POCL_CACHE_DIR=$work/cache
mkdir "$work/cache"

make() { # PROGRAM TEST FLAGS...
    local program=$1 test=$2
    shift 2
    "${CC:-cc}" -std=c11 -O2 -ffp-contract=off -I"$CARAT_SOURCE/src" -I"$CARAT_SOURCE/include" \
        -I"$CARAT_SOURCE/test" -I"$CARAT_SOURCE/test/emu" -DCT_KERNELS="\"$CARAT_SOURCE/src/kernel/gpu\"" "$@" \
        "$CARAT_SOURCE/test/emu/pocl.c" "$CARAT_SOURCE/test/kernel/$test.c" "$CARAT_BUILD/libcarat.a" \
        -lcmocka -lm -lpthread -ldl -o "$work/$program"
}
for test in test_gpu test_gpu_attend test_gpu_best test_gpu_products; do
    make "$test" "$test"
    code=0
    "$work/$test" || code=$?
    [ $code = 0 ] || exit $code # 77: there is no pocl
done
make relaxed test_gpu -DRELAXED
! "$work/relaxed" >"$work/out" 2>&1 || { echo 'fast arithmetic is not seen' >&2; exit 1; }
grep -q 'FAILED' "$work/out" || { cat "$work/out" >&2; exit 1; }
