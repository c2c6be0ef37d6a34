#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_bench_compare.sh: `carat bench --compare` and `--plot`: verdicts and exit codes against older results
# whose speeds no machine has, and a picture that is XML with a mark for every test. What is no result at all
# is in test_bad_bench.c.
. "$CARAT_SOURCE/test/cli/common.bash"

# An older result in llama-bench's form: element N_PROMPT SAMPLES [MORE]. Every run measures the machine for a
# second, so one has all cases in it, told apart by the length of the prompt.
element() { printf '%s{"n_prompt":%s,"n_gen":0,"n_depth":0,"samples_ts":[%s]%s}' "$comma" "$1" "$2" "${3:-}" && comma=,; }
fast=1e-3,1e-3,1e-3 slow=1e12,1e12,1e12 comma=
rates='"limit_gop_s":{"f32":1e15,"bf16":1e15,"int8":1e15,"int4":1e15}'
{
    printf '['
    element 1 $fast # this run is faster
    element 2 $slow # or slower, if anything can be
    # noise explains a lot, but not everything: three times 1.4826 * 1.206 * 1e12 of 2e12
    element 3 1e12,1e12,2e12,3e12,3e12
    element 4 1e-3 # a run alone has no noise
    # of several with the same test the one with as many threads counts
    element 5 $slow ',"n_threads":7'
    element 5 $fast ',"n_threads":1'
    element 5 $slow ',"n_threads":7'
    # a limit that fell explains nothing where the share of it rose: here it fell by far more than the speed
    element 6 $slow ",\"carat\":{\"limit_gb_s\":1e15,$rates}"
    element 7 $slow ",\"cpu_info\":\"another\",\"carat\":{\"limit_gb_s\":1e15,$rates}"
    # other settings are named, whatever they are
    element 8 $fast ',"type_k":"\u001bq9","type_v":["x"],"carat":{"isa":"\"","exact":true}'
    element 99 $slow # which this run has not
    printf ']'
} >old.json
expect 7 bench tiny -t 1 -p 1,2,3,4,5,6,7,8,9 -n 0 -r 1 --compare old.json
verdict() { out_has "^| *pp$1 | .*| *$2 *| $3 *|\$"; }
verdict 1 3.0 faster
verdict 2 3.0 slower
verdict 3 268.2 slower
verdict 4 15.0 faster
verdict 5 3.0 faster
verdict 6 3.0 slower
verdict 7 3.0 slower
verdict 8 3.0 faster
[ "$(grep -c 'faster\|slower' out)" = 8 ] || die 'not eight verdicts'
for t in 'type_k was "\\u001Bq9", is "bf16"$' 'type_v was \["x"\], is' 'cpu_info was "another", is' \
    'carat.isa was "\\"", is' 'carat.exact was true, is false$'; do err_has "$t"; done
grep -q "$(printf '\033')" err && die 'a control character from the file'
err_has 'what this machine can do at most was up to [0-9]* % more than now$'
[ "$(grep -c '^note: old.json: ' err)" = 6 ] || die 'not six notes'
[ "$(grep -vc '^note: ' err)" = 1 ] || die 'not one message'
err_has '^error: E_CHECK: bench: slower than in old.json, beyond the noise: pp2, pp3, pp6, pp7$'

# A machine that could do a thousand times as much, and a test that was as much faster: the machine is the
# reason. The same on another machine, and a test that lost more than the machine did, are slower. The noise
# is large, so that two measurements of the machine may differ.
expect 0 bench tiny -t 1 -p 10 -n 0 -r 9 -o json
mv out now.json
median=$(sed -n 's/.*"median_ts": \([0-9.]*\),/\1/p' now.json)
older() { # exponent of the speeds, of the limits
    local m=$median n='\([0-9.]*\)'
    sed -e "s/\"samples_ts\": \[[^]]*\]/\"samples_ts\": [${m}e$(($1 - 1)),${m}e$(($1 - 1)),${m}e$1,${m}e$(($1 + 1)),${m}e$(($1 + 1))]/" \
        -e "/limit_g/s/: $n,/: \\1e$2,/g; /limit_g/s/: $n}/: \\1e$2}/g" now.json
}
older 3 3 >old.json
expect 0 bench tiny -t 1 -p 10 -n 0 -r 9 --compare old.json
verdict 10 '[0-9.]*' 'slower, as the machine'
older 3 3 | sed 's/"cpu_info": "/&another /' >old.json
expect 7 bench tiny -t 1 -p 10 -n 0 -r 9 --compare old.json
verdict 10 '[0-9.]*' slower
older 6 3 >old.json
expect 7 bench tiny -t 1 -p 10 -n 0 -r 9 --compare old.json
verdict 10 '[0-9.]*' slower

# its own result, as fields: from a file, then from standard input with speeds that nothing reaches
expect 0 bench tiny -p 8 -n 2 -r 2 -o json
out_has '"verdict": null'
sed 's/"samples_ts": \[[^]]*\]/"samples_ts": [1e-3, 1e-3]/' out >old.json
expect 0 bench tiny -p 8 -n 2 -r 1 -o json --compare - <old.json
[ "$(grep -c '"compare": {"old_ts": 0.001.*"verdict": "faster"}' out)" = 2 ] || die 'no verdicts among the fields'
grep -q ' was .*, is ' err && die 'the same settings are noted'
# without a test in common
refuse 2 bench no.gguf -p 4 -n 0 --compare old.json
refuse 2 bench no.gguf --compare -
err_has 'standard input: is not JSON'

# a picture: a panel for each kind, a curve for each test, a mark for each depth
expect 0 bench tiny -p 8,4 -n 2 -pg 4,2 -npl 1,2 -d 0,6,3 -r 2 --plot out.svg
[ "$(ls out.svg* | wc -l)" = 1 ] || die 'something is left beside the picture'
count() { [ "$(grep -o "$1" out.svg | wc -l)" = "$2" ] || die "not $2 times $1"; }
count '<svg ' 1
count 'class="head"' 3
count '<title>pp8' 3
count '<title>pp4:' 1
count '<title>tg2 x2 @ d6:' 1
count '<title>pp4+tg2' 3
count '<title>' 16 # with the picture's own
count 'class="whisker"' 15
count 'class="mark"' 20 # five in legends
grep -q 'nan\|inf' out.svg && die 'a place that is not a number'
# opened tags are closed in order
balanced() {
    tr '\n' ' ' <"$1" | grep -o '<[^>]*>' | awk '
        /^<[?!]/ || /\/>$/ {next}
        /^<\// {if (stack[n--] != substr($1, 3, length($1) - 3)) exit bad = 1; next}
        {name = substr($1, 2); sub(/>$/, "", name); stack[++n] = name}
        END {exit bad || n != 0}'
}
balanced out.svg || die 'not well-formed'
if command -v xmllint >/dev/null; then xmllint --noout out.svg || die 'xmllint objects'; fi
# one depth, one test, a level without known limits; a name with what XML reserves
ln -s "$tiny" '<b>&amp;"'
expect 0 bench '<b>&amp;"' -p 0 -n 2 -d 5 -r 1 --isa ref --plot out.svg
count 'class="whisker"' 1
grep -q 'nan\|inf' out.svg && die 'a place that is not a number'
balanced out.svg || die 'not well-formed'
# nothing is there before all is done, and what cannot be written is said before anything is measured
refuse 1 bench no.gguf --plot none/out.svg
refuse 2 bench no.gguf --plot -
refuse 3 bench no.gguf --plot late.svg
[ "$(ls late* 2>/dev/null | wc -l)" = 0 ] || die 'an unfinished picture'
