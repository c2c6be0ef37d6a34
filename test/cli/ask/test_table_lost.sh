#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_table_lost.sh: a conversation during which the file with the table of layer inputs is cut short ends
# with one line that names file, row and byte, from the cache and without it; one that gets another file under
# its name goes on with the file that it opened.
# shellcheck source=test/cli/common.bash
. "$CARAT_SOURCE/test/cli/common.bash"

first="Turn on the kitchen lights"
second="zebra quick brown fox"

# talk CODE OPTIONS: the first message, what is done to the file (a function, lose), the second message.
talk() {
    local wanted=$1 code=0 answer
    shift
    rm -rf model && cp -r "$CARAT_SOURCE/test/fixtures/tiny4" model && chmod -R u+w model
    rm -f in && mkfifo in && : >out
    "$CARAT" chat model -n 8 --temp 0 "$@" <in >out 2>err &
    exec 3>in
    echo "$first" >&3
    for ((i = 0; i < 400; i++)); do # the answer is there when its line has ended
        [ "$(wc -l <out)" -lt 1 ] || break
        sleep 0.05
    done
    answer=$(cat out)
    [ -n "$answer" ] || die "no answer to the first message"
    lose
    echo "$second" >&3
    exec 3>&-
    wait $! || code=$?
    [ "$code" = "$wanted" ] || die "chat $*: exit code $code, expected $wanted"
}

line='^error: E_IO: model/model.safetensors: row [0-9]* of the table of layer inputs, at byte [0-9]*, cannot be'
line+=' read: the file ends before it$'

lose() { truncate -s 300000 model/model.safetensors; } # in the table
for options in --no-cache "" ""; do                     # the cache makes a copy, then has one
    # shellcheck disable=SC2086 # none is none
    talk 1 $options
    [ "$(grep -c '^error: ' err)" = 1 ] || die "not one error: $(cat err)"
    err_has "$line"
done

lose() { :; }
talk 0
cp out whole
lose() { head -c 1000 model/model.safetensors >model/other && mv model/other model/model.safetensors; }
talk 0
same out whole
talk 0 --no-cache
same out whole
