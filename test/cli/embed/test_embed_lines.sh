#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_embed_lines.sh: `carat embed` in the middle of other programs: many lines, whose vectors come while
# others are made, in their order; lines that fail; readers that go away; --progress; a loop of the shell.
. "$CARAT_SOURCE/test/cli/common.bash"

data=$CARAT_SOURCE/test/data/embed
mkdir E
ln -s "$data"/models/embed1/* "$tiny/tokenizer.json" E # its vocabulary is as large

expect 0 embed E --ids 2,5,9,1 # and packs
[ -s out ] || die 'no vector'

# ---- many lines, of which two fail ----

lines() { # how many
    awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++) print "{\"ids\":[2," i % 900 + 5 ",9,1]}" }'
}
{
    lines 999
    echo '{"ids":[2,5000,1]}'
    lines 1499 | tail -n 499
    echo '{"ids":[2,9,5000]}'
} >many.jsonl
mkfifo pipe
code=0
"$CARAT" embed E --jsonl many.jsonl >pipe 2>err &
command=$!
exec 3<pipe
read -r first <&3
# the pipe is full, and most of the texts have no vector yet
[ ! -s err ] || die 'the first vector was not given before others were made'
{
    echo "$first"
    cat <&3
} >many
exec 3<&-
wait "$command" || code=$?
[ "$code" = 1 ] || die "exit code $code for a line that failed, expected 1"
cat >wanted <<'END'
error: E_ARGUMENT: many.jsonl: line 1000: id 5000 at index 1 is outside the vocabulary of 1024
error: E_ARGUMENT: many.jsonl: line 1500: id 5000 at index 2 is outside the vocabulary of 1024
END
same err wanted
sed 's/^{"line":\([0-9]*\),.*/\1/' many >got
seq 1500 >wanted
same got wanted
for line in 1000 1500; do
    [ "$(sed -n "${line}p" many)" = "{\"line\":$line,\"tokens\":3,\"vector\":null}" ] || die 'a vector of a line that failed'
done
for line in 1 2 64 65 1001 1024 1025 1499; do # about where passes and calls end
    expect 0 embed E --ids "2,$((line % 900 + 5)),9,1"
    sed -n "${line}p" many | sed 's/.*\[//; s/\].*//' | tr , ' ' >got
    same got out
done
lines 70 >good.jsonl
expect 0 embed E --jsonl good.jsonl --rounds 3
mv out once
expect 0 embed E --jsonl good.jsonl
same out once
expect 0 embed E --jsonl good.jsonl --out -
mv out rows.npy
expect 0 embed E --jsonl good.jsonl --out good.npy
same good.npy rows.npy
[ "$(wc -c <good.npy)" = $((128 + 70 * 36 * 4)) ] || die 'not 70 rows'
[ ! -s out ] || die 'text on standard output'
printf '{"ids":[2,5000,1]}\n{"ids":[2,5,9,1]}\n{"ids":[7000]}\n' >bad.jsonl
expect 1 embed E --jsonl bad.jsonl --out bad.npy # NaN, numbers, NaN
[ "$(grep -c '^error: E_ARGUMENT: bad.jsonl: line [13]: id [57]000 at index [01] is outside' err)" = 2 ] ||
    die 'not both lines are named'
[ "$(tail -c $((3 * 144)) bad.npy | od -An -tx4 -v -w144 | awk '{ print $1 == "7fc00000" }' | tr -d '\n')" = 101 ] ||
    die 'other rows have no vector'
refuse 2 embed E --ids 2,5000,1
err_has 'E_ARGUMENT: id 5000 at index 1 is outside the vocabulary of 1024'
[ ! -s out ] || die 'something is printed for a text alone that failed'

# ---- readers ----

code=0
{ "$CARAT" embed E --jsonl many.jsonl 2>err || echo $? >code; } | head -n 1 >out
[ "$(cat code)" = 141 ] || die "exit code $(cat code) when the reader has gone, expected 141"
[ ! -s err ] || die 'a reader that went away is no mistake'
sed -n 1p many >wanted
same out wanted
"$CARAT" embed E --jsonl good.jsonl 2>err | cat >out
same out once
lines 3 | while read -r line; do
    printf '%s\n' "$line" | "$CARAT" embed E --jsonl - | sed 's/.*"tokens"/"tokens"/'
done >out
sed -n 1,3p once | sed 's/.*"tokens"/"tokens"/' >wanted
same out wanted
printf 'red apples\n-1 is a number\n' >texts
while read -r line; do "$CARAT" embed E -- "$line"; done <texts >out 2>err # standard input is the loop's
[ "$(wc -l <out)" = 2 ] || die 'the command took lines of the loop'
code=0
"$CARAT" embed E <&- >out 2>err || code=$?
[ "$code" = 1 ] || die "exit code $code without standard input, expected 1"

# ---- how far it is ----

expect 0 embed E --jsonl good.jsonl --progress
same out once
[ "$(wc -l <err)" = 1 ] || die 'not one line of progress for short work'
err_has '^embedding \[#*\] 100 %  [0-9.]* tok/s$'
expect 0 embed E --jsonl good.jsonl
[ ! -s err ] || die 'a bar where there is no terminal'
