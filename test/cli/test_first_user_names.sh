#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_first_user_names.sh: what a first user types: names instead of files, verbs and options of other
# programs. The numbers are those of the cases of test_first_user.sh.
. "$CARAT_SOURCE/test/cli/common.bash"
unset HF_HUB_CACHE HF_HOME XDG_CACHE_HOME LLAMA_CACHE KAGGLEHUB_CACHE
export HOME=$work/home OLLAMA_MODELS=$work/home/.ollama/models HF_HUB_OFFLINE=1 # test_find_model.sh fetches

# ---- 8: a name of the hub's or of ollama's, an address, tiny misspelt ----
get() { # NAME REPOSITORY
    err_has "$1 is $2, which is not on this machine; 'carat pull $1' fetches it"
}
for name in gemma3:1b gemma-3-1b-it Gemma3-1B hf.co/google/gemma-3-1b-it https://huggingface.co/google/gemma-3-1b-it \
    https://huggingface.co/google/gemma-3-1b-it/tree/main google/gemma-3-1b-it@dev google/gemma-3-1b-it:Q4_K_M \
    https://huggingface.co/google/gemma-3-1b-it/resolve/main/c-q4.gguf?download=true; do
    refuse 3 run "$name" hi
    get "$name" google/gemma-3-1b-it
done
refuse 3 run google/gemma-3-1b-it hi
err_has "E_NOT_FOUND: google/gemma-3-1b-it is not on this machine; 'carat pull google/gemma-3-1b-it' fetches it"
for verb in show tokenize bench verify pack; do
    refuse 3 $verb gemma3:1b
    get gemma3:1b google/gemma-3-1b-it
done
refuse 3 convert gemma3:1b out.gguf
get gemma3:1b google/gemma-3-1b-it
refuse 3 compare tiny gemma3:1b -p hi
get gemma3:1b google/gemma-3-1b-it
refuse 3 run tiny hi -md gemma3:270m
get gemma3:270m google/gemma-3-270m-it
while read -r name repository; do
    refuse 3 run $name hi
    get $name $repository
done <<'END'
gemma:7b google/gemma-7b-it
gemma2:9b google/gemma-2-9b-it
gemma-2-2b google/gemma-2-2b-it
gemma3:1b-it-qat google/gemma-3-1b-it-qat-q4_0-gguf
functiongemma google/functiongemma-270m-it
END
refuse 3 embed embeddinggemma hi
get embeddinggemma google/embeddinggemma-300m
for name in recurrentgemma google/t5gemma paligemma:latest; do
    refuse 3 run $name hi
    err_has 'is the name of a model that carat does not run; it runs Gemma 1, 2, 3, 3n and 4'
done
refuse 3 run https://example.org/model hi
err_has "https://example.org/model is not on this machine; 'carat pull https://example.org/model' fetches it"
for name in hf.co/ hf.co/a https://huggingface.co; do
    refuse 3 run $name hi
    ! grep -q 'carat pull' err || die "$name: another model is offered"
done
refuse 3 run llama3:8b hi
err_has 'llama3:8b is no path and no name that carat knows; names are OWNER/NAME of a repository of the hub'
refuse 3 run gemm3:1b hi
err_has 'did you mean gemma3:1b?'
refuse 3 run tinny hi
err_has 'did you mean tiny, the model inside this command?'
refuse 3 run "$(printf 'x%.0s' $(seq 5000))" hi
# paths stay paths: a file's ending, a folder that is there, a dot in front; and what exists is opened
mkdir models
for path in gemma3.gguf ./gemma3:1b models/gemma-3-1b-it /google/gemma-3-1b-it ../google/gemma3; do
    refuse 3 run $path hi
    err_has "$path: cannot be opened"
done
echo nothing >gemma3:1b
refuse 4 run gemma3:1b hi
! grep -q 'carat pull' err || die 'an existing file is taken for a name'
rm gemma3:1b
# what the hub's programs have downloaded already is found where they keep it, under all its names
unset XDG_CACHE_HOME
commit=0123456789abcdef0123456789abcdef01234567
folder=$HOME/.cache/huggingface/hub/models--google--gemma-3-1b-it
mkdir -p "$folder"/refs "$folder"/blobs "$folder/snapshots/$commit"
printf %s $commit >"$folder/refs/main"
expect 0 run tiny hi -n 4 --temp 0 --no-perf
cp out wanted
for file in "$CARAT_SOURCE"/models/tiny/*.*; do
    cp "$file" "$folder/blobs/${file##*/}.blob"
    ln -s "../../blobs/${file##*/}.blob" "$folder/snapshots/$commit/${file##*/}"
done
for name in gemma3:1b google/gemma-3-1b-it google/gemma-3-1b-it@$commit hf.co/google/gemma-3-1b-it; do
    expect 0 run $name hi -n 4 --temp 0 --no-perf
    same wanted out
