#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_kcheck_qemu.sh: kcheck and the command on emulated processors without AVX and with AVX2 only: an
# instruction that leaked into code for every processor, or a level chosen where it cannot run, dies with
# SIGILL there.
set -euo pipefail

skip() {
    echo "$1"
    exit 77
}
command -v qemu-x86_64 >/dev/null || skip "qemu-x86_64 is not installed"
[ -z "$CARAT_CFLAGS" ] || skip "sanitizers do not run under qemu-x86_64"
[ "$(uname -m)" = x86_64 ] || skip "this build is for another processor"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

on() { # processor command...: its warnings about what it does not emulate go away
    qemu-x86_64 -cpu "$@" 2> >(grep -v "TCG doesn't support" >&2)
}

# The emulator must refuse what the processor has not, else nothing below means anything.
refuses() { # processor instruction
    echo "int main(void) { __asm__ volatile(\"$2\"); return 0; }" | "$CC" -x c - -o "$work/one"
    ! (on "$1" "$work/one") >/dev/null 2>&1 || {
        echo "qemu-x86_64 runs \"$2\" as $1"
        exit 1
    }
}
refuses qemu64 "vxorps %ymm0, %ymm0, %ymm0"
refuses Nehalem "vxorps %ymm0, %ymm0, %ymm0"
refuses Haswell-noTSX "vpxord %zmm0, %zmm0, %zmm0"

# qemu 7.2 reads 16 bytes where a scalar fma reads 4, so forbidden pages stand a little apart here.
says() { # processor, what kcheck must say of level avx2, seconds
    local out
    out=$(on "$1" "$CARAT_BUILD/kcheck" --time "$3" --room 64) || {
        echo "$out"
        echo "kcheck failed on $1"
        exit 1
    }
    echo "$1: $out"
    [[ $out == *" ref: runs;"*" avx2: $2;"* && $out != *" avx512: runs"* ]] || {
        echo "kcheck on $1 should say \"avx2: $2\" and run nothing wider"
        exit 1
    }
}
says qemu64 "not on this CPU" 0
says Nehalem "not on this CPU" 0
says Haswell-noTSX runs 10

[ -x "${CARAT:-}" ] || exit 0
want=$("$CARAT" run tiny -n 2 "Hello" </dev/null)
got=$(on qemu64 "$CARAT" run tiny -n 2 "Hello" </dev/null)
[ "$got" = "$want" ] || {
    echo "carat run tiny on qemu64 gives \"$got\", here \"$want\""
    exit 1
}
