#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_pull.sh: carat pull against a hub on this machine: what comes lies as huggingface_hub lays it, runs by
# its name, and is not fetched again; each fault gives the right bytes or no file, one line and the right exit
# code.
. "${CARAT_SOURCE:?}/test/cli/common.bash"
[ -x "$CARAT_BUILD/carat-fetch" ] || { echo 'carat-fetch was not built'; exit 77; }
hub=$work/hub repository=$work/served/google/gemma-3-1b-it commit=0123456789abcdef0123456789abcdef01234567
folder=$hub/models--google--gemma-3-1b-it
export HF_HUB_CACHE=$hub HF_TOKEN=secret
unset HF_HOME HF_HUB_OFFLINE TRANSFORMERS_OFFLINE https_proxy http_proxy
mkdir -p "$repository/sub" "$work/served/u/g"
cp "$CARAT_SOURCE"/models/tiny/*.* "$repository"
echo x >"$repository/pytorch_model.bin"
echo x >"$repository/sub/x y.txt"
for quant in Q8_0 Q4_0; do
    expect 0 convert tiny "$work/served/u/g/g-$quant.gguf" --type ${quant,,}
done

server=
stop() { # and its connections, which would still write into the log
    [ -z "$server" ] || { kill $server && wait $server; } 2>/dev/null || true
}
trap 'stop; rm -rf "$work"' EXIT
serve() { # [FAULT [NUMBER]]
    stop
    rm -f "$work"/port "$work"/log
    "$CARAT_BUILD/test/fakehub" "$work/served" "$work/port" "$work/log" "$@" >/dev/null 2>&1 &
    server=$!
    until [ -s "$work/port" ]; do sleep 0.01; done
    HF_ENDPOINT=http://127.0.0.1:$(cat "$work/port")
    export HF_ENDPOINT
}
requests() { [ ! -e "$work/log" ] && echo 0 || wc -l <"$work/log"; }
sent() { awk -F 'sent=' '/^\/cdn/ {n += $2} END {print n + 0}' "$work/log"; }
whole() { cmp -s "$folder/snapshots/$commit/model.safetensors" "$repository/model.safetensors"; }
one_of() { # is it a file of the repository?
    local file
    for file in "$repository"/*; do
        [ -d "$file" ] || ! cmp -s "$1" "$file" || return 0
    done
    return 1
}
nothing() { # no blob has a name but those that are whole
    local blob
    for blob in "$folder"/blobs/*; do
        case $blob in
        *.carat.incomplete | *'*') ;;
        *) one_of "$blob" || die "$1: ${blob##*/} is damaged" ;;
        esac
    done
    [ ! -e "$folder/refs/main" ] || die "$1: the branch has a commit"
}