done
expect 0 run tiny hi -n 4 --temp 0 --no-perf -md gemma3:1b
same wanted out
expect 0 show gemma3:1b
out_has "found  *gemma3:1b is google/gemma-3-1b-it, commit 0123456789ab of main"
out_has "path  *$folder/snapshots/$commit"
expect 0 compare gemma3:1b -p hi -n 2
out_has 'healthy'
rm "$folder/snapshots/$commit/model.safetensors"
refuse 3 run gemma3:1b hi
err_has 'gemma3:1b is google/gemma-3-1b-it, of which model.safetensors is not on this machine'
HF_HOME=$work/other refuse 3 run gemma3:1b hi
get gemma3:1b google/gemma-3-1b-it
HF_HUB_CACHE=$HOME/.cache/huggingface/hub HF_HOME=$work/other refuse 3 run google/gemma-3-1b-it hi
err_has 'of which model.safetensors is not'
export XDG_CACHE_HOME=$work/cache

# ---- 9: what others call a conversation ----
for words in talk 'interactive tiny' 'run tiny hi -i' 'run tiny --interactive' '--weights tiny --chat'; do
    refuse 2 $words
    err_has 'carat chat MODEL is a conversation'
done
expect 0 run tiny -cnv
out_is ''
refuse 2 run tiny hi -cnv
err_has 'run: -cnv is a conversation, whose messages come from standard input'
# verbs of other programs
for words in 'download carat.pull' 'models carat.ls' 'remove carat.rm' 'copy carat.cp' 'generate carat.run' \
    'quantise carat.quantize' 'create carat.convert' 'tiny carat.run.tiny.PROMPT'; do
    set -- $words
    refuse 2 "$1"
    err_has "$2"
done
refuse 2 'talk serve'
err_has 'unknown verb'

# ---- 15: options of llama.cpp ----
expect 0 run tiny hi -n 4 --temp 0 --no-perf
cp out wanted
expect 0 run tiny hi -n 4 --temp 0 --no-perf -ptc 3 -a name --alias name -bs -dt 0.1 --spec-default --no-mmproj
same wanted out
err_has '^note: ignored.*-ptc, -a, --alias, -bs, -dt, --spec-default, --no-mmproj$'
for color in '-co on' -co=always -co; do
    expect 0 run tiny hi -n 4 --temp 0 --no-perf ${color/=/ }
    same wanted out
done
for words in '-hfv a/b=makes no speech' '-dr a/b=carat pull' '--license=LICENSE' '--list-devices=carat doctor' '--host 0.0.0.0=carat serve' \
    '--port 80=carat serve'; do
    refuse 2 run tiny hi ${words%%=*}
    name=${words%%[ =]*}
    err_has "run: $name is not supported: .*${words#*=}"
done
# those that name a model of the hub
for words in '-hf google/gemma-3-1b-it:Q4_K_M' '--hf-repo=google/gemma-3-1b-it' '-hfr google/gemma-3-1b-it --hf-file a.gguf' \
    '-mu https://huggingface.co/google/gemma-3-1b-it/resolve/main/a.gguf' '-hf google/gemma-3-1b-it:Q4_0 -hff a.gguf' \
    '-m google/gemma-3-1b-it -hff a.gguf'; do
    refuse 3 run $words -p hi
    err_has 'is not on this machine; .carat pull .*google/gemma-3-1b-it'
done
err_has "google/gemma-3-1b-it:a.gguf"
refuse 3 run -hf google/gemma-3-1b-it hi # counts as MODEL
refuse 2 run -hf google/gemma-3-1b-it tiny hi
refuse 2 run tiny hi -hff a.gguf
err_has 'run: --hf-file names a file of OWNER/NAME, and MODEL is tiny'
expect 0 run tiny hi -n 4 --temp 0 --no-perf -hft secret
same wanted out
err_has '^note: other users of this machine can see a token among a command'
! grep -q secret err out || die 'the token is repeated'
for device in cpu none; do
    expect 0 run tiny hi -n 4 --temp 0 --no-perf --device $device
    same wanted out
done
for device in Vulkan0 metal 0; do
    refuse 2 run tiny hi --device $device
    err_has "device is \"$device\", expected cpu, cuda, cuda:N or auto"
done

