#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_dotenv.sh: what is taken from .env in the working directory: secrets of the hub and of Kaggle, of the
# user's own file alone; the environment goes before it. Kaggle notes as whom it was asked.
. "${CARAT_SOURCE:?}/test/cli/hub.bash"
unset ${!KAGGLE_@} KAGGLEHUB_CACHE
export OLLAMA_MODELS=$work/none
files=served/kaggle/google/gemma-3/gguf/1b-it/3
mkdir -p $files "$HOME"
echo x >$files/model.gguf
serve
export KAGGLE_API_ENDPOINT=$HF_ENDPOINT
# asked_as LINE: as whom Kaggle is asked with this .env, after printf; "" is nobody.
asked_as() { # TEXT WANTED
    printf '%b' "$1" >.env
    with_file "$2" "$1"
}
with_file() { # WANTED WHAT
    rm -f log.authorization
    expect 0 pull kaggle://google/gemma-3/gguf/1b-it --dry-run
    [ "$(sort -u log.authorization)" = "$1" ] || die "$2: asked as '$(sort -u log.authorization)', expected '$1'"
}
T=KAGGLE_API_TOKEN

# ---- spellings ----
asked_as "$T=abc\n" 'Bearer abc'
asked_as "$T=abc" 'Bearer abc'
asked_as "  export  $T = abc  \r\n" 'Bearer abc'
asked_as "export\t$T=abc\n" 'Bearer abc'
asked_as "exports $T=abc\n" ''
asked_as "export$T=abc\n" ''
asked_as "$T=\"a b\"\n" 'Bearer a b'
asked_as "$T='a\"b'  # my own\n" "Bearer a\"b"
asked_as "$T=\"a\\\\\\\\b\\\\\"c\"\n" 'Bearer a\b"c'
asked_as "$T=a#b\n" 'Bearer a#b'
asked_as "$T=abc # d\n" 'Bearer abc'
asked_as "$T=a b c\n" 'Bearer a b c'
asked_as "\xef\xbb\xbf$T=abc\n" 'Bearer abc'
asked_as "# $T=x\n\nOTHER=y\n$T=abc\n" 'Bearer abc'
asked_as "$T=a\n$T=b\n" 'Bearer b'
asked_as "$T=a=b==\n" 'Bearer a=b=='
asked_as "KAGGLE_USERNAME=me\nKAGGLE_KEY=k\n" 'Basic bWU6aw=='
for bad in "X$T=abc" "${T}S=abc" "${T}abc" "$T" "$T=" "$T=\"abc" "$T='abc" "$T=\"abc\"d" "$T=#abc" "$T=\"a\001b\"" \
    "$T=a\177b" "$T=a\000b" "OTHER=\"\n$T\"=abc" "$T:abc"; do
    asked_as "$bad\n" ''
done
# a line that is not understood leaves what stood before it
asked_as "$T=abc\n$T=\"x\n" 'Bearer abc'
# names that nobody asked for are not taken
printf 'KAGGLE_API_ENDPOINT=http://127.0.0.1:1\nHF_HUB_OFFLINE=1\nHF_ENDPOINT=http://127.0.0.1:1\n%s=abc\n' $T >.env
with_file 'Bearer abc' 'other names'
# the environment goes before it, where it says something
printf '%s=abc\n' $T >.env
KAGGLE_API_TOKEN=other with_file 'Bearer other' environment
KAGGLE_API_TOKEN='' with_file 'Bearer abc' 'an empty variable'

# ---- lengths ----
long=$(head -c 999 /dev/zero | tr '\0' a)
asked_as "$T=$long\n" "Bearer ${long:0:248}" # as far as it is noted
asked_as "$T=${long}b\n" ''
asked_as "$T=\"${long}b\"\n" ''
asked_as "OTHER=$long$long$long$T=x\n" ''
{ printf '%s=abc\n#' $T && head -c $((65536 - 23)) /dev/zero | tr '\0' x && echo; } >.env
[ "$(wc -c <.env)" = 65536 ] || die "the file has $(wc -c <.env) bytes"
with_file 'Bearer abc' '64 KiB'
echo >>.env
with_file '' 'more than 64 KiB'

# ---- files that are not the user's own ----
rm .env
printf '%s=abc\n' $T >elsewhere
ln -s elsewhere .env
with_file '' 'a link'
rm .env
mkfifo .env
with_file '' 'a pipe'
rm .env
mkdir .env
with_file '' 'a directory'
rmdir .env
with_file '' 'nothing'
if [ "$(id -u)" = 0 ] && cp elsewhere .env && chown 12345 .env 2>/dev/null; then
    with_file '' "another user's"
    rm -f .env
fi

# ---- the hub's, which another host never gets ----
serve foreign
printf 'export HF_TOKEN="abc"\n' >.env
: >log
expect 0 show gemma3:1b
grep -q '^/api.*token=1' log || die 'the hub got no token'
! grep -q -i authorization log.headers || die 'another host got the token'
: >log
HF_HUB_DISABLE_IMPLICIT_TOKEN=1 expect 0 show gemma3:1b
echo 'KAGGLE_KEY=abc' >.env
expect 0 show gemma3:1b
! grep -q 'token=1' log || die 'a token that nobody wanted, or that is not for the hub'
