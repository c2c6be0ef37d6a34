#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_bench.sh: `carat bench`: its tables and objects, the lists it takes, and where --profile says the time
# goes. No figure is judged. 20 seconds of processor time, half as much again under sanitizers: each run
# measures what the machine can do, as a user's does.
. "$CARAT_SOURCE/test/cli/common.bash"

# several lengths and depths in one table
expect 0 bench tiny -p 8,4 -n 2 -d 0,32 -r 2
for t in 'pp8 ' 'pp4 ' 'tg2 ' 'pp8 @ d32' 'pp4 @ d32' 'tg2 @ d32'; do out_has "$t"; done
[ "$(grep -c '^| gemma3 .* | CPU ' out)" = 6 ] || die 'not six rows of speed'
for t in 'limit: [0-9.]* GB/s' 'start: [0-9.]* ms = open' 'memory: peak [0-9.]* [MG]B' 'again: carat bench tiny -p 8,4'; do
    out_has "$t"
done
again=$(sed -n 's/^again: carat //p' out)
# shellcheck disable=SC2086  # words of a command line
expect 0 $again
# as JSON
expect 0 bench tiny -p 16 -n 3 -d 5 -r 3 --json
for t in '"avg_ts": [0-9]' '"limit_gb_s": [0-9]' '"limit_gop_s": {"f32": ' '"gb_s": [0-9]' '"gop_s": [0-9]' \
    '"n_depth": 5' '"of_read": [0-9]' '"samples_ts": \[[0-9.e+]*, [0-9.e+]*, [0-9.e+]*\]'; do out_has "$t"; done
grep -q '"passes"' out && die 'a profile that nobody asked for'
refuse 2 bench tiny --json -o csv
refuse 2 bench tiny -o sql
for list in '' ',' '1,' ',1' x 1x -1 1048577 99999999999; do
    refuse 2 bench tiny -p "$list"
    err_has 'option -p'
done
# several sequences in a pass; a prompt test has one
expect 0 bench tiny -p 4 -n 2 -d 0,3 -r 1 -npl 1,3 --profile
for t in '| *pp4 |' '| *tg2 |' '| *tg2 x3 |' '| *tg2 x3 @ d3 |' '^tg2 x3: .* in 2 passes'; do out_has "$t"; done
[ "$(grep -c '^| gemma3 .* | CPU ' out)" = 6 ] || die 'not six rows of speed'
refuse 2 bench tiny -npl 0
refuse 2 bench tiny -npl 257
refuse 2 bench tiny -d 1,y
refuse 2 bench tiny -p 0 -n 0 -d 4
for list in 3 3,0 1,2,3 x; do refuse 2 bench tiny -pg "$list"; done

# --profile: a table for each test, whose operations are those of a pass: 6 layers, 8 tokens of 24 in a pass
expect 0 bench tiny -p 24 -n 3 -r 2 --profile --chunk 8
for t in '^pp24: .* in 3 passes' '^tg3: .* in 3 passes'; do out_has "$t"; done
for name in qkv attention 'attention output' gate+up down; do
    [ "$(grep -c "^| $name *|  *18 |" out)" = 2 ] || die "not 18 calls of $name, twice"
done
# only the last pass of a prompt has a head
[ "$(grep -c '^| head  *|  *1 |' out)" = 1 ] || die 'not one head of the prompt'
[ "$(grep -c '^| head  *|  *3 |' out)" = 1 ] || die 'not three heads of generation'
[ "$(grep -c '^| all ' out)" = 2 ] || die 'not two sums'
grep -q ' $' out && die 'a line ends in a space'
# as JSON; a level without known limits has no share of them
expect 0 bench tiny -p 24 -n 0 -r 1 --isa ref --profile -o json
out_has '"passes": 1, "operations": \[{"name":'
out_has '"name": "down", "calls": 6, "seconds": [0-9.e-]*, "bytes": [0-9]*, "operations": [0-9]*,'
out_has '"limit_gop_s": {"f32": null, "bf16": null, "int8": null, "int4": null}'
out_has '"of_compute": null'