# ---- 15: the spellings of other runners of Gemma, without a verb too ----
sampling='^note: sampling is the model.s own; --top-k 1'
expect 0 run --weights tiny --prompt hi --max-tokens 4 --temperature 0 --no-perf --stream
same wanted out
expect 0 --weights tiny --prompt hi --max-tokens 4 --temperature 0 --no-perf --stream --device cpu
same wanted out
! grep -q "$sampling" err || die 'a note about sampling that was given'
expect 0 --prompt=hi --max-tokens=4 --weights=tiny --seed 3 --no-perf
[ "$(grep -c "$sampling" err)" = 1 ] || die 'not one note about sampling'
cp out drawn
expect 0 run tiny hi -n 4 --seed 3 --no-perf
same drawn out
expect 0 -m tiny -p hi -n 4 --temp 0 --no-perf
same wanted out
[ ! -s err ] || die 'a note for who uses the options of llama.cpp'
expect 0 tokenize tiny -- '--weights x'
cp out wanted
expect 0 --weights tiny --encode '--weights x' --top-k 1 --prompt y --stream
same wanted out
expect 0 --encode='--weights x' --weights tiny
same wanted out
expect 0 detokenize tiny '500,635 631'
cp out wanted
expect 0 --weights tiny --decode '500,635 631'
same wanted out
expect 0 show tiny
cp out wanted
for option in --print-config --print-backend; do
    expect 0 --weights tiny $option --prompt hi --device cpu
    same wanted out
    refuse 2 run tiny hi $option
    err_has 'carat show MODEL does that'
done
expect 0 --weights tiny --bench --prompt hi --max-tokens 2 --bench-warmup 0 --bench-iters 1 --top-k 1
out_has 'tok/s'
expect 2 --weights tiny --prompt hi --device metal
err_has 'device is "metal", expected cpu, cuda, cuda:N or auto'
refuse 2 --weights
refuse 2 --weights tiny --encode
err_has 'option --encode needs a value'
refuse 2 run tiny --encode hi
err_has 'carat tokenize MODEL TEXT does that'
refuse 2 run tiny hi --bench-iters 3
refuse 2 --jsno
err_has 'unknown verb'

# ---- 10: what can be told before a model is packed is told before ----
rm -rf "$XDG_CACHE_HOME"
cp -r "$tiny" model
mkdir folder
early() { # CODE WORDS...: refused, and nothing was packed
    refuse "$@"
    [ -z "$(find "$XDG_CACHE_HOME" -name "*.carat" 2>/dev/null)" ] || die "$*: the model was packed first"
}
for words in '-f absent' 'hi --tools absent' 'hi -sysf absent' 'hi --tokenizer absent' '-f folder' 'hi --tools folder'; do
    early 1 run model $words
    err_has "${words##* }: cannot be "
done
early 1 bench model --compare absent
early 1 tokenize model --jsonl absent
early 1 render model --messages absent
for words in 'logits model --ids 2 -o' 'bench model --plot' 'pack model -o'; do
    early 1 $words absent/file
    early 1 $words folder
done
for words in '--top-p 0' '--top-p 1e-7' '--top-p 1.01' '--top-p nan' '--temp nan' '--temp 100.1' '--temp 1e-7' '--temp -1' \
    '--min-p nan' '--min-p 1.01' '--top-k -1'; do
    early 2 run model hi $words
    CARAT_ARG_TOP_P=0 early 2 run model hi
done
cp -r model bare
rm bare/tokenizer*
for words in 'run bare hi' 'tokenize bare hi' 'detokenize bare 2' 'render bare --messages model/config.json'; do
    early 3 $words
    err_has 'tokenizer'
done
# what the table lets through, the library takes, to both ends of each range
for words in '--top-p 0.000001' '--top-p 1' '--temp 0' '--temp 0.000001' '--temp 100' '--min-p 0' '--min-p 1' '--top-k 0' \
    '--top-k 2147483647'; do
    expect 0 run model hi -n 1 $words
done
expect 0 run bare --ids 2,5 -n 1

# ---- 14: what does not fit the cache, in one unit; one packed model leaves ----
rm -rf "$XDG_CACHE_HOME"
expect 0 run model hi -n 1
err_has '^note: packed into the cache, [0-9.]* MB: '
! grep -q " 0[.0]* MB" err || die 'a size of nothing'
expect 0 cache clear
expect 0 run model hi -n 1 --cache-size 1M
err_has 'not kept packed: it takes [0-9.]* MB, and the cache may take 1.05 MB$'
least=$(sed -n 's/^note: --cache-size \([0-9]*M\) keeps it.*/\1/p' err)
expect 0 run model hi -n 1 --cache-size $((${least%M} - 1))M
err_has "^note: --cache-size $least keeps it"
expect 0 run model hi -n 1 --cache-size "$least"
err_has 'packed into the cache'
cp -r model other
expect 0 run other hi -n 1
refuse 3 cache remove absent
err_has "0 packed models are called 'absent'"
expect 0 cache remove model
out_has '^removed .*MB .*/model$'
out_has '^1 packed model, '
expect 0 run other hi -n 1
! grep -q packed err || die 'the other one left too'
mkdir deeper
cp -r model deeper/other
expect 0 run deeper/other hi -n 1
rm -r other
refuse 3 cache remove other
err_has "2 packed models are called 'other'"
expect 0 cache remove deeper/other
out_has '^1 packed model, '
expect 0 cache list --json
file=$(sed -n 's/.*"file":"\([^"]*\)".*/\1/p' out)
expect 0 cache remove "${file##*/}"
out_has '^0 packed models, '
refuse 2 cache remove
refuse 2 cache list model
refuse 2 cache forget
err_has 'must be one of list, prune, clear and remove'

