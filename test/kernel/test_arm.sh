#!/usr/bin/env bash
# test_arm.sh: cross-compiles for 64-bit Arm and runs on emulated processors what says that the numbers are those of
# x86: kcheck, the committed hashes of logits, tokens, a generation; and what asks the system. Nothing here is timed.
# tools/setup_arm.sh gets what it needs.
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

programs=(test_api_hashes test_base_cpu test_base_os test_base_pool test_quant_decode test_kernel_pack
    test_text_chat_ids test_text_detokenizer test_text_sampler)
cmake -S "$CARAT_SOURCE" -B "$arm" --toolchain "$CARAT_SOURCE/cmake/aarch64.cmake" -DCMAKE_BUILD_TYPE=Release >"$work/log" 2>&1 &&
    cmake --build "$arm" -j2 --target carat kcheck "${programs[@]}" >>"$work/log" 2>&1 || {
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

for program in "${programs[@]}"; do passes max "$arm/test/$program"; done
passes max "$arm/kcheck" --time 10

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
same logits tiny --ids 2,107,5,9,534 --all --out -
