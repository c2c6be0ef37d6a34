#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_first_user_bench.sh: what a first user meets who measures, looks at a model and at the machine. One
# case for each complaint; what else these verbs promise is in the tests of their own.
. "$CARAT_SOURCE/test/cli/common.bash"

gguf=$CARAT_SOURCE/test/data/vectors/gguf/q8_0.gguf

# 6: what is written never is what is read
cp "$gguf" m.gguf
ln m.gguf hard.gguf
cp m.gguf before
for name in m.gguf hard.gguf; do
    expect 2 logits m.gguf --ids 2,5 --out $name
    err_has "$name is what the model is read from: name another file"
    expect 2 bench m.gguf -p 4 -n 0 -r 1 --plot $name
done
same before m.gguf
same before hard.gguf
cp -R "$CARAT_SOURCE/test/data/vectors/models/gemma3-mm" shards
cp shards/model-00002-of-00002.safetensors before
expect 2 logits shards --ids 2,5 --out shards/model-00002-of-00002.safetensors
same before shards/model-00002-of-00002.safetensors

# 13: show says what a file is, and what run would do
expect 0 show tiny
out_has '^  quantisation  *none, BF16$'
out_has '^  file size  *[0-9.]* MB$'
out_has '^  stops at  *1 <eos>, 106 <end_of_turn>, '
expect 0 show "$gguf"
out_has '^  quantisation  *\(mostly \)\{0,1\}Q8_0$'
expect 0 show "$CARAT_SOURCE/test/data/vectors/gguf/q4_k_m.gguf"
out_has '^  quantisation  *[A-Z0-9_]*, mostly Q4_K$'
cp -R "$tiny" copy
rm -f copy/README.md
expect 0 show copy --json
bytes=$(sed -n 's/.*"file_bytes":\([0-9]*\).*/\1/p' out)
least=$(wc -c <copy/model.safetensors)
[ "$bytes" -gt "$least" ] || die "all files have $bytes bytes, the weights alone $least"
expect 0 show tiny -t 3 --json
out_has '"threads":3,'
export CARAT_ARG_MEMORY=9900000 CARAT_ARG_THREADS=3
for size in '' --memory; do
    expect 0 show tiny $size --json
    shown=$(sed -n 's/.*"memory":{"context":\([0-9]*\),.*"threads":3,.*/\1/p' out)
    expect 0 run tiny hello -n 2 -v
    err_has "^note: --memory leaves room for a context of $shown\\( with a q8 cache\\)\{0,1\}\$"
done
unset CARAT_ARG_MEMORY CARAT_ARG_THREADS

# 13: one unit for sizes and one word for rates, wherever people read
for verb in 'show tiny --memory' 'doctor --measure off' 'bench tiny -p 4 -n 1 -r 1' 'cache list'; do
    expect 0 $verb
    ! sed 's,tok/s,,g' out | grep -wE '[KMG]iB|t/s|tokens/s' || die "$verb: other words"
done
expect 5 run tiny hello -c 2048 --memory 6M
! grep -q 'iB' err || die 'a message with binary sizes'

# 13: doctor does not call memory short of which most is free
cat >made-up.sh <<'END'
mkdir proc && cp /proc/self/mountinfo /proc/cpuinfo /proc/stat proc/ 2>/dev/null
mkdir -p proc/pressure
echo 'some avg10=0.00 avg60=1.20 avg300=0.00 total=1' >proc/pressure/memory
printf 'MemTotal: 24000000 kB\nMemAvailable: 22000000 kB\n' >proc/meminfo
mount --bind proc/pressure/memory /proc/pressure/memory && mount --bind proc/meminfo /proc/meminfo || exit 99
"$CARAT" doctor --measure off >out
END
if [ -z "${CARAT_CFLAGS:-}" ] && [ -e /proc/pressure/memory ] && unshare -rm true 2>/dev/null; then
    CARAT=$CARAT unshare -rm bash made-up.sh || die "doctor on a machine of its own: $?"
    out_has '^memory .*, available 22.5 GB$'
    ! grep -q 'it is short' out || die "$(grep short out)"
fi

# 15: whole generations, as other runners of Gemma time them, also without a verb
for command in 'bench tiny' '--weights tiny --bench'; do
    expect 0 $command --prompt 'Hello there' --max-tokens 4 --bench-warmup 1 --bench-iters 3 --bench-json b.json
    for key in '"device":"cpu"' '"mean_tok_s":[0-9]' '"p50_tok_s":[0-9]' '"p90_tok_s":[0-9]' '"iters":3' '"warmup":1'; do
        grep -q "$key" b.json || die "$command: no $key in $(cat b.json)"
    done
    rm b.json
done
expect 0 bench tiny -p 8 -n 0 -r 2 -o json
out_has '"p90_ts": [0-9]'
# 15: lists of settings, each with a row, and what the width of a pass costs
expect 0 bench tiny -p 32 -n 0 -r 1 -t 1,2 -ub 8,32 -fa 0,1 --profile
[ "$(grep -c '^| gemma3 .* pp32 |' out)" = 8 ] || die 'not eight rows'
for t in 'passes' 'ms/pass' 'total ms' 'µs/token' '× the first' '^attention alone'; do out_has "$t"; done
