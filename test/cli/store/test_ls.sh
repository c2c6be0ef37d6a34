#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_ls.sh: carat ls names what lies in the stores of this machine, what it is and takes, and what is
# missing of it; carat cp gives another name, which every verb finds.
. "${CARAT_SOURCE:?}/test/cli/hub.bash"
export OLLAMA_MODELS=$work/ollama LLAMA_CACHE=$work/llama KAGGLEHUB_CACHE=$work/kaggle
mkdir -p served/u/g home
for quant in Q8_0 Q4_0; do
    expect 0 convert tiny served/u/g/g-$quant.gguf --type ${quant,,}
done

# ---- nothing is there ----
expect 0 ls
[ "$(wc -l <out)" = 2 ] || die "$(cat out)"
out_has '^name  kind         type     size  store$'
out_has '^tiny  gemma3_text  BF16  5.43 MB  in carat$'
cp out wanted
expect 0 list
same wanted out
refuse 2 ls tiny

# ---- the hub's cache ----
serve
expect 0 pull gemma3:1b u/g:Q4_0
today=$(date +%F)
asks 0 0 ls
out_has "^google/gemma-3-1b-it  gemma3_text  BF16  5.43 MB  Hugging Face  $today\$"
out_has "^u/g  *gemma3  *Q4_0  1.60 MB  Hugging Face  $today\$"
expect 0 pull u/g:Q8_0
expect 0 ls
out_has '^u/g:g-Q8_0.gguf  *gemma3  *Q8_0  2.85 MB'
for name in $(awk 'NR > 1 {print $1}' out); do
    asks 0 0 run $name hi -n 1 # each is a name
done
expect 0 ls --json
for words in '"name":"u/g:g-Q4_0.gguf","kind":"gemma3","type":"Q4_0","bytes":1602400,"shared_bytes":0,"store":"Hugging Face"' \
    '"name":"tiny"' '"complete":true,"remark":null' "\"path\":\"$folder/snapshots/$commit\""; do
    out_has "$words"
done
# what is missing
mv "$folder" folder
mkdir -p "$folder/blobs"
echo x >"$folder/blobs/$commit.carat.incomplete"
expect 0 ls
out_has '^google/gemma-3-1b-it .*lacks the rest of what was begun$'
expect 0 ls --json
out_has '"complete":false,"remark":"lacks the rest of what was begun"'
rm -r "$folder"
mv folder "$folder"
# two snapshots that share blobs
other=89abcdef0123456789abcdef0123456789abcdef
cp -r "$folder/snapshots/$commit" "$folder/snapshots/$other"
expect 0 ls --json
out_has "\"name\":\"google/gemma-3-1b-it@$other\".*\"bytes\":5429955,\"shared_bytes\":5429955"
expect 0 ls
out_has '  shared  '
rm -r "$folder/snapshots/$other"
# other stores
mkdir -p llama
cp served/u/g/g-Q4_0.gguf llama/v_h_h-Q4_0.gguf
expect 0 ls
out_has '^v_\?/\?h.*gemma3  *Q4_0  1.60 MB  llama.cpp'
rm -r llama
# files that say nothing, or nonsense
for bytes in '' GGUF 'GGUF\003\0\0\0\0\0\0\0\0\0\0\0\377\377\377\377\377\377\377\377\024\0\0\0\0\0\0\0general.architecture\010\0\0\0\377\377\377\377\377\377\377\377x'; do
    printf "$bytes" >"$HF_HUB_CACHE/models--u--g/snapshots/$commit/odd.gguf"
    expect 0 ls
    out_has '^u/g:odd.gguf '
done
rm "$HF_HUB_CACHE/models--u--g/snapshots/$commit/odd.gguf"

# ---- another name ----
expect 0 cp u/g:Q4_0 mine
out_is 'mine is u/g:Q4_0'$'\n'
expect 0 run u/g:Q4_0 hi -n 4 --temp 0 --no-perf
cp out wanted
asks 0 0 run mine hi -n 4 --temp 0 --no-perf
same wanted out
asks 0 0 run tiny hi -n 4 --temp 0 --no-perf -md mine
asks 0 0 show mine
out_has 'g-Q4_0.gguf'
expect 0 ls
out_has '^mine .*carat cp .*is u/g:Q4_0$'
expect 0 cp served/u/g/g-Q8_0.gguf there
out_is "there is $work/served/u/g/g-Q8_0.gguf"$'\n'
(cd home && "$CARAT" run there hi -n 2) >out 2>err || die 'a path is kept from the root'
expect 0 cp mine again # what it stands for, not the name
out_is 'again is u/g:Q4_0'$'\n'
expect 0 cp there mine # anew
out_is "mine is $work/served/u/g/g-Q8_0.gguf"$'\n'
# a file of that name goes first
echo x >mine
refuse 4 run mine hi
rm mine
refuse 2 cp u/g:Q4_0 gemma3:4b
refuse 2 cp u/g:Q4_0 tiny
refuse 2 cp u/g:Q4_0 served
refuse 2 cp u/g:Q4_0 x.gguf
for name in '' a/b -- .x 'a b' $'a\nb' "$(printf 'x%.0s' $(seq 300))"; do
    refuse 2 cp u/g:Q4_0 -- "$name"
done
refuse 2 cp tiny other
refuse 3 cp nothing other
refuse 3 cp google/gemma-3-4b-it other
refuse 2 cp u/g
# a name that is nearly one
refuse 3 run minr hi
err_has 'minr: there is no such file; did you mean mine?'
refuse 3 run minerals:9b hi
err_has "'carat ls' lists what is here"
# what others write into the file
names=$XDG_CONFIG_HOME/carat/names.json
for text in '{' '[]' '{"a": 1}' '{"a": "b", "a": "c"}' ''; do
    printf '%s' "$text" >"$names"
    expect 0 run tiny hi -n 1
    expect 3 run a hi
    expect 0 ls
done
rm -r "$XDG_CONFIG_HOME"
: >"$XDG_CONFIG_HOME"
refuse 1 cp u/g:Q4_0 mine
err_has 'cannot be made: Not a directory'
