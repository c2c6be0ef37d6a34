#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_models.sh: models that are not there, not whole, or there under a name that needs care.
. "$CARAT_SOURCE/test/cli/common.bash"

refuse 2 run '' hi

# `tiny` is inside the command even where a directory has that name; ./tiny is that directory
mkdir tiny
expect 0 show tiny
cp out embedded
refuse 3 show ./tiny
err_has 'not a model directory'

# the same files from disk and from inside the command
cp "$tiny"/* tiny/
expect 0 show ./tiny
out_has '^memory for a context of'
expect 0 run tiny 'Once upon' --seed 7 -n 16
cp out from_memory
expect 0 run ./tiny 'Once upon' --seed 7 -n 16
same from_memory out
cp -r tiny whole

# cut short
head -c 100000 "$tiny/model.safetensors" >tiny/model.safetensors
refuse 4 run ./tiny hi
err_has 'model.safetensors'
refuse 4 show ./tiny
: >tiny/model.safetensors
refuse 4 show ./tiny
# the tokenizer beside the broken weights still serves
expect 0 tokenize ./tiny hi
cp out wanted
expect 0 tokenize tiny hi
same wanted out
expect 0 tokenize "$tiny/tokenizer.json" hi
same wanted out
mkdir only
cp "$tiny/tokenizer.json" only/
expect 0 tokenize only hi
same wanted out

expect 0 show tiny --tensors
out_has '^tensors'
expect 0 show tiny -c 100 --kv f32 --json --tensors
out_has '"context":100'
out_has '"tensors":\[{'

# paths that are no file to read: refused by kind, at once, whatever the verb
mkfifo pipe
ln -s nowhere dangling
ln -s circle circle
mkdir hollow
ln -s hollow link-to-hollow
mkdir -p fifo-inside
cp "$tiny"/*.json fifo-inside/
mkfifo fifo-inside/model.safetensors
# refused PATH REASON [VERBS]: without waiting for anything
refused() {
    local path=$1 reason=$2 verbs=${3:-show} code verb
    for verb in $verbs; do
        code=0
        case $verb in
        run) set -- run "$path" hi ;;
        logits) set -- logits "$path" --ids 2 ;;
        tokenize) set -- tokenize "$path" hi ;;
        *) set -- $verb "$path" ;;
        esac
        timeout 20 "$CARAT" "$@" </dev/null >out 2>err || code=$?
        [ "$code" = 3 ] || die "carat $*: exit code $code"
        [ "$(wc -l <err)" = 1 ] || die "carat $*: not one line on stderr"
        [ ! -s out ] || die "carat $*: there is output"
        err_has "$reason"
    done
}
every='run logits tokenize show bench'
refused ./absent 'No such file or directory' "$every"
refused ./tiny/absent 'No such file or directory'
refused ./embedded/absent 'Not a directory' # below a file
refused dangling 'dangling: is a link to nowhere, which is not there'
refused circle 'circle: is a link that leads in a circle'
refused hollow 'not a model directory'
refused hollow 'neither tokenizer.json nor tokenizer.model' tokenize
refused link-to-hollow 'not a model directory'
refused pipe 'is a pipe' "$every"
refused /dev/zero 'is a device' "$every"
refused /dev/random 'is a device'
refused $'no\nsuch\nmodel' 'No such file or directory'
refused "$(printf '%0300d' 0)" 'File name too long'
refused "$(printf 'x/%.0s' $(seq 3000))" 'File name too long'
if [ -e /proc/self/mem ]; then
    refused /proc/self/mem 'Input/output error'
    refused /proc/self/status 'expected a regular file'
fi
code=0
timeout 20 "$CARAT" run fifo-inside hi </dev/null >out 2>err || code=$?
[ "$code" = 3 ] || die "a pipe for weights gives $code"
err_has 'is a pipe'

# what the user may not read; root may, so root asks as somebody else
ask=()
if [ "$(id -u)" = 0 ]; then
    chmod 755 .
    cp "$CARAT" command
    ask=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    "${ask[@]}" ./command version >/dev/null 2>&1 || ask=()
else
    cp "$CARAT" command
fi
if [ "$(id -u)" != 0 ] || [ ${#ask[@]} -gt 0 ]; then
    whole=$CARAT
    printf '#!/bin/sh\nexec %s %s "$@"\n' "${ask[*]}" "$work/command" >asker
    chmod +x asker
    CARAT=$work/asker
    cp -r "$tiny" shut
    cp "$tiny/tokenizer.json" secret
    chmod 000 secret
    refused ./secret 'Permission denied'
    chmod 000 shut
    refused ./shut 'Permission denied'
    refused ./shut/model.safetensors 'Permission denied'
    chmod 755 shut
    chmod 000 shut/model.safetensors
    expect 3 run ./shut hi
    err_has 'Permission denied'
    CARAT=$whole
    chmod -R u+rwX shut
fi

# descriptors 0 to 2 closed at the start: no file takes their place, so no text ends up in one
"$CARAT" run ./whole 'Once upon' --seed 7 -n 16 <&- >out 2>&-
same from_memory out
code=0
"$CARAT" run ./whole 'Once upon' --seed 7 -n 16 >&- 2>err || code=$?
[ "$code" = 1 ] || die "a closed standard output gives $code"
"$CARAT" show ./whole <&- 2>&- >out || die 'show needs standard input or error'
code=0
"$CARAT" show ./absent <&- >&- 2>&- || code=$?
[ "$code" = 3 ] || die "all descriptors closed: $code"
for name in config.json model.safetensors tokenizer.json; do
    same "$tiny/$name" "whole/$name" # nothing was written over them
done

# no environment at all, a directory that is gone, two megabytes of arguments
env -i "$CARAT" run ./whole 'Once upon' --seed 7 -n 16 >out 2>err || die 'it needs an environment'
same from_memory out
mkdir gone
(
    cd gone
    rmdir ../gone
    "$CARAT" run tiny 'Once upon' --seed 7 -n 16 >../out 2>../err || exit 1
    code=0
    "$CARAT" show ./absent >../out2 2>../err || code=$?
    [ $code = 3 ]
) || die 'a directory that is gone'
same from_memory out
mapfile -t words < <(seq -f 'word%020.0f' 60000) # with their addresses nearly the 2 MiB that the system takes
refuse 2 show "${words[@]}"
long=$(head -c 100000 /dev/zero | tr '\0' x)
refuse 3 show "$long"
[ "$(wc -c <err)" -lt 2000 ] || die 'a path of 100000 bytes is repeated in full'
