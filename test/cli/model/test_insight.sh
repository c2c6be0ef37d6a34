#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_insight.sh: --explain-plan, --stats, settings in carat.json, and costs that are remembered: what is
# said, and that neither a setting nor what is remembered changes the text.
. "$CARAT_SOURCE/test/cli/common.bash"

model=$work/model
mkdir "$model"
cp "$tiny"/* "$model"
prompt='Turn on the kitchen lights'
expect 0 run "$model" "$prompt" -n 24 --ignore-eos
cp out text

# the plan comes before the text, one key a line, each setting with its origin
expect 0 run "$model" "$prompt" -n 24 --ignore-eos --explain-plan
same out text
for key in arithmetic numerics level.asked level.found level.used level.why kernel.q kernel.attention kernel.head \
    block.rows tile.queries prefill.threads prefill.chunk decode.isa cache_file snapshots lookup; do
    err_has "^$key: ."
done
err_has '^prefill.threads: [0-9]* (default)$'
err_has '^lookup: auto: '
[ -z "$(sed 's/:.*//' err | sort | uniq -d)" ] || die 'a key comes twice'
expect 0 run "$model" "$prompt" -n 1 --explain-plan --isa ref -t 1 --chunk 8 --lookup off
err_has '^lookup: off: '
err_has '^level.why: it was asked for$'
err_has '^prefill.isa: ref (option)$'
err_has '^prefill.threads: 1 (option)$'
err_has '^decode.chunk: 8 (option)$'
[ "$(grep -c '^kernel\..* of ref' err)" = "$(grep -c '^kernel\.' err)" ] || die 'not all kernels are of ref'
expect 0 run "$model" "$prompt" -n 1 --explain-plan --json
out_has '"plan":{"backend":"cpu",'
out_has '"prefill.threads.from":"default"'
[ ! -s err ] || die 'the plan is among the messages'

# statistics fit the terminal
expect 0 run "$model" "$prompt" -n 24 --ignore-eos --stats --lookup off
same out text
err_has '^  1  *23 '
err_has '^  prefill  *[0-9]'
err_has '^  decode  *23$'
err_has '^  cpu  *[0-9]'
err_has '^    as asked  *[0-9]'
err_has '^  gpu  *0$'
for columns in 40 80; do
    COLUMNS=$columns "$CARAT" run "$model" "$prompt" -n 8 --stats >/dev/null 2>err
    [ "$(grep -v '^    ' err | awk '{print length}'  | sort -n | tail -1)" -le $columns ] || die "wider than $columns columns"
done
expect 0 run "$model" "$prompt" -n 8 --stats --json
out_has '"stats":{"passes":\[{"of":"1","count":'
out_has '"tokens":{"prefill":'
out_has '"dispatch":{"cpu":{"passes":[0-9]*,"rows":[0-9]*,"ms":[0-9.]*,"mean_ms":.*"by_reason":{"option":'

# settings beside the weights: they hold, options beat them, the text stays
echo '{"prefill": {"threads": 1, "chunk": 7}, "decode": {"isa": "ref", "threads": 2}}' >"$model/carat.json"
expect 0 run "$model" "$prompt" -n 24 --ignore-eos --explain-plan
same out text
err_has "^settings: $model/carat.json\$"
err_has '^prefill.threads: 1 (carat.json)$'
err_has '^prefill.chunk: 7 (carat.json)$'
err_has '^decode.threads: 2 (carat.json)$'
err_has '^decode.chunk: 7 (as prefill)$'
err_has '^decode.isa: ref (carat.json)$'
err_has '^prefill.isa: .* (default)$'
expect 0 run "$model" "$prompt" -n 24 --ignore-eos --explain-plan --chunk 9 -t 3
same out text
err_has '^prefill.chunk: 9 (option)$'
err_has '^decode.threads: 3 (option)$'
err_has '^decode.isa: ref (carat.json)$'
expect 0 run "$model" "$prompt" -n 1 --explain-plan --no-profile
err_has '^prefill.chunk: 256 (default)$'

expect 0 run "$model" "$prompt" -n 24 --ignore-eos --explain-plan -tb 3
same out text
err_has '^prefill.threads: 3 (option)$'
err_has '^decode.threads: 2 (carat.json)$'
expect 0 run "$model" "$prompt" -n 1 --explain-plan --no-profile -tb 3 -t 1
err_has '^prefill.threads: 3 (option)$'
err_has '^decode.threads: 1 (option)$'
threads=$("$CARAT" doctor --measure off | sed -n 's/^threads  *\([0-9]*\):.*/\1/p')
expect 0 run "$model" "$prompt" -n 1 --explain-plan --no-profile -tb 5
err_has "^decode.threads: $threads (default)\$"

