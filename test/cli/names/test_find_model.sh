#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_find_model.sh: verbs fetch what is missing of a model, say so in a line, ask before it is much, and ask
# nobody where everything is there; --offline and its like forbid it, --refresh asks once more.
. "${CARAT_SOURCE:?}/test/cli/hub.bash"
generate=(hi -n 4 --temp 0 --no-perf)
expect 0 run tiny "${generate[@]}"
cp out wanted
serve

# ---- nothing may be fetched ----
for way in '--offline' HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=yes HF_HUB_OFFLINE=ON CARAT_ARG_OFFLINE=1; do
    variable=$way option=
    [ "$way" != --offline ] || variable=A=B option=--offline
    export "${variable?}"
    asks 0 3 run gemma3:1b "${generate[@]}" $option
    forbids=${variable%%=*}
    case $way in *OFFLINE=1*) [ $way != CARAT_ARG_OFFLINE=1 ] || forbids=--offline ;; --offline) forbids=--offline ;; esac
    [ "$(wc -l <err)" = 1 ] || die "$way: not one line"
    err_has "E_NOT_FOUND: gemma3:1b is google/gemma-3-1b-it, which is not on this machine; 'carat pull gemma3:1b' fetches it, but $forbids forbids that"
    unset "${variable%%=*}"
done
# verbs that look at what is there fetch nothing
for verb in tokenize verify; do
    asks 0 3 $verb gemma3:1b
    err_has "'carat pull gemma3:1b' fetches it"
done
asks 0 3 run llama3:8b hi
asks 0 3 run absent.gguf hi
asks 0 3 run https://example.org/x hi --offline
asks 0 0 run tiny "${generate[@]}"
# a word that says no is no
HF_HUB_OFFLINE=0 TRANSFORMERS_OFFLINE=false fetches 0 run gemma3:1b "${generate[@]}"
same wanted out
err_has "^note: google/gemma-3-1b-it, commit 0123456789ab: 7 files, 5.43 MB, into $HF_HUB_CACHE\$"

# ---- what is there causes no request ----
for words in 'run gemma3:1b hi -n 4 --temp 0 --no-perf' 'run google/gemma-3-1b-it hi -n 4 --temp 0 --no-perf' \
    "run google/gemma-3-1b-it@$commit hi -n 4 --temp 0 --no-perf --refresh" \
    'run tiny hi -n 4 --temp 0 --no-perf -md gemma3:1b' 'run gemma3:1b hi -n 4 --temp 0 --no-perf --offline'; do
    asks 0 0 $words
    same wanted out
done
asks 0 0 compare tiny gemma3:1b -p hi -n 2
asks 0 0 bench gemma3:1b -p 2 -n 1 -r 1
asks 0 0 show gemma3:1b
# whether a branch has moved: its commit and its files
asks 2 0 run gemma3:1b "${generate[@]}" --refresh
same wanted out
asks 0 3 run gemma3:1b "${generate[@]}" --refresh --offline
err_has 'google/gemma-3-1b-it is not fetched: --offline forbids it'

# ---- every verb that computes, a drafter, both sides of a comparison ----
fresh() { rm -rf "$HF_HUB_CACHE"; }
echo 'Hello there, how are you today? I am fine, thank you very much.' >text.txt
for words in 'chat gemma3:1b' 'logits gemma3:1b --ids 2,5' 'decode gemma3:1b --ids 2,5 --steps 1' \
    'bench gemma3:1b -p 2 -n 1 -r 1' 'compare tiny gemma3:1b -p hi -n 1' 'compare gemma3:1b -p hi -n 1' \
    'perplexity gemma3:1b text.txt -c 4' 'convert gemma3:1b out.gguf --type q8_0' 'pack gemma3:1b -o out.carat' \
    'run tiny hi -n 2 -md gemma3:1b' 'imatrix gemma3:1b -f text.txt -c 4 -o out.imatrix'; do
    fresh
    rm -f out.gguf out.carat out.imatrix
    fetches 0 $words
    err_has '^note: google/gemma-3-1b-it, commit'
done
fresh
fetches 4 embed google/gemma-3-1b-it hi # it is no embedder, which is known when it is there
# a file of it has gone
asks 0 0 run gemma3:1b "${generate[@]}"
rm "$(readlink -f "$folder/snapshots/$commit/model.safetensors")"
asks 0 3 run gemma3:1b hi --offline
err_has 'of which model.safetensors is not on this machine'
fetches 0 run gemma3:1b "${generate[@]}"
same wanted out

# ---- as llama.cpp spells it ----
mkdir -p served/u/g
expect 0 convert tiny served/u/g/g-Q8_0.gguf --type q8_0
cp served/u/g/g-Q8_0.gguf served/u/g/g-Q4_0.gguf
for words in '-hf u/g:q8_0' '--hf-repo u/g --hf-file g-Q8_0.gguf' '-hf u/g:Q4_0 -hff g-Q8_0.gguf' \
    "-mu https://huggingface.co/u/g/resolve/$commit/g-Q8_0.gguf"; do
    fresh
    fetches 0 run $words -p hi -n 4 --temp 0 --no-perf -hft secret
    [ -e "$HF_HUB_CACHE/models--u--g/snapshots/$commit/g-Q8_0.gguf" ] || die "$words: the file has not come"
    [ ! -e "$HF_HUB_CACHE/models--u--g/snapshots/$commit/g-Q4_0.gguf" ] || die "$words: both files came"
    grep -q '^/api.*token=1' log || die 'the hub got no token'
    asks 0 0 run $words -p hi -n 4 --temp 0 --no-perf
    : >log
