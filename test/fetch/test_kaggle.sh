#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_kaggle.sh: models of Kaggle, into kagglehub's cache: the newest version or the one that is named, marks
# of what is whole, MD5, credentials from all their places, and what is refused.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/fetch/fetch.bash"
unset ${!KAGGLE_@} KAGGLEHUB_CACHE LLAMA_CACHE
export HOME=$work/home OLLAMA_MODELS=$work/none KAGGLEHUB_CACHE=$work/kaggle
handle=google/gemma-3/gguf/1b-it model=kaggle://google/gemma-3/gguf/1b-it
files=$work/served/kaggle/$handle cache=$KAGGLEHUB_CACHE/models/$handle
mkdir -p "$HOME" "$files"/{2,10}
expect 0 convert tiny "$files/10/model.gguf" --type q8_0
echo old >"$files/2/model.gguf"
for i in a b 'c d'; do echo "$i" >"$files/10/note $i.txt"; done
ask() { # [FAULT]
    serve "$@"
    export KAGGLE_API_ENDPOINT=$HF_ENDPOINT
    rm -f "$work"/log*
}
clear_cache() { rm -rf "$KAGGLEHUB_CACHE"; }
asked() { [ "$(sort -u "$work/log.authorization")" = "$1" ] || die "asked as $(sort -u "$work/log.authorization"), expected $1"; }

# ---- the newest version, whole and marked; then nothing is asked for ----
ask
export KAGGLE_API_TOKEN=secret
expect 0 pull $model -q
out_is "$cache/10/model.gguf
"
asked 'Bearer secret'
! grep -q -i authorization "$work/log.headers" || die "the token went to another host"
for file in model.gguf 'note a.txt' 'note b.txt' 'note c d.txt'; do
    same "$files/10/$file" "$cache/10/$file"
    [ -e "$cache/.complete/10/$file.complete" ] || die "$file has no mark"
done
[ -e "$cache/10.complete" ] || die "the version has no mark"
find "$cache" -name '*incomplete' | grep -q . && die "something is left: $(find "$cache")"
stop
expect 0 pull $model -q
expect 0 run $model hello -n 4 --temp 0
expect 0 run $model/10 hello -n 4 --temp 0
refuse 6 pull $model/2
# a run fetches what it misses
clear_cache
ask
expect 0 run $model hello -n 4 --temp 0
err_has "kaggle://$handle, version 10: 4 files"
clear_cache
refuse 3 run $model hello --offline
# ---- the version that is named; a folder of one's own; what would be fetched ----
expect 0 pull $model/2 -q
same "$files/2/model.gguf" "$cache/2/model.gguf"
[ ! -e "$cache/10" ] || die "another version came, too"
expect 0 pull $model --out own -q
same "$files/10/model.gguf" own/model.gguf
expect 0 pull $model --dry-run
out_has 'missing model.gguf'
refuse 2 pull $model --include '*.gguf'
refuse 2 pull $model --revision 2
# what another program has begun goes on; a wrong beginning does not
clear_cache
mkdir -p "$cache/10"
head -c 1000 "$files/10/model.gguf" >"$cache/10/model.gguf"
refuse 3 run $model hello --offline
rm -f "$work/log"
expect 0 pull $model -q
same "$files/10/model.gguf" "$cache/10/model.gguf"
[ "$(awk -F sent= '/^\/kaggle-cdn.*model.gguf/ {n += $2} END {print n}' "$work/log")" = $(($(wc -c <"$files/10/model.gguf") - 1000)) ] || die "all of it came again: $(cat "$work/log")"
clear_cache
mkdir -p "$cache/10"
echo wrong >"$cache/10/model.gguf"
expect 0 pull $model -q
same "$files/10/model.gguf" "$cache/10/model.gguf"

# ---- credentials ----
ask
printf '  of-a-file  \n' >token
KAGGLE_API_TOKEN=token expect 0 pull $model --force -q
asked 'Bearer of-a-file'
unset KAGGLE_API_TOKEN
ask
KAGGLE_USERNAME=me KAGGLE_KEY=12345 expect 0 pull $model --force -q
asked "Basic $(printf me:12345 | base64)"
long=$(printf '%249s' '' | tr ' ' u)
KAGGLE_USERNAME=$long KAGGLE_KEY=k expect 0 pull $model --force -q
KAGGLE_USERNAME=u$long KAGGLE_KEY=k refuse 1 pull $model --force
err_has 'KAGGLE_USERNAME has 250 bytes, expected at most 249'
ask
mkdir -p "$HOME/.kaggle" config
echo '{"username": "json", "key": "of it"}' >"$HOME/.kaggle/kaggle.json"
chmod 600 "$HOME/.kaggle/kaggle.json"
expect 0 pull $model --force -q
asked "Basic $(printf 'json:of it' | base64)"
[ ! -s err ] || die "a warning: $(cat err)"
chmod 644 "$HOME/.kaggle/kaggle.json"
expect 0 pull $model --force -q
err_has 'kaggle.json can be read by others'
ask
echo '{"username": "config", "key": "k"}' >config/kaggle.json
KAGGLE_CONFIG_DIR=$work/config expect 0 pull $model --force -q
asked "Basic $(printf config:k | base64)"
ask
echo tok >"$HOME/.kaggle/access_token"
expect 0 pull $model --force -q
asked 'Bearer tok'
ask
printf 'OTHER=x\nexport KAGGLE_API_TOKEN="from env"\nKAGGLE_API_ENDPOINT=http://127.0.0.1:1\n' >.env
expect 0 pull $model --force -q
asked 'Bearer from env'
rm -r .env "$HOME/.kaggle"
echo '{"username": 1}' >config/kaggle.json
KAGGLE_CONFIG_DIR=$work/config refuse 1 pull $model --force
err_has 'expected an object of JSON with the texts username and key'

# ---- names of frameworks, as kagglehub takes them ----
mkdir -p "$work/served/kaggle/google/gemma-3/gemmacpp"
cp -r "$files" "$work/served/kaggle/google/gemma-3/gemmacpp/1b-it"
ask
for framework in gemmaCpp gemma_cpp GemmaCPP; do
    expect 0 pull kaggle://google/gemma-3/$framework/1b-it --dry-run
    out_has 'missing model.gguf'
done
refuse 2 pull kaggle://google/gemma-3/gemmacp/1b-it
err_has 'is not OWNER/MODEL/FRAMEWORK/VARIATION with a framework of Kaggle'

# ---- what is refused: one line, nothing under a final name ----
clear_cache
refuse 3 pull kaggle://google/gemma-3/gguf/none -q
err_has 'there is no such model, version or file'
refuse 3 pull $model/99 -q
ask gated
refuse 3 pull $model -q
err_has 'its licence has to be accepted on www.kaggle.com/models/google/gemma-3/gguf/1b-it'
ask bad-name
refuse 3 pull $model -q
err_has 'entry 1 of Kaggle.s list of files has a name or size that cannot be'
ask pages
refuse 3 pull $model -q
err_has 'does not end'
ask bad-hash
refuse 3 pull $model -q
err_has 'what came has the hash'
[ ! -e "$cache" ] || ! find "$cache" -type f ! -name '*.lock' ! -name '*.incomplete' | grep -q . || die "something has a name: $(find "$cache")"