# in the folder of a hub cache it is in the snapshot that is opened
mkdir -p hub/refs hub/snapshots/0123abc
cp "$tiny"/* hub/snapshots/0123abc
echo 0123abc >hub/refs/main
echo '{"prefill": {"chunk": 5}}' >hub/snapshots/0123abc/carat.json
expect 0 run hub "$prompt" -n 1 --explain-plan
err_has '^settings: hub/snapshots/0123abc/carat.json$'
err_has '^prefill.chunk: 5 (carat.json)$'

# what is wrong in it is refused with its place
bad() {
    printf '%s' "$1" >"$model/carat.json"
    refuse 2 run "$model" "$prompt" -n 1
    err_has "carat.json$2"
    expect 0 run "$model" "$prompt" -n 1 --no-profile
}
bad '{"prefil": {}}' ': prefil: no such part'
bad '{"prefill": {"threds": 2}}' ': prefill.threds: no such setting'
bad '{"decode": {"threads": "2"}}' ': decode.threads: expected a number from 0 to 256'
bad '{"decode": {"threads": 257}}' ': decode.threads: expected'
bad '{"decode": {"threads": -1}}' ': decode.threads: expected'
bad '{"prefill": {"chunk": 1e3}}' ': prefill.chunk: expected'
bad '{"prefill": {"chunk": 99999999999999999999}}' ':1:'
bad '{"prefill": {"isa": "mmx"}}' ': prefill.isa: expected a level'
bad '{"prefill": {"isa": 3}}' ': prefill.isa: expected a level'
bad '{"prefill": []}' ': prefill: expected an object'
bad '[]' ': expected an object'
bad '' ':1:0:'
bad '{"prefill": {"chunk": 3},
 "prefill": {"chunk": 4}}' ':2:'
bad '{"prefill": {"chunk": 3}' ':1:'
bad "$(printf '[%.0s' $(seq 5000))" ':1:'
bad $'{"\e[31mx": {}}' ':1:2: '
bad '{"\u001b[31mx": {}}' ': .*31mx: no such part'
refuse 2 run "$model" "$prompt" -n 1
if grep -q $'\e' err; then die 'a control byte of the file went out'; fi
head -c 70000 /dev/zero | tr '\0' ' ' >"$model/carat.json"
refuse 2 run "$model" "$prompt" -n 1
err_has 'carat.json: it has more than 65536 bytes'
rm "$model/carat.json"
mkfifo "$model/carat.json"
refuse 2 run "$model" "$prompt" -n 1
err_has 'carat.json: it is not a regular file'
rm "$model/carat.json"

# costs are remembered by model and settings, and nothing strange in their file does harm
costs=$XDG_CACHE_HOME/carat/costs.json
rm -f "$costs"
expect 0 run "$model" "$prompt" -n 24 --ignore-eos
[ -s "$costs" ] || die 'no costs are kept'
cp "$costs" kept
expect 0 run "$model" "$prompt" -n 24 --ignore-eos -t 1
[ "$(grep -o '"settings"' "$costs" | wc -l)" = 2 ] || die 'other settings have no costs of their own'
expect 0 run "$model" "$prompt" -n 24 --ignore-eos --memory 9500K
if grep -q q8 err; then grep -q '"q8 cache' "$costs" || die 'the KV type that was chosen has no costs of its own'; fi
rm "$costs"
expect 0 run "$model" "$prompt" -n 24 --ignore-eos --no-cache
expect 0 run "$model" "$prompt" -n 2
[ ! -e "$costs" ] || die 'costs are kept of a run that knows none'
for strange in '' '{' '[]' '[[]]' '[{}]' '{"a":1}' '[{"machine":1}]'; do
    printf '%s' "$strange" >"$costs"
    expect 0 run "$model" "$prompt" -n 24 --ignore-eos
    same out text
done
for edit in 's/\[0,0,0,/[0,0,11,/' 's/\[0,0,0,/[-1,0,0,/' 's/\[0,0,0,[0-9]*/[0,0,0,65/' 's/\[0,0,0,/["",0,0,/' \
    's/"passes":\[\[/"passes":[[9e99,0,0,0,1,1],[/' 's/\]\]/,0]]/' 's/"passes":.*/"passes":null}]/'; do
    sed "$edit" kept >"$costs"
    differ kept "$costs"
    expect 0 run "$model" "$prompt" -n 24 --ignore-eos
    same out text
done
chmod 666 "$costs"
expect 0 run "$model" "$prompt" -n 24 --ignore-eos
same out text

# they are used: where one row at a time is said to be cheaper, the prompt goes so
chmod 600 "$costs"
several='[1,0,1,64,2,1e10],[1,0,2,64,4,1e10],[1,0,3,64,8,1e10],[1,0,4,64,14,1e10]'
sed 's/"passes":.*/"passes":[[0,0,0,64,1,1e3],[1,0,0,64,1,1e3],'"$several"']}]/' kept >"$costs"
expect 0 run "$model" "$prompt" -n 24 --ignore-eos --stats
same out text
err_has '^  prompt, one by one  *13$'

# the doctor says what is remembered of a model
cp kept "$costs"
export CARAT_ARG_MEASURE=off
expect 0 doctor "$model"
out_has '^costs  *bf16 cache, [0-9]* threads'
out_has '^  generation  *1: [0-9.]* ms'
out_has '^  prompt  *[0-9]*: '
expect 0 doctor "$model" --json
out_has '"costs":\[{"settings":"bf16 cache, '
out_has '"of":"generation","from":0,"rows":1.0,"ms":'
rm "$costs"
expect 0 doctor "$model"
out_has '^costs  *none are known: no run has measured any'
expect 0 doctor tiny
out_has '^costs  *none are known: the model is not in the cache'
expect 0 doctor
if grep -q '^costs' out; then die 'costs of no model'; fi
refuse 3 doctor "$work/no-such-model"
