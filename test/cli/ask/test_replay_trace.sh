#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_replay_trace.sh: `carat replay --trace` and `--against`: two machines that compute the same agree, one
# hash that differs is named by operation, layer and position, and traces that are none are refused by name.
. "$CARAT_SOURCE/test/cli/common.bash"

expect 0 run tiny 'Turn on the kitchen lights' -n 70 --ignore-eos --receipt r.json

# ---- nothing differs ----

expect 0 replay r.json tiny --trace t.jsonl -t 2
out_has 'confirmed: 70 tokens'
out_has 'traced 93 operations at positions 18 to 82'
[ "$(wc -l <t.jsonl)" = 66 ] || die "t.jsonl has $(wc -l <t.jsonl) lines"
grep -q "$work\|$(hostname)" t.jsonl && die 'the trace names a path or a machine'
expect 0 replay r.json tiny --against t.jsonl --trace again.jsonl --isa ref -t 1 --chunk 3
out_has 'no operation differs from t.jsonl at positions 18 to 82'
cmp t.jsonl again.jsonl || die 'a trace depends on the kernels'
expect 0 replay r.json tiny --states --json --against - <t.jsonl
out_has '"trace":{"first":18,"positions":65,"operations":93,"confirmed":true,"against":"-"}'

# ---- one hash differs ----

# alter POSITION HASH: the trace with a digit of this hash of this position altered, both from 0
alter()
{
    sed "$(($1 + 2))s/\(\"hashes\":\[\(\"[0-9a-f]*\",\)\{$2\}\"\)\([0-9a-f]\)/\1\3\3/; $(($1 + 2))s/\(\"hashes\":\[\(\"[0-9a-f]*\",\)\{$2\}\"[0-9a-f]\{32\}\)[0-9a-f]\"/\1\"/" t.jsonl >bad.jsonl
    cmp -s t.jsonl bad.jsonl && die 'nothing was altered'
    return 0
}
alter 7 24 # the 9th of the 15 of layer 1
expect 7 replay r.json tiny --against bad.jsonl
out_has 'confirmed: 70 tokens'
out_has 'the first operation that differs from bad.jsonl: attend of layer 1, at position 25'
alter 64 92
expect 7 replay r.json tiny --against bad.jsonl --json
out_has '"differs":{"operation":"head","position":82,"or_before":false}'
alter 0 0
expect 7 replay r.json tiny --against bad.jsonl
out_has ': embed, at position 18 or before'

# The positions are the file's; logits count from the first of them on.
sed '2,6d; 1s/"first":18,"positions":65/"first":23,"positions":60/' t.jsonl >later.jsonl
expect 7 replay r.json tiny --against later.jsonl
out_has 'the first operation that differs from later.jsonl: head, at position 23 or before'

# ---- where the receipt differs ----

sed 's/"digests":\["0/"digests":["f/; t; s/"digests":\["./"digests":["0/' r.json >early.json
cmp -s early.json r.json && die 'the kept digest is as it was'
expect 7 replay early.json tiny --trace early.jsonl
out_has 'different at the latest behind token 64'
out_has 'traced 93 operations at positions 12 to 76'
expect 7 replay early.json tiny --against early.jsonl
out_has 'no operation differs from early.jsonl at positions 12 to 76'
sed 's/"digest":"0/"digest":"f/; t; s/"digest":"./"digest":"0/' r.json >late.json
cmp -s late.json r.json && die 'the last digest is as it was'
expect 7 replay late.json tiny --trace late.jsonl
out_has 'states: the same for 64 of 70 tokens'
out_has 'traced 93 operations at positions 76 to 82'
refuse 4 replay r.json tiny --against late.jsonl
err_has 'the trace is of another receipt'

# ---- what is no trace ----

# bad PROGRAM MESSAGE: the trace that sed makes is refused
bad()
{
    sed "$1" t.jsonl >bad.jsonl
    refuse 4 replay r.json tiny --against bad.jsonl
    err_has "bad.jsonl: line $2"
}
bad '1s/"version":1/"version":2/' '1: version is 2, expected 1 to 1'
bad '1s/"version":1,/"version":1,"version":1,/' '1: this is no JSON: duplicate object key'
bad '1s/"version":1,//' '1: Object item not found: version'
bad '1s/{/{"more":1,/' '1: 1 object item(s) left unpacked: more'
bad '1s/"first":18/"first":-1/' '1: first is -1, expected 0 to 18'
bad '1s/"first":18/"first":19/' '1: first is 19, expected 0 to 18'
bad '1s/"first":18/"first":"x"/' '1: Expected integer, got string'
bad '1s/"first":18/"first":99999999999999999999/' '1: this is no JSON: too big integer'
bad '1s/"positions":65/"positions":0/' '1: positions is 0, expected 1 to 256'
bad '1s/"positions":65/"positions":257/' '1: positions is 257'
bad '1s/"positions":65/"positions":66/' '1: first is 18, expected 0 to 17'
bad '1s/"positions":65/"positions":64/' '66: expected 64 positions, found more'
bad '1s/"operations":.*/"operations":[]}/' '1: the number of operations is 0'
bad '1s/"operations":.*/"operations":3}/' '1: the number of operations is 0'
bad '1s/"embed"/7/' '1: operations.0. is no text'
bad '1s/"embed"/"em\\u0007bed"/' '1: operations.0. is "em'
bad '1s/"embed"/"embeds"/' '1: operations.0. is embeds, but the model'
bad '1s/"embed",//' '2: the number of hashes is 93, expected 92'
bad '1s/"content":"./"content":"x/' '1: content is "x'
bad '1s/"content":"....../"content":"000000/' '1: content is 000000'
bad '1s/"digest":"....../"digest":"000000/' '1: digest is 000000'
bad '2s/"position":18/"position":17/' '2: position is 17, expected 18 to 18'
bad '3s/"hashes":\["/"hashes":["x/' '3: hashes.0. is "x'
bad '3s/","/",7,"/' '3: the number of hashes is 94'
bad '3s/\[".*/["/' '3: this is no JSON'
bad '67!d' '1: is missing'
bad '$d' '66: is missing'
printf '{"version":1}\0\n' >bad.jsonl
refuse 4 replay r.json tiny --against bad.jsonl
: >bad.jsonl
refuse 4 replay r.json tiny --against bad.jsonl
truncate -s 1G bad.jsonl
refuse 4 replay r.json tiny --against bad.jsonl
err_has 'bad.jsonl: has 1073741824 bytes, expected at most 64 MiB of hashes'
head -c 100000 /dev/zero | tr '\0' '[' >bad.jsonl
refuse 4 replay r.json tiny --against bad.jsonl
refuse 1 replay r.json tiny --against none.jsonl
refuse 1 replay r.json tiny --against .

# ---- what does not go together, and what cannot be written ----

cat r.json r.json >two.json
refuse 2 replay two.json tiny --trace t2.jsonl
err_has '--trace goes with one receipt, and there are 2'
refuse 2 replay r.json r.json tiny --against t.jsonl
err_has '--against goes with one receipt'
refuse 2 replay r.json tiny --trace -
refuse 1 replay r.json tiny --trace none/t.jsonl
refuse 1 replay r.json tiny --trace .
expect 1 replay r.json tiny --trace /dev/full
err_has 'cannot write /dev/full: No space left on device'
[ -z "$(ls ./*.part 2>/dev/null)" ] || die "$(ls ./*.part)"
echo ok