# ---- the whole way ----
serve
expect 0 pull gemma3:1b
out_is "$folder/snapshots/$commit"$'\n'
err_has '^note: google/gemma-3-1b-it, commit 0123456789ab: 7 files, '
[ "$(cat "$folder/refs/main")" = $commit ] || die 'refs/main'
[ -z "$(find "$folder" -xtype l)" ] || die 'a link leads nowhere'
[ ! -e "$folder/snapshots/$commit/pytorch_model.bin" ] && [ ! -e "$folder/snapshots/$commit/sub" ] || die 'too many files came'
for file in "$folder/snapshots/$commit"/*; do
    cmp "$file" "$repository/${file##*/}" || die "${file##*/} differs"
    [[ $(readlink "$file") == ../../blobs/* ]] || die "${file##*/} is no link to a blob"
done
grep -q 'Signature: 8a477f597d28d172789f06886806bc55' "$hub/CACHEDIR.TAG" || die 'CACHEDIR.TAG'
! grep -rq secret "$hub" || die 'the token was kept'
expect 0 run tiny hi -n 4 --temp 0 --no-perf
cp out wanted
expect 0 run gemma3:1b hi -n 4 --temp 0 --no-perf
same wanted out
# what is there causes no request
before=$(requests)
expect 0 pull gemma3:1b google/gemma-3-1b-it
[ "$(requests)" = "$before" ] || die 'requests for a complete model'
HF_HUB_OFFLINE=1 expect 0 pull gemma3:1b
expect 0 pull gemma3:1b --json
for words in '"name":"gemma3:1b"' "\"path\":\"$folder/snapshots/$commit\"" '"repository":"google/gemma-3-1b-it"' \
    '"revision":"main"' "\"commit\":\"$commit\""; do
    out_has "$words"
done
expect 0 pull u/g:q8_0
out_is "$hub/models--u--g/snapshots/$commit/g-Q8_0.gguf"$'\n'
[ ! -e "$hub/models--u--g/snapshots/$commit/g-Q4_0.gguf" ] || die 'both quantisations came'
expect 0 pull u/g
out_is "$hub/models--u--g/snapshots/$commit/g-Q8_0.gguf"$'\n'
expect 0 pull u/g:Q4_0
expect 0 pull u/g@$commit:g-Q4_0.gguf
expect 0 pull tiny
out_is ''

# ---- options ----
rm -rf "$hub"
expect 0 pull gemma3:1b --dry-run
out_has ' missing model.safetensors$'
out_has '^ *[0-9]* bytes would be fetched$'
[ ! -e "$hub" ] || die '--dry-run made something'
expect 0 pull gemma3:1b -q
[ ! -s err ] || die "-q: $(cat err)"
expect 0 pull gemma3:1b --dry-run
out_has ' there   model.safetensors$'
out_has '^ *0 bytes would be fetched$'
expect 0 pull gemma3:1b --dry-run --json
out_has '"missing_bytes":0'
# again, although it is there
before=$(requests)
expect 0 pull gemma3:1b --force
[ "$(requests)" -gt $((before + 7)) ] || die '--force fetched nothing'
cmp "$folder/snapshots/$commit/model.safetensors" "$repository/model.safetensors" || die '--force'
# a revision that is a commit, and one that is not there
rm -rf "$hub"
expect 0 pull gemma3:1b --revision $commit
out_is "$folder/snapshots/$commit"$'\n'
[ ! -e "$folder/refs/main" ] || die 'a commit became the branch'
refuse 3 pull gemma3:1b --revision dev
err_has 'dev: it has no such revision'
refuse 2 pull google/gemma-3-1b-it@other --revision dev
refuse 2 pull u/g --with-drafter
err_has 'knows no drafter of u/g'
# a folder: names of the repository, and nothing in the cache
rm -rf "$hub"
expect 0 pull gemma3:1b --out away --exclude '*.model' --include 'tok*' --include sub --include '*.bin'
out_is "away"$'\n'
(cd away && find . -type f | sort) >found
printf '%s\n' './sub/x y.txt' ./tokenizer.json ./tokenizer_config.json | sort >wanted
same wanted found
same away/tokenizer.json "$repository/tokenizer.json"
[ ! -e "$hub" ] || die '--out put something into the cache'
refuse 3 pull gemma3:1b --include '*.bin'
err_has 'none is wanted (pickles never are)'
expect 0 pull u/g:q4_0 --out one
out_is "one/g-Q4_0.gguf"$'\n'
same one/g-Q4_0.gguf "$work/served/u/g/g-Q4_0.gguf"
# what is there and something else stays, unless --force says otherwise
echo mine >one/g-Q4_0.gguf
expect 1 pull u/g:q4_0 --out one
err_has 'g-Q4_0.gguf: is there, and is another file; --force replaces it'
[ "$(cat one/g-Q4_0.gguf)" = mine ] || die 'a file was replaced'
expect 0 pull u/g:q4_0 --out one --force
same one/g-Q4_0.gguf "$work/served/u/g/g-Q4_0.gguf"
before=$(sent)
expect 0 pull u/g:q4_0 --out one
[ "$(sent)" = "$before" ] || die 'a file that is there was fetched'
# a token out of a file, for the hub alone
rm -rf "$hub" "$work/log"
echo other >token
HF_TOKEN='' expect 0 pull u/g:q4_0 --token-file token
grep -q '^/api.*token=1' "$work/log" || die '--token-file: the hub got no token'
refuse 1 pull u/g:q8_0 --token-file nothing
# slowly
rm -rf "$hub"
start=$(date +%s%N)
expect 0 pull u/g:q4_0 --limit-rate 1M -j 1
[ $(($(date +%s%N) - start)) -gt 300000000 ] || die '--limit-rate does nothing'
refuse 2 pull u/g -j 9
# one file at an address
address=$HF_ENDPOINT/cdn/u/g/g-Q4_0.gguf
kept=$XDG_CACHE_HOME/carat/models/files/${address#http://}
refuse 3 pull "$address" --offline
expect 0 pull "$address?download=true" -q
out_is "$kept
"
same "$kept" "$work/served/u/g/g-Q4_0.gguf"
before=$(sent)
expect 0 pull "$address" -q
[ "$(sent)" = "$before" ] || die 'a file that is there was fetched'
refuse 3 pull "$HF_ENDPOINT/cdn/../x"
expect 0 pull "$HF_ENDPOINT/cdn/u/g/g-Q4_0.gguf" --out plain --json
out_has '"path":"plain/g-Q4_0.gguf"'
same plain/g-Q4_0.gguf "$work/served/u/g/g-Q4_0.gguf"
refuse 3 pull "$HF_ENDPOINT/cdn/u/g/nothing.gguf" --out plain
refuse 3 pull "$HF_ENDPOINT/cdn/u/g/" --out plain

# ---- what is refused ----
fresh() { rm -rf "$hub"; }
fresh
HF_HUB_OFFLINE=1 refuse 3 pull gemma3:1b
err_has 'is not fetched: HF_HUB_OFFLINE forbids it'
refuse 3 pull google/nothing
err_has 'google/nothing: main: there is no such repository, or it is private'
refuse 2 pull gemma3:1b@dev
refuse 3 pull google/gemma-3-1b-it@dev
err_has 'google/gemma-3-1b-it: dev: it has no such revision'
refuse 3 pull u/g:Q5_1
err_has 'u/g has no Q5_1 among its 2 files'
refuse 2 pull ./x
err_has 'is no name of a repository or of the family'
refuse 3 pull https://example.org/x --offline
refuse 6 pull http://127.0.0.1:1/x
refuse 2 pull
stop
server=
refuse 6 pull gemma3:1b
err_has 'E_CONNECTION: google/gemma-3-1b-it: main: no connection'
[ ! -e "$hub" ] || die 'something was made without a connection'
serve
mkdir "$work/readonly"
echo x >"$work/readonly/file"
HF_HUB_CACHE=$work/readonly/file expect 1 pull gemma3:1b
err_has "$work/readonly/file/models--google--gemma-3-1b-it: cannot be made: Not a directory"

# ---- faults that are overcome ----
size=$(wc -c <"$repository/model.safetensors")
for fault in range-ignored 'reset 1000000' '429 2' '500 2' range-wrong range-absent foreign; do
    fresh
    serve $fault
    expect 0 pull gemma3:1b
    whole || die "$fault: the model differs"
done
! grep -q '^/cdn.*token=1' "$work/log" || die 'another host got the token'
grep -q '^/api.*token=1' "$work/log" || die 'the hub got no token'
fresh
serve reset 1000000
expect 0 pull gemma3:1b
[ "$(awk -F 'sent=' '/^\/cdn.*model.safetensors/ {n += $2} END {print n + 0}' "$work/log")" -le $((size + 262144)) ] ||
    die "a reset cost too much: $(cat "$work/log")"

# ---- faults that end it, and what is left ----
while read -r code words fault; do
    fresh
    serve $fault
    expect $code pull gemma3:1b
    err_has "^error: .*${words//_/ }"
    [ "$(grep -c ^error: err)" = 1 ] && [ "$(wc -l <err)" -le 2 ] || die "$fault: $(cat err)"
    nothing "$fault"
done <<'END'
3 nothing_of_it_is_kept flip 5000
3 is_a_page_of_HTML html
3 bytes_of_it,_expected long
3 leads_on_more_than_10_times loop
3 ftp downgrade
3 does_not_end pages
3 has_a_name,_size_or_hash_that_cannot_be bad-name
3 has_a_name,_size_or_hash_that_cannot_be zero-name
3 has_a_name,_size_or_hash_that_cannot_be deep
3 has_a_name,_size_or_hash_that_cannot_be huge-size
3 its_licence_has_to_be_accepted gated
3 there_is_no_such_repository missing
3 by_now,_expected etag-changes
3 the_headers_of_an_answer endless
END

# ---- taken up where it ended ----
fresh
serve silent
"$CARAT" pull gemma3:1b >out 2>err &
pull=$!
until compgen -G "$folder/blobs/*.incomplete" >/dev/null; do sleep 0.05; done
kill -INT $pull
wait $pull && code=0 || code=$?
[ $code = 130 ] || die "Ctrl-C: exit code $code: $(cat err)"
err_has '^note: what has come is kept: carat pull gemma3:1b goes on with it$'
hash=$(sha256sum <"$repository/model.safetensors" | cut -d ' ' -f 1)
head -c 3000000 "$repository/model.safetensors" >"$folder/blobs/$hash.carat.incomplete"
serve
expect 0 pull gemma3:1b
whole || die 'the model that was taken up differs'
grep -q "^/cdn.*model.safetensors[^ ]* range=bytes=3000000-" "$work/log" || die "no range was asked for: $(cat "$work/log")"
# a beginning of something else: the hash decides
fresh
mkdir -p "$folder/blobs"
head -c 3000000 /dev/zero >"$folder/blobs/$hash.carat.incomplete"
expect 0 pull gemma3:1b
whole || die 'the model differs'
[ ! -e "$folder/blobs/$hash.carat.incomplete" ] || die 'wrong bytes were kept'
# more than the file has, and 416
fresh
mkdir -p "$folder/blobs"
head -c 9000000 /dev/zero >"$folder/blobs/$hash.carat.incomplete"
expect 0 pull gemma3:1b
whole || die 'the model differs'
fresh
mkdir -p "$folder/blobs"
head -c 3000000 "$repository/model.safetensors" >"$folder/blobs/$hash.carat.incomplete"
serve 416
expect 0 pull gemma3:1b
whole || die 'the model differs'

# ---- several at once fetch one body ----
fresh
serve
for i in 1 2 3 4; do "$CARAT" pull gemma3:1b >out-$i 2>err-$i & pulls[i]=$!; done
for i in 1 2 3 4; do wait ${pulls[i]} || die "pull $i: $(cat err-$i)"; done
whole || die 'the model differs'
[ "$(grep -c '^/cdn.*model.safetensors' "$work/log")" = 1 ] || die "several bodies were sent: $(cat "$work/log")"