# lists of settings: a row for each, as fields too; one limit a number of threads
expect 0 bench tiny -p 16 -n 0 -r 1 -t 1,2 -ub 4,8,16 -fa 0,1 --profile
[ "$(grep -c '^| gemma3 .* | CPU .* pp16 |' out)" = 12 ] || die 'not twelve rows of speed'
[ "$(grep -c '^limit: ' out)" = 2 ] || die 'not two limits'
[ "$(grep -c '^note: -fa ' err)" = 1 ] || die 'not one note about -fa'
out_has '^| *pp16 -t 2 -ub 4 -fa 1 | *4 | '
out_has '^| *pp16 -t 2 -ub 16 -fa 1 | *1 | '
[ "$(grep -c '^| *pp16 -t [12] -ub [0-9]* -fa [01] | *[124] | *[0-9.]* | *[0-9.]* | *[0-9.]* | *[0-9.]* |$' out)" = 24 ] ||
    die 'not twelve rows of passes and of attention'
[ "$(grep -c '^| *pp16 -t [12] -ub 4 -fa [01] | *4 | .* | *1.00 |$' out)" = 8 ] || die 'the first is not once the first'
out_has '^attention alone'
out_has '^again: carat bench tiny .* -fa 0,1 .*-t 1,2 --chunk 4,8,16'
expect 0 bench tiny -p 8 -n 1 -r 1 -t 2,1 -ub 4,8 -o jsonl
[ "$(grep -c '"n_threads": *2,' out)" = 4 ] && [ "$(grep -c '"n_threads": *1,' out)" = 4 ] || die 'not eight rows'
[ "$(grep -c '"n_ubatch": *4,' out)" = 4 ] || die 'not four of four'
expect 0 bench tiny -p 4 -n 0 -r 1 -fa 0,on -o json
[ "$(grep -c '"flash_attn": [01],' out)" = 2 ] || die 'flash_attn is not told'
CARAT_ARG_THREADS=1,2 "$CARAT" bench tiny -p 4 -n 0 -r 1 >out 2>err || die 'CARAT_ARG_THREADS'
[ "$(grep -c '^| gemma3 ' out)" = 2 ] || die 'the variable is not obeyed'
for list in '' ',' '1,' '1,x' 257 '1,-1'; do refuse 2 bench tiny -t "$list"; done
refuse 2 bench tiny -ub 4,y
for list in '' 2 '0,3' '0,' yes; do refuse 2 bench tiny -fa "$list"; done
refuse 2 bench tiny -t 1,2 --plot x.svg
err_has 'one value each'
# a row is there when it is measured, not when all are
mkfifo pipe
"$CARAT" bench tiny -p 4,8 -n 0 -r 1000 >pipe 2>err &
pid=$!
exec 5<pipe
for _ in 1 2 3; do read -r line <&5; done
case $line in *' pp4 '*) ;; *) die "the third line is $line" ;; esac
kill -0 $pid || die 'the first row came with the last'
kill $pid
wait $pid || :
exec 5<&-

# whole generations of a prompt
whole='bench tiny --prompt Hello --max-tokens 6'
expect 0 $whole --bench-warmup 0 --bench-iters 4 --bench-json w.json
[ "$(grep -c '^run [1-4] .* tok/s$' out)" = 4 ] || die 'not four runs'
out_has '^prompt [0-9]* tokens, at most 6 generated; 0 warm-up, 4 measured; '
grep -q '^{"device":"cpu","iters":4,"mean_tok_s":[0-9.]*,"p50_tok_s":[0-9.]*,"p90_tok_s":[0-9.]*,"warmup":0}$' w.json ||
    die "$(cat w.json)"
# of four sorted speeds the third and the fourth
sed -n 's/^run .* \([0-9.]*\) tok.s$/\1/p' out | sort -g >speeds
out_has "^mean [0-9.]*, p50 $(sed -n 3p speeds), p90 $(sed -n 4p speeds) tok/s"
expect 0 $whole --json
out_has '^{"device":"cpu",.*"iters":3,"warmup":1}$'
[ "$(wc -l <out)" = 1 ] || die 'more than the object'
expect 0 $whole --bench-json -
[ "$(wc -l <out)" = 1 ] || die 'more than the object'
for more in '-p 4' '-n 4' '-d 1' '-pg 1,1' '-npl 1' '-r 2' '--plot x' '-t 1,2' '-ub 4,8' '-fa 1' --profile '-o csv'; do
    refuse 2 $whole $more
done
for alone in '--max-tokens 3' '--bench-iters 2' '--bench-warmup 0' '--bench-json x'; do
    refuse 2 bench tiny $alone
    err_has 'goes with --prompt'
done
refuse 1 $whole --bench-json none/x
[ ! -e x ] || die 'a file that was not asked for'
