#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_search.sh: carat search asks the hub for words, keeps what carat runs and marks what is here; and the
# spellings of other runners, carat fetch and its options.
. "${CARAT_SOURCE:?}/test/cli/hub.bash"
export OLLAMA_MODELS=$work/ollama LLAMA_CACHE=$work/llama KAGGLEHUB_CACHE=$work/kaggle
tagged() { # OWNER/NAME TAGS...
    local name=$1
    mkdir -p served/$name
    shift
    printf '"%s", ' "$@" | sed 's/, $//' >served/$name/.tags
}
tagged google/gemma-3-1b-it transformers safetensors gemma3_text
tagged google/paligemma-3b safetensors paligemma
tagged google/t5gemma-2b safetensors t5gemma base_model:google/t5gemma-2b
tagged google/gemma-x-keras keras
tagged u/a-gemma-GGUF gguf base_model:quantized:google/gemma-2-2b-it
tagged u/a-mix-of-gemma-and-llama safetensors llama base_model:meta/llama
tagged v/llama-gemmatic gguf base_model:meta/llama-3
tagged v/other-GGUF gguf gemma3
serve
names() { awk '{print $NF}' out | tr '\n' ' '; }

asks 1 0 search gemma
[ "$(names)" = 'google/gemma-3-1b-it u/a-gemma-GGUF ' ] || die "found $(names)"
out_has '^ *1000        google/gemma-3-1b-it$'
out_has '^ .* GGUF  u/a-gemma-GGUF$'
err_has '^note: 5 left out that carat does not run; --all shows them$'
asks 1 0 search gemma --all
[ "$(wc -l <out)" = 7 ] || die "all are $(names)"
[ ! -s err ] || die 'a note with --all'
asks 1 0 search OTHER
[ "$(names)" = 'v/other-GGUF ' ] || die "found $(names)"
asks 1 0 search gemma --limit 1
[ "$(names)" = 'google/gemma-3-1b-it ' ] || die "found $(names)"
asks 1 0 search a mix of gemma # one text
out_is ''
err_has '^note: the hub finds nothing that carat runs$'
grep -q '^/api/models?search=a%20mix%20of%20gemma&limit=50&sort=downloads' log || die "$(tail -1 log)"
asks 1 0 search t5gemma
err_has 'nothing that carat runs; --all shows the others$'
# what is here
expect 0 pull gemma3:1b
asks 1 0 search gemma-3
out_has '^here .*google/gemma-3-1b-it$'
asks 1 0 search gemma-3 --json
out_has '{"models":\[{"name":"google/gemma-3-1b-it","downloads":1000,"here":true,"form":""}\],"left_out":1}'
# what cannot be
refuse 2 search
refuse 2 search ''
refuse 2 search "$(printf 'x%.0s' $(seq 300))"
refuse 2 search gemma --limit 0
asks 0 3 search gemma --offline
err_has 'nothing is searched: --offline forbids it'
serve deep
refuse 3 search gemma
err_has 'is not understood'
serve html
expect 0 search gemma # of files alone
stop
server=
refuse 6 search gemma
err_has 'gemma: no connection'

# ---- the spellings of other runners ----
serve
expect 0 search gemma --limit 3
cp out wanted
for words in '--search-hf gemma --limit 3' '--limit 3 --search-hf=gemma'; do
    asks 1 0 fetch $words
    same wanted out
done
mkdir served/u/g
expect 0 convert tiny served/u/g/g-Q8_0.gguf --type q8_0
cp served/u/g/g-Q8_0.gguf served/u/g/g-Q4_0.gguf
fetches 0 fetch --hf-repo u/g --hf-file g-Q8_0.gguf --out into
[ "$(ls into)" = g-Q8_0.gguf ] && same into/g-Q8_0.gguf served/u/g/g-Q8_0.gguf
fetches 0 fetch u/g:q4_0
out_has 'g-Q4_0.gguf$'
refuse 2 fetch --hf-file g-Q8_0.gguf

# ---- Kaggle: by its own names ----
export KAGGLE_API_ENDPOINT=$HF_ENDPOINT
unset KAGGLE_API_TOKEN KAGGLE_USERNAME KAGGLE_KEY KAGGLE_CONFIG_DIR
for one in google/gemma-3/gguf/1b-it/1 google/gemma-3/gguf/1b-it/2 google/gemma-3/keras/1b/1 google/gemma-3/GEMMA_CPP/sfp/1 google/gemma-3/pyTorch/1b/1 google/paligemma/gguf/3b/1 meta/llama/gguf/8b/1; do
    mkdir -p served/kaggle/$one
done
cp served/u/g/g-Q8_0.gguf served/kaggle/google/gemma-3/gguf/1b-it/2/model.gguf
echo old >served/kaggle/google/gemma-3/gguf/1b-it/1/old.txt
for words in 'search gemma --source kaggle' 'fetch --search-kaggle gemma' 'fetch --limit=9 --search-kaggle=gemma'; do
    asks 1 0 $words
    [ "$(names)" = 'kaggle://google/gemma-3/gemmaCpp/sfp kaggle://google/gemma-3/gguf/1b-it ' ] || die "$words found $(names)"
done
err_has '^note: 3 left out that carat does not run'
grep -q '^{"search": "gemma", "pageSize": 45}$' log.search || die "asked $(cat log.search)"
expect 0 search 'a "b\' --source kaggle
grep -qF '{"search": "a \"b\\", "pageSize": 50}' log.search || die "asked $(cat log.search)"
err_has '^note: Kaggle finds nothing that carat runs'
expect 0 search gemma --source kaggle --all
out_has ' kaggle://google/gemma-3/pyTorch/1b$'
asks 1 0 search gemma --source kaggle --limit 1 --json
out_has '{"models":\[{"name":"kaggle://google/gemma-3/gemmaCpp/sfp","downloads":null,"here":false,"form":""}\]'
# fetch --kaggle HANDLE [--version N] --out DIR
fetches 0 fetch --kaggle google/gemma-3/gguf/1b-it --out newest -q
same newest/model.gguf served/u/g/g-Q8_0.gguf
fetches 0 fetch --kaggle google/gemma-3/gguf/1b-it --version 1 --out older -q
[ "$(ls older)" = old.txt ] || die "version 1 is $(ls older)"
fetches 0 fetch --kaggle google/gemma-3/gguf/1b-it -q
asks 1 0 search gemma --source kaggle
out_has '^here .*GGUF  kaggle://google/gemma-3/gguf/1b-it$'
refuse 2 fetch u/g --version 1
refuse 2 fetch --kaggle google/gemma-3/gguf/1b-it --version 0
refuse 2 search gemma --source none
serve bad-name
export KAGGLE_API_ENDPOINT=$HF_ENDPOINT
expect 0 search gemma --source kaggle
[ ! -s out ] || die "found $(cat out)"
serve gated
export KAGGLE_API_ENDPOINT=$HF_ENDPOINT
refuse 3 search gemma --source kaggle
err_has 'Kaggle does not search for gemma: status 401; it may want KAGGLE_API_TOKEN'
serve deep
export KAGGLE_API_ENDPOINT=$HF_ENDPOINT
refuse 3 search gemma --source kaggle
err_has 'of what Kaggle found is not understood'
