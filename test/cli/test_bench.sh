#!/usr/bin/env bash
# test_bench.sh: `carat bench`: its tables and objects, the lists it takes, and where --profile says the time goes. No
# figure is judged.
. "$CARAT_SOURCE/test/cli/common.bash"

# several lengths and depths in one table
expect 0 bench tiny -p 8,4 -n 2 -d 0,32 -r 2
for t in 'pp8 ' 'pp4 ' 'tg2 ' 'pp8 @ d32' 'pp4 @ d32' 'tg2 @ d32'; do out_has "$t"; done
[ "$(grep -c '^| gemma3 .* | CPU ' out)" = 6 ] || die 'not six rows of speed'
for t in 'limit: [0-9.]* GB/s' 'start: [0-9.]* ms = open' 'memory: peak [0-9.]* MiB' 'again: carat bench tiny -p 8,4'; do
    out_has "$t"
done
# as JSON
expect 0 bench tiny -p 16 -n 3 -d 5 -r 3 --json
for t in '"avg_ts": [0-9]' '"limit_gb_s": [0-9]' '"limit_gop_s": {"f32": ' '"gb_s": [0-9]' '"gop_s": [0-9]' \
    '"n_depth": 5' '"of_read": [0-9]' '"samples_ts": \[[0-9.e+]*, [0-9.e+]*, [0-9.e+]*\]'; do out_has "$t"; done
grep -q '"passes"' out && die 'a profile that nobody asked for'
refuse 2 bench tiny --json -o csv
refuse 2 bench tiny -o sql
for list in '' , 1, ,1 x 1x -1 1048577 99999999999; do
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
[ "$(grep -c '^| head  *|  *3 |' out)" = 2 ] || die 'not three heads, twice'
[ "$(grep -c '^| all ' out)" = 2 ] || die 'not two sums'
grep -q ' $' out && die 'a line ends in a space'
# as JSON; a level without known limits has no share of them
expect 0 bench tiny -p 24 -n 0 -r 1 --isa ref --profile -o json
out_has '"passes": 1, "operations": \[{"name":'
out_has '"name": "down", "calls": 6, "seconds": [0-9.e-]*, "bytes": [0-9]*, "operations": [0-9]*,'
out_has '"limit_gop_s": {"f32": null, "bf16": null, "int8": null, "int4": null}'
out_has '"of_compute": null'
