#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_arm.sh: cross-compiles for 64-bit Arm and runs on emulated processors what says that the numbers are
# those of x86: kcheck, the committed hashes of logits, tokens, a generation, timeline files, which go on
# here; and what asks the system. Nothing here is timed. Two minutes of processor time: half of it compiles
# the library for Arm, the rest is emulation. tools/setup_arm.sh gets what it needs.
set -euo pipefail

skip() {
    echo "$1"
    exit 77
}
[ -z "$CARAT_CFLAGS" ] || skip "sanitizers do not run under qemu-aarch64"
[ "$(uname -m)" = x86_64 ] || skip "this build is for another processor"
[ -x "${CARAT:-}" ] || skip "there is no command to compare with"
command -v qemu-aarch64 >/dev/null || skip "qemu-aarch64 is not installed"
command -v aarch64-linux-gnu-gcc >/dev/null || skip "aarch64-linux-gnu-gcc is not installed"
[ -e "$CARAT_SOURCE/build/root-arm64/complete" ] || skip "tools/setup_arm.sh has not unpacked libraries for arm64"

arm=$CARAT_BUILD/arm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() {
    echo "FAILED: $*"
    exit 1
}

tests=(os/cpu os/os os/pool quant/dequantize layout/panels text/chat_ids text/detokenizer text/generation_config
    check/score kernel/math_double check/difference)
list=$(IFS='|' && echo "^(engine/hashes|engine/timeline_elsewhere|${tests[*]})$")
rooms=(test_engine test_os test_quant test_layout test_text test_check test_kernel)
cmake -S "$CARAT_SOURCE" -B "$arm" --toolchain "$CARAT_SOURCE/cmake/aarch64.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCARAT_TESTS_ONLY="$list" >"$work/log" 2>&1 &&
    cmake --build "$arm" -j2 --target carat kcheck "${rooms[@]}" >>"$work/log" 2>&1 || {
    cat "$work/log"
    die "it does not build for Arm"
}

on() { # processor program arguments...
    qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu "$@"
}
passes() { # processor program arguments...
    on "$@" >"$work/out" 2>&1 </dev/null || {
        cat "$work/out"
        die "$2 on $1"
    }
}

# The emulator must refuse what the processor has not, else nothing below means anything.
refuses() { # processor instruction
    echo "int main(void) { __asm__ volatile(\".arch armv8.2-a+dotprod+i8mm\\n$2\"); return 0; }" |
        aarch64-linux-gnu-gcc -x c - -o "$work/one"
    ! (on "$1" "$work/one") >/dev/null 2>&1 || die "qemu-aarch64 runs \"$2\" as $1"
}
refuses cortex-a53 "sdot v0.4s, v1.16b, v2.16b"
refuses cortex-a76 "smmla v0.4s, v1.16b, v2.16b"

says() { # processor, seconds, what kcheck must say of dotprod and of i8mm
    passes "$1" "$arm/kcheck" --time "$2"
    [[ $(cat "$work/out") == *" ref: runs;"*" neon: runs; dotprod: $3; i8mm: $4;"* ]] || {
        cat "$work/out"
        die "kcheck on $1 should say \"dotprod: $3; i8mm: $4\""
    }
}
says cortex-a53 5 "not on this CPU" "not on this CPU"
says cortex-a76 5 runs "not on this CPU"
says max 10 runs runs
for test in "${tests[@]}"; do passes max "$arm/test/test_${test%/*}" "${test#*/}"; done
# Of each model an exact and a fast arithmetic at the best level, and one of both at level ref.
for turn in 0 1 2; do CARAT_EMULATED=$turn passes max "$arm/test/test_engine_hashes"; done
on max "$arm/carat" doctor --measure off >"$work/out" 2>&1 || die "carat doctor"
grep -q '^  carat uses  *i8mm$' "$work/out" || die "carat doctor does not use i8mm"

# Timeline files of all models and modes are those of this machine, which go on there.
export CARAT_TIMELINES=$work/timelines
mkdir "$CARAT_TIMELINES"
CARAT_TIER=deep "$CARAT_BUILD/test/test_engine" timeline_elsewhere >"$work/out" 2>&1 ||
    die "timeline files cannot be written here"
[ "$(ls "$CARAT_TIMELINES" | wc -l)" -gt 30 ] || die "there are too few timeline files"
CARAT_TIER=deep passes max "$arm/test/test_engine" timeline_elsewhere

# The command says the same here and there.
same() { # arguments...
    "$CARAT" "$@" >"$work/wanted" 2>/dev/null </dev/null || die "carat $* fails here"
    on max "$arm/carat" "$@" >"$work/got" 2>/dev/null </dev/null || die "carat $* fails on Arm"
    [ -s "$work/wanted" ] && cmp "$work/wanted" "$work/got" || die "carat $* differs on Arm"
}
data=$CARAT_SOURCE/test/data
for tokenizer in tokenizer.json tokenizer.model vocab.gguf; do
    same tokenize "$data/text/$tokenizer" --jsonl "$data/text/goldens.jsonl"
done
same run tiny --seed 7 -n 24 "Once upon a time"
"$CARAT" run tiny -n 0 --prompt-cache "$work/kept" "Once upon a time" >"$work/out" 2>&1 || die "a prompt is not kept"
same run tiny --seed 7 -n 24 --prompt-cache "$work/kept" "Once upon a time"
same logits tiny --ids 2,107,5,9,534 --all --out -