done
! grep -rq secret "$HF_HUB_CACHE" || die 'the token was kept'

# ---- what the hub says, and that there is none ----
refuse 3 run google/nothing hi
err_has 'google/nothing: main: there is no such repository, or it is private'
refuse 3 run google/gemma-3-1b-it:Q9 hi
err_has 'google/gemma-3-1b-it has no Q9 among its'
stop
server=
fresh
refuse 6 run gemma3:1b hi
err_has 'no connection: .*; models on this machine need none$'
expect 0 run tiny "${generate[@]}"

# ---- more than 20 GB ----
serve large-size 30000000000
refuse_large() {
    expect "$@"
    err_has '^note: google/gemma-3-1b-it, commit 0123456789ab: 7 files, 120 GB, into '
}
refuse_large 2 run gemma3:1b hi
err_has 'E_USAGE: these are 120 GB, and nobody is there to be asked: --yes fetches them$'
[ ! -e "$HF_HUB_CACHE" ] || die 'something was made'
echo x >file
HF_HUB_CACHE=$work/file # nothing can be made there
for yes in --yes -y; do
    expect 1 run gemma3:1b hi $yes
    err_has "$work/file/models--google--gemma-3-1b-it: cannot be made"
done
if script -qec true raw >/dev/null 2>&1; then
    for line in n '' no yeah; do
        typed "$line" run gemma3:1b hi && code=0 || code=$?
        [ $code = 1 ] || die "'$line': exit code $code: $(cat out)"
        out_has 'Fetch 120 GB? \[y/N\]'
        out_has 'nothing was fetched'
    done
    for line in y Yes; do
        typed "$line" run gemma3:1b hi && code=0 || code=$?
        [ $code = 1 ] || die "'$line': exit code $code: $(cat out)"
        out_has 'cannot be made'
    done
fi
HF_HUB_CACHE=$work/hub

# ---- Ctrl-C ----
fresh
serve silent
"$CARAT" run gemma3:1b hi >out 2>err &
run=$!
until compgen -G "$folder/blobs/*.incomplete" >/dev/null; do sleep 0.05; done
kill -INT $run
wait $run && code=0 || code=$?
[ $code = 130 ] || die "Ctrl-C: exit code $code: $(cat err)"
err_has '^note: what has come is kept: the same command goes on with it$'

# ---- what huggingface_hub wrote down of a commit tells what is missing; it is read, never written ----
fresh
serve
expect 0 pull gemma3:1b -q
snapshot=$folder/snapshots/$commit tree=$folder/trees/$commit.json
[ ! -e "$folder/trees" ] || die 'a list of files was written'
mkdir "$folder/trees"
list() { # NAME...: as that library writes it
    printf '{\n "format_version": %s,\n "files": {' "${version:-1}"
    printf '%s\n  "%s": {"size": 1, "blob_id": "00"}' '' "$1"
    shift
    [ $# = 0 ] || printf ',\n  "%s": {"size": 1, "blob_id": "00"}' "$@"
    printf '\n }\n}'
}
files=(README.md chat_template.jinja config.json generation_config.json model.safetensors pytorch_model.bin
    special_tokens_map.json tokenizer.json tokenizer.model tokenizer_config.json)
list "${files[@]}" >"$tree"
asks 0 0 run gemma3:1b "${generate[@]}" # what only others read may be missing
for name in chat_template.jinja generation_config.json config.json model.safetensors; do
    mv "$snapshot/$name" kept
    asks 0 3 run gemma3:1b "${generate[@]}" --offline
    err_has "of which $name is missing\|of which $name"
    expect 0 ls
    out_has "google/gemma-3-1b-it .*lacks $name"
    mv kept "$snapshot/$name"
done
rm "$snapshot/tokenizer.model"
asks 0 0 run gemma3:1b "${generate[@]}"
mv "$snapshot/tokenizer.json" kept
asks 0 3 run gemma3:1b "${generate[@]}" --offline
mv kept "$snapshot/tokenizer.json"
# what is missing is fetched, and then nothing is
rm "$snapshot/generation_config.json"
fetches 0 run gemma3:1b "${generate[@]}"
same wanted out
asks 0 0 run gemma3:1b "${generate[@]}"
# lists that say nothing: damaged, of another version, with names that leave the folder, of another commit
rm "$snapshot/chat_template.jinja"
asks 0 3 run gemma3:1b "${generate[@]}" --offline
says_nothing() { asks 0 0 run gemma3:1b "${generate[@]}" --offline; }
head -c 100 "$tree" >short
mv "$tree" kept
says_nothing
cp short "$tree"
says_nothing
version=2 list "${files[@]}" >"$tree"
says_nothing
list "${files[@]}" ../x >"$tree"
says_nothing
rm "$tree"
ln -s /dev/zero "$tree"
says_nothing
rm "$tree"
mkdir "$tree"
says_nothing
rmdir "$tree"
mv kept "$tree"
# of GGUF files the one that is preferred, where there is none
rm "$snapshot"/*
list README.md m-Q4_K_M.gguf m-Q8_0.gguf >"$tree"
asks 0 3 run gemma3:1b "${generate[@]}" --offline
err_has 'of which m-Q4_K_M.gguf'
