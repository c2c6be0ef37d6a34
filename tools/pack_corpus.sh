#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pack_corpus.sh: makes fuzz/corpus/packed anew from the smallest models of the tests: to be run when the
# layout of packed files has changed. Usage: tools/pack_corpus.sh path/to/carat
set -euo pipefail
carat=$(realpath "$1")
cd "$(dirname "$0")/.."
work=/dev/shm/carat # packed files name their origin, and this is the same everywhere
rm -rf $work
mkdir $work
trap 'rm -rf $work' EXIT
rm -f fuzz/corpus/packed/*
for origin in test/data/file/gemma3 fuzz/corpus/{gguf/{gemma,gemma3,gemma4_inputs,quantised},sbs/{gemma1-sfp-v1,gemma3-nuq-v2}}; do
    name=${origin#*/*/}
    cp -r "$origin" "$work/${name//\//-}"
done
for origin in "$work"/*; do
    "$carat" pack "$origin" -o "fuzz/corpus/packed/${origin##*/}" --no-cache
done
# and copies in a cache: with what a head made, and without the table of layer inputs
export XDG_CACHE_HOME=$work/cache
cp test/data/vectors/gguf/q8_0.gguf $work/made.gguf
"$carat" decode $work/made.gguf --ids 2 --steps 1 --lm-head exact-pruned >/dev/null
mv $work/cache/carat/*.carat fuzz/corpus/packed/made
"$carat" pack $work/gguf-gemma4_inputs
mv $work/cache/carat/*.carat fuzz/corpus/packed/left
chmod 644 fuzz/corpus/packed/*
