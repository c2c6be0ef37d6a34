#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_schemes.sh: int8 schemes and palettes of `carat convert`: the same bytes for any number of threads; a
# file of palettes gives the content hash and the bits of its --expand, also out of the cache; what is wrong
# is refused. The numbers are test/convert/test_shared.c's. More than 20 seconds, for each of four files of
# palettes is run at several levels and out of a packed file.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way

XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME

from=$tiny
asked=(-p 'Is the crow black?')

# twice OPTIONS...: one.gguf, by one thread; three make the same
twice() {
    rm -f one.gguf three.gguf
    expect 0 convert "$from" one.gguf "$@" -t 1
    expect 0 convert "$from" three.gguf "$@" -t 3
    same one.gguf three.gguf
}
content() {
    expect 0 verify "$1" --no-cache
    sed -n 's/.*XXH3-128 \([0-9a-f]*\).*/\1/p' out
}
logits() {
    expect 0 logits "$1" "${asked[@]}" -o "$2" "${@:3}"
}

# palettes, and what they stand for
palettes() {
    local types=$1
    shift
    twice "$@"
    mv one.gguf indices.gguf
    twice "$@" --expand
    expect 0 show indices.gguf --tensors
    grep -q '^ *blk.0.attn_q.index .*I8' out || die "$*: no indices"
    grep -q "^ *$types" out || die "$*: no $types"
    expect 0 show one.gguf --tensors
    ! grep -q 'index\|palette' out || die "$*: --expand left palettes"
    [ "$(content indices.gguf)" = "$(content one.gguf)" ] || die "$*: the content hash differs"
    logits one.gguf wanted.npy --exact
    logits indices.gguf got.npy --exact
    same wanted.npy got.npy
    logits one.gguf wanted.npy
    logits indices.gguf got.npy # makes a packed copy
    same wanted.npy got.npy
    logits indices.gguf got.npy # comes out of it
    same wanted.npy got.npy
    ! grep -q 'no part of the model' err || die "$*: $(cat err)"
    # every level, number of threads and chunk, and out of a packed file
    logits one.gguf wanted.npy --all
    for as in '--isa ref' '--isa avx2' '-t 1' '-t 3' '--chunk 1' '--chunk 7 --isa avx2'; do
        # shellcheck disable=SC2086
        logits indices.gguf got.npy --all --no-cache $as
        same wanted.npy got.npy
    done
    expect 0 pack indices.gguf -o packed.carat
    expect 0 verify packed.carat
    logits packed.carat got.npy --all
    same wanted.npy got.npy
    logits packed.carat got.npy --all --isa ref
    same wanted.npy got.npy
    expect 0 convert packed.carat unpacked.gguf
    [ "$(content unpacked.gguf)" = "$(content one.gguf)" ] || die "$*: out of a packed file"
    rm packed.carat unpacked.gguf
}
palettes 'blk.5.ffn_up.palette  *F16  *192  *6 x 16' --type lut4g48
palettes 'output.palette  *F16  *32768  *256 x 64' --lut2 4,8 --lut3 6,4
palettes 'token_embd.palette  *F16  *32  *1 x 16' --lut1 4,0 --lut2 3
expect 0 compare one.gguf indices.gguf --prompt 'Is the crow black?'
grep -q 'mean KL(ref||test) is 0[^.0-9]' out err || die "indices are not what they stand for: $(cat out)"

# of experts, none of which shares a palette with another, nor gate with up
from=$CARAT_SOURCE/test/data/vectors/models/gemma4-moe
asked=(--ids '2,5,9,33,200,100,7,16,80,81,82,300')
palettes 'blk.0.ffn_gate_up_exps.palette  *F16  *1920  *10 x 6 x 16' \
    --recipe all=lut2,ffn_gate_up_exps=lut4g8,ffn_down_exps=lut3g7
from=$tiny
asked=(-p 'Is the crow black?')

# palettes of the same number of bits: the more rows share one, the smaller the file
sizes=()
for rows in 4 8 0; do
    twice --lut2 "4,$rows" --lut3 none
    sizes+=("$(stat -c %s one.gguf)")
done
((sizes[0] > sizes[1] && sizes[1] > sizes[2])) || die "sizes ${sizes[*]}"

# int8: blocks of Q8_0 with one scale
for scheme in tensor channel group=64; do
    twice --type "int8:$scheme"
    expect 0 show one.gguf --tensors
    grep -q '^ *blk.0.ffn_up.weight .*Q8_0' out || die "int8:$scheme is not Q8_0"
    logits one.gguf got.npy
