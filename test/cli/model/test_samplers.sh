#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_samplers.sh: the chain of samplers in options of run, chat and decode: what acts is said, what cannot
# be is refused in one line that names the option, what was found and what is accepted.
. "$CARAT_SOURCE/test/cli/common.bash"

# neutral values change nothing, in whatever order they are asked for
expect 0 run tiny hi -n 20 --temp 2 --seed 3
cp out wanted
expect 0 run tiny hi -n 20 --temp 2 --seed 3 --repeat-penalty 1 --frequency-penalty 0 --presence-penalty 0 --dry-multiplier 0 \
    --typical 1 --xtc-probability 0 --samplers 'xtc;dry;penalties;top_k;typ_p;temperature;top_p;min_p' -l 5+0
same wanted out
expect 0 run tiny hi -n 20 --temp 2 --seed 3 --sampling-seq edktypmx
same wanted out

# what acts is said
expect 0 run tiny hi -n 2 --repeat-penalty 1.2 --typ 0.9 --temp 1 --samplers 'typical;temp;penalties' -v
err_has 'samplers typ_p, temperature, penalties'
expect 0 run tiny hi -n 2 --dry-multiplier 0.8 --dry-sequence-breaker none --temp 1 --json
out_has '"samplers":\["dry","top_k","temperature","top_p"\]'
out_has '"dry_multiplier":0.8'
expect 0 show tiny
out_has '^ *samplers  *top_k, temperature, top_p$'

# a bias decides, and what is never drawn is not
expect 0 run tiny hi -n 3 -l 625+100 --json
out_has '"ids":\[625,625,625\]'
expect 0 run tiny hi -n 1 --json
first=$(grep -o '"ids":\[[0-9]*' out | grep -o '[0-9]*$')
expect 0 run tiny hi -n 1 --logit-bias "$first-inf,7-1" -l 8+0.5 --json
! grep -q "\"ids\":\[$first\]" out || die 'an id was drawn that never is'
expect 0 decode tiny --ids 2,105,621 --steps 3 -l 625+100 --json
[ "$(grep -o '"id": *625\b' out | wc -l)" -ge 3 ] || die 'decode knows no bias'

# a penalty leads away from what was there
expect 0 run tiny hi -n 24 --raw --ignore-eos --presence-penalty 1000 --repeat-last-n -1 --json
[ "$(grep -o '"ids":\[[^]]*' out | sed 's/.*\[//' | tr , '\n' | sort | uniq -d | wc -l)" = 0 ] || die 'an id came twice'

say() {
    printf '%s\n' "$@" | expect 0 chat tiny --seed 1 -n 3
}
say '/set typical 0.9' '/set repeat-penalty 1.5' '/set' hi
err_has '^samplers penalties 1.5/0/0, top_k 64, temperature 0, typ_p 0.9, top_p 0.95$'

wrong() { # what the message has, then options
    local message=$1
    shift
    refuse 2 run tiny hi -n 1 "$@"
    err_has "$message"
}
wrong "option --samplers: 'foo' is not a sampler, expected penalties, dry" --samplers 'top_k;foo'
wrong "option --samplers: '' is not a sampler" --samplers 'top_k;;temperature'
wrong "option --samplers: '' is not a sampler" --samplers ''
wrong "option --samplers: 'top-k' is there twice" --samplers 'top_k;top-k'
wrong "option --sampling-seq: 'q' is not a sampler" --sampling-seq kq
wrong 'say the same' --samplers top_k --sampling-seq k
for bias in 5 5x '5*3' 5+nan 5+1e39 5+inf 5+ -5+1 x+1 '5+1,' 99999999999+1; do
    wrong "option --logit-bias: '.*' is not ID+X, ID-X or ID-inf" "--logit-bias=$bias"
done
wrong 'option --logit-bias: id 5 is there twice' -l 5+1 -l 5-1
wrong 'option --logit-bias: id 5000, expected 0 to 1023' -l 5000+1
wrong 'option --logit-bias: more than 1024 ids' -l "$(seq -s, -f '%g+1' 0 1024)"
for number in '--repeat-penalty 0' '--repeat-penalty nan' '--typical 0' '--typical nan' '--typical 1.1' '--xtc-probability nan' \
    '--xtc-probability -1' '--xtc-threshold 2' '--dry-multiplier -1' '--dry-base 0.5' '--frequency-penalty inf'; do
    wrong "option ${number% *}: '.*' is not a number from" $number
done
for number in '--repeat-last-n -2' '--dry-allowed-length -1' '--dry-penalty-last-n x'; do
    wrong "option ${number% *}: '.*' is not a whole number from" $number
done
wrong "option --dry-sequence-breaker: 'foobar' is [0-9]* tokens of the model, expected 1" --dry-multiplier 1 \
    --dry-sequence-breaker foobar
refuse 2 run tiny hi -n 1 --ban "$(seq -s, 0 1023)"