# ---- 19: variables of llama.cpp, misspelt ones; colours in what is said about the command line ----
expect 0 run tiny hi -n 3 --temp 0 --no-perf
cp out wanted
LLAMA_ARG_N_PREDICT=3 LLAMA_ARG_TEMP=0 expect 0 run tiny hi --no-perf
same wanted out
LLAMA_ARG_N_PREDICT=9 CARAT_ARG_PREDICT=3 LLAMA_ARG_TEMP=9 expect 0 run tiny hi --no-perf --temp 0
same wanted out
LLAMA_ARG_TOP_K=-3 CARAT_ARG_TOP_K=1 expect 0 run tiny hi -n 3 --temp 0 --no-perf # not even read
LLAMA_ARG_TOP_K=-3 refuse 2 run tiny hi
err_has "LLAMA_ARG_TOP_K: '-3' is not"
CARAT_ARG_TMEP=0 CARAT_ARG_THREAD=1 expect 0 show tiny
err_has '^note: CARAT_ARG_TMEP is not a variable of carat; did you mean CARAT_ARG_TEMP?$'
err_has 'did you mean CARAT_ARG_THREADS?'
CARAT_ARG_QWERTZUIOP=0 expect 0 show tiny
err_has '^note: CARAT_ARG_QWERTZUIOP is not a variable of carat;'
CARAT_ARG_TEMP=0 CARAT_ARG_N_PREDICT=1 LLAMA_ARG_NONE=1 expect 0 show tiny
[ ! -s err ] || die 'a note about variables that are there, or are not carat'\''s'
export "CARAT_ARG_$(printf 'X%.0s' $(seq 300))=1"
expect 0 show tiny
unset ${!CARAT_ARG_@}
esc=$(printf '\033')
for words in '--color frobnicate' 'frobnicate --color' 'run --color=always' 'run tiny hi --tempp 1 --color on' '--color' \
    'run tiny hi --temp --color'; do
    expect 2 $words
    grep -q "^$esc\[1;31merror:" err || die "$words: no colour"
done
CLICOLOR_FORCE=1 expect 2 frobnicate --color never
! grep -q "$esc" err || die 'colours, though never'
CARAT_ARG_COLOR=on expect 2 frobnicate
grep -q "$esc" err || die 'CARAT_ARG_COLOR is not heard'
refuse 2 run tiny hi --color=red

# ---- 16: one exit code for one cause in every verb; no function of the library in a message ----
printf '[{"role":"user","content":"hi"}]' >m.json
printf '{' >cut.json
printf '[1]' >wrong.json
cp -r model plain
rm plain/chat_template.jinja
check() { # CODE WORDS...
    refuse "$@"
    ! grep -q 'carat_[a-z]' err || die "$*: a function's name"
}
for verb in 'run X hi' 'logits X -p hi' 'tokenize X hi' 'detokenize X 2' 'render X --messages m.json'; do
    check 3 ${verb/X/absent}
    check 3 ${verb/X/bare}
done
for words in 'run plain' 'logits plain' 'render plain'; do
    check 4 $words --messages m.json --no-cache
    err_has 'no chat template'
done
for verb in 'run tiny --messages' 'logits tiny --messages' 'render tiny --messages' 'run tiny hi --tools' \
    'render tiny --messages m.json --tools' 'tokenize tiny --jsonl' 'detokenize tiny --jsonl' 'bench tiny --compare'; do
    check 1 $verb absent
    check 2 $verb cut.json
    check 2 $verb wrong.json
done
for verb in 'run tiny --ids' 'logits tiny --ids' 'detokenize tiny'; do
    for ids in x 99999 2,x '[2'; do
        check 2 $verb "$ids"
    done
done
check 2 run tiny hi --kv q4
err_has "must be one of bf16, f16, f32, q8"
# the library's sentences: no function's name before them, no full stop behind
! grep -rnE 'ct_fail\(.*"carat_[a-z_]+: ' "$CARAT_SOURCE/src" || die 'a message begins with the name of a function'
! grep -rnE '^ *(return )?ct_fail\(.*[a-z]\.",' "$CARAT_SOURCE/src" || die 'a message ends with a full stop'
