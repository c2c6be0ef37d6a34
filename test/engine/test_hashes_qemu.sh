#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_hashes_qemu.sh: the committed hashes on emulated processors without AVX and with AVX2 only: the same
# bits where an fma is a function as where it is an instruction. Each computes a sample at its best level: of
# each model an exact arithmetic on one processor and a fast one on the other (test_hashes.c,
# worth_emulating). Level ref with fma instructions is test_hashes.c's on any processor that has them. That
# the emulator refuses what these lack is test_kcheck_qemu.sh's; Nehalem, which stands there too, runs the
# code of qemu64. 12 to 45 seconds of processor time: an emulator takes thirty times as long.
set -euo pipefail

skip() {
    echo "$1"
    exit 77
}
command -v qemu-x86_64 >/dev/null || skip "qemu-x86_64 is not installed"
[ -z "$CARAT_CFLAGS" ] || skip "sanitizers do not run under qemu-x86_64"
[ "$(uname -m)" = x86_64 ] || skip "this build is for another processor"

turn=0
for processor in qemu64 Haswell-noTSX; do
    CARAT_EMULATED=$turn qemu-x86_64 -cpu $processor "$CARAT_BUILD/test/test_engine_hashes" 2>&1 </dev/null |
        grep -v "TCG doesn't support" || {
        echo "the hashes differ on $processor"
        exit 1
    }
    turn=$((turn + 1))
done