done
twice --type int8:tensor --qmax 32 --clip-percentile 99.9
expect 0 convert one.gguf two.gguf
same one.gguf two.gguf

# groups of 32 with the whole range are Q8_0, also where a drafter's embedding goes back to the order of ids
for model in "$tiny" "$CARAT_SOURCE/test/fixtures/tiny4-assistant"; do
    expect 0 convert "$model" one.gguf --type int8:group=32
    expect 0 convert "$model" two.gguf --type q8_0 --pure
    tail -c 200000 one.gguf >one.tail
    tail -c 200000 two.gguf >two.tail
    same one.tail two.tail
done

# mistakes
wrong() {
    refuse 2 convert "$tiny" x.gguf "${@:2}"
    err_has "$1"
    [ ! -e x.gguf ] || die "$*: a file was written"
}
wrong 'qmax' --type int8:tensor --qmax 0
wrong 'qmax' --type int8:tensor --qmax 128
wrong 'clip-percentile' --type int8:tensor --clip-percentile 0
wrong 'clip-percentile' --type int8:tensor --clip-percentile 100.5
wrong 'type "int8:group=20" is no type that carat writes: the N of int8:group=N is a multiple of 32' --type int8:group=20
wrong 'type "int8:" is no type that carat writes' --type int8:
wrong 'type "lut5" is no type that carat writes' --type lut5
wrong 'type "lut4g0" is no type that carat writes' --type lut4g0
wrong 'type "lut4g8x" is no type that carat writes' --type lut4g8x
wrong 'recipe, character 7: "lut7g8"' --recipe embed=lut7g8
for text in 5,8 4,x '4,' ',8' 44 -4 4,-1 4,9999999; do
    wrong "--lut2: '$text' is not BITS,ROWS" --lut2 "$text"
done
twice --type int8:tensor
refuse 4 convert one.gguf x.gguf --type lut4g8
err_has 'is Q8_0 already, and a palette of that'
expect 0 convert one.gguf x.gguf --type lut4g8 --allow-requantize

# an entry is F16, which does not hold everything
expect 0 convert "$tiny" large.gguf --type f32 --residual-scale 1048576
refuse 4 convert large.gguf x.gguf --lut1 4,8
err_has 'tensor token_embd.weight has .* in row [0-9]*, column [0-9]*.*expected at most 65504, which an entry in F16 holds'
# or is saturated: as many values, whether palettes are kept or expanded, as of the matrix in F16
saturated() {
    expect 0 convert large.gguf "$@" --clamp
    sed -n 's/.*: \([0-9]*\) values were saturated.*/\1/p' err
}
count=$(saturated x.gguf --recipe embed=f16)
[ "${count:-0}" -gt 1 ] || die "nothing was saturated: $(cat err)"
[ "$(saturated indices.gguf --lut1 4,8 -t 3)" = "$count" ] || die "not $count: $(cat err)"
[ "$(saturated values.gguf --lut1 4,8 --expand --report report.json)" = "$count" ] || die "not $count: $(cat err)"
grep -q "\"clipped\": $count," report.json || die "the report does not count $count"
logits indices.gguf got.npy
logits values.gguf wanted.npy
same wanted.npy got.npy

# palettes are bytes, but no weights: 4 bits, 16 entries of 16 bits for 2048 weights, and the norms
expect 0 show "$tiny" --type lut4g8
grep -q ' 4\.20 bits per weight' out || die "$(tail -1 out)"
expect 0 show "$tiny" --type f16
grep -q ' 16\.04 bits per weight' out || die "$(tail -1 out)"

# rows that share fewer palettes, or palettes of more entries, are never farther from what they were
squared() { # OPTIONS...: the sum of squared errors over the whole model
    expect 0 convert "$tiny" expanded.gguf "$@" --expand --report report.json
    awk '$1 == "\"shape\":" { n = 1; shape = 1; next }
        shape && $1 ~ /^[0-9]/ { n *= $1 + 0; next }
        $1 ~ /^\]/ { shape = 0 }
        $1 == "\"rms_error\":" { sum += n * $2 * $2 }
        END { printf "%.17g\n", sum }' report.json
}
errors=()
for how in 6,4 4,4 4,8 4,0; do
    errors+=("$(squared --lut1 $how --lut2 $how)")
done
printf '%s\n' "${errors[@]}" | awk '{ good = good + ($1 > last); last = $1 } END { exit good != 4 }' ||
    die "squared errors of 6,4 4,4 4,8 4,0: ${errors[*]}"
