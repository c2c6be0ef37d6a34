#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_fast8.sh: --arith fast8 gives the logits of the file in which `carat convert` has made the same
# matrices Q8_0: with every level of kernels, head and device, and in receipts. Those of other members need
# the shared models.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way
prompt='Turn on the kitchen lights'

logits() { expect 0 logits "$@" --ids 2,105,9,77,300,12 --json; }

expect 0 convert "$tiny" q8.gguf --type q8_0
logits q8.gguf
cp out wanted
logits "$tiny"
differ out wanted
logits "$tiny" --arith fast8
same out wanted
err_has 'note: --arith fast8: weights of BF16, F16 and F32 become Q8_0, so this is another model than the file'
for option in '--isa ref' '-t 1' '--chunk 2'; do
    # shellcheck disable=SC2086 # an option and its value
    logits "$tiny" --arith fast8 $option
    same out wanted
done
if [ -e "$CARAT_BUILD/emu/libcuda.so.1" ] && "$CARAT" version | grep -q 'gpu kernels PTX'; then
    for layers in 0 1 5 all; do
        LD_LIBRARY_PATH=$CARAT_BUILD/emu logits "$tiny" --arith fast8 --device cuda -ngl $layers
        same out wanted
    done
    cp wanted before
    expect 0 run q8.gguf "$prompt" -n 20
    cp out wanted
    EMU_LOST=cuGraphLaunch:5 LD_LIBRARY_PATH=$CARAT_BUILD/emu \
        expect 0 run "$tiny" "$prompt" -n 20 --arith fast8 --device cuda
    same out wanted
    err_has 'the CPU goes on'
    mv before wanted
fi
for type in f32 f16; do # BF16 of small values loses nothing in F16 here, and F32 has them as they are
    expect 0 convert "$tiny" $type.gguf --type $type
    logits $type.gguf --arith fast8
    same out wanted
done
logits q8.gguf --arith fast8
same out wanted
# of no other type, palettes of F16 among them
expect 0 convert "$tiny" palettes.gguf --type lut4g8 --pure
for model in palettes.gguf "$CARAT_SOURCE"/test/data/sbs/g3-sfp.sbs; do
    logits "$model"
    cp out kept
    for cache in "$XDG_CACHE_HOME" /dev/null/none; do # packed, and as the file has it
        XDG_CACHE_HOME=$cache logits "$model" --arith fast8
        same out kept
    done
done

logits "$tiny" --exact
cp out exact
logits "$tiny" --arith exact
same out exact
refuse 2 logits "$tiny" --ids 2 --arith fast9
expect 2 logits "$tiny" --ids 2 --exact --arith fast8
err_has 'exact and fast8 are both set, expected one arithmetic'

# heads: those that read rows of the file have none
expect 0 run q8.gguf "$prompt" --seed 3 --temp 1 -n 20
cp out answer
for head in dense exact-pruned auto; do
    expect 0 run "$tiny" "$prompt" --seed 3 --temp 1 -n 20 --arith fast8 --lm-head $head
    same out answer
done
for head in preload lazy shortlist; do
    expect 2 run "$tiny" "$prompt" --arith fast8 --lm-head $head
    err_has "head $head reads rows of the file, and fast8 makes others of them"
done

# a receipt says it, and is computed again in the same way
expect 0 run "$tiny" "$prompt" --seed 3 --temp 1 -n 20 --arith fast8 --receipt receipt
same out answer
grep -q '"arithmetic":"fast8"' receipt || die 'the receipt does not name fast8'
expect 0 replay receipt "$tiny"
sed 's/"arithmetic":"fast8"/"arithmetic":"fast"/' receipt >other
expect 7 replay other "$tiny"
expect 0 compare "$tiny" --ref arith=fast8 --test kv=bf16 -p "$prompt" -n 4
expect 0 run "$tiny" "$prompt" -n 4 --arith fast8 --prompt-cache kept
expect 0 run "$tiny" "$prompt" -n 4 --prompt-cache kept
err_has 'kept: is a timeline of fast8 arithmetic, expected fast'
expect 0 bench "$tiny" -p 4 -n 0 -r 1 --arith fast8 --json
out_has '"carat.fast8": *true\|"fast8": *true'

# ---- other members ----

models=${CARAT_SHARED:+$(dirname "$CARAT_SHARED")/family/models}
[ -d "${models:-none}" ] || { echo 'CARAT_SHARED names no vectors beside family' && exit 77; }
# every matrix whose rows are whole groups, but the table of layer inputs and what decides a choice
matrices() {
    "$CARAT" convert "$1" none.gguf --type "$2" --dry-run 2>/dev/null |
        awk '$3 == "x" && $1 !~ /^per_layer_token_embd|_inp\./ && ($5 == "x" ? $6 : $4) % 32 == 0 {
            printf "%s%s=q8_0", n++ ? "," : "", $1}'
}
for model in g4-dense:bf16 g4-e:bf16 g4-e-f32:f32 g4-moe:bf16 g4-unified:bf16; do
    path=$models/${model%:*} type=${model#*:}
    expect 0 convert "$path" made.gguf --type "$type" --recipe "$(matrices "$path" "$type")"
    logits made.gguf
    cp out wanted
    rm made.gguf
    for option in '--isa ref' '--ple resident'; do
        # shellcheck disable=SC2086 # an option and its value
        logits "$path" --arith fast8 $option
        same out wanted
    done
done
# Gemma 3n has matrices that convert keeps, so here levels are compared with each other
logits "$models/g3n"
cp out fast
logits "$models/g3n" --arith fast8
cp out wanted
differ wanted fast
logits "$models/g3n" --arith fast8 --isa ref
same out wanted
