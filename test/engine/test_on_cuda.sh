#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_on_cuda.sh: tests of engine, generate and listen once more, with their engines on the emulated GPU
# (test/emu/on_device.c). Here are those that take less than a minute there; LIST names others. What is left
# out asks for what only the CPU has: memory that nobody takes in a pass, counts of its passes and of how
# often it asks whether they go on, heads that are not dense.
# Needs CARAT_BUILD and CARAT_CFLAGS from CMake.
set -euo pipefail

build=${CARAT_BUILD:?}
[ -z "${CARAT_CFLAGS:-}" ] || { echo "without sanitizers it is enough"; exit 77; }
[ -e "$build/emu/libcuda.so.1" ] || { echo "there is no emulated driver"; exit 77; }
[ -e "$build/gpu.ptx" ] || { echo "this build has no kernels for a GPU"; exit 77; }
export LD_LIBRARY_PATH=$build/emu CARAT_TEST_DEVICE=cuda
declare -A left_out=(
    [listen/column_sums]="nothing_changes_a_bit,sums_are_those_of_transformers"
    [head]="answers_are_those_of_dense,dense_says_why"
    [stats]="tokens_by_their_path"
    [step]="another_thread_cancels"
)
list=${LIST:-chain constraint_draws constraint_faults drafter drafter_files f16 head session stats listen/tap
    thoughts timeline_faults generate/told_calls}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0
for name in $list; do
    room=engine
    [[ $name != */* ]] || room=${name%/*}
    program=("$build/test/test_$room" "${name#*/}")
    [ "$name" != constraint_faults ] || program=("$build/test/test_engine_constraint_faults")
    CARAT_TEST_LEAVE_OUT=${left_out[$name]:-} "${program[@]}" >"$out" 2>&1 || {
        [ $? = 77 ] && { echo "$name: skipped"; continue; }
        cat "$out"
        failed=1
    }
    grep -aq '^engines were on the device$' "$out" || { echo "$name: no engine was on the device"; failed=1; }
done
exit $failed
