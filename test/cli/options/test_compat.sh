#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_compat.sh: options of llama.cpp: those that mean the same, those that change nothing, those that carat
# lacks.
. "$CARAT_SOURCE/test/cli/common.bash"

expect 0 run tiny hi -n 8 --seed 3
cp out wanted
# one note names them all; the text is the same
expect 0 run tiny hi -n 8 --seed 3 --no-perf -sm none --mlock --no-mmap -fa on -fa -b 64 -tb 2 --numa distribute \
    --prio 2 --poll 50 -C 0x3 --cpu-range 0-1 -cb --no-warmup --log-disable --log-file x -lv 1 --swa-full \
    --device none -nkvo --jinja -st --no-display-prompt --simple-io --flash-attn=auto --repeat-penalty 1.0 \
    --presence-penalty 0 --mirostat 0 --repeat-last-n 64 --reasoning-budget -1 --main-gpu=0
same wanted out
[ "$(wc -l <err)" = 1 ] || die 'not one note'
err_has '^note: ignored.*-sm, --mlock, .*--main-gpu$'
[ ! -e x ] || die 'a log file was written'
for verb in logits bench tokenize render show; do
    expect 0 help $verb
    ! grep -q -e -ngl out || die "help $verb shows an option that it ignores"
done
for layers in 99 all -1 0; do
    expect 0 run tiny hi -n 8 --seed 3 -ngl $layers
    same wanted out
    [ "$(cat err)" = 'note: ignored: -ngl, since --device is cpu' ] || die 'not one note'
done
refuse 2 run tiny hi -ngl some
refuse 2 run tiny hi --gpu-layers=-2
expect 0 bench tiny -p 4 -n 1 -r 1 -ngl 0
err_has '^note: '
expect 0 tokenize tiny hi --no-mmap
err_has '^note: '

# spellings that have a meaning here
for options in '--n-predict 8' '--predict=8' '-n8'; do
    expect 0 run tiny hi $options --seed 3 --temperature 1 --no-perf
    cp out other
    expect 0 run tiny hi -n 8 --seed 3 --temp 1 -v
    same other out
done
[ -s err ] || die 'no speed'
expect 0 run tiny hi --seed 3 -n 8 --no-perf -ub 1
same wanted out
[ ! -s err ] || die '--no-perf prints speed'
expect 0 run tiny hi -no-cnv -n 0 --json
cp out raw
expect 0 run tiny hi --raw -n 0 --json
sed 's/"timings".*//' out >a
sed 's/"timings".*//' raw >b
same a b
printf 'You are brief.' >system.txt
expect 0 run tiny hi -sysf system.txt -n 0 --json
grep -o '"prompt_ids":[^]]*' out >a
expect 0 run tiny hi -sys 'You are brief.' -n 0 --json
grep -o '"prompt_ids":[^]]*' out >b
same a b
refuse 2 run tiny hi -sys x -sysf system.txt
for type in bf16 f16 f32 q8; do
    expect 0 run tiny hi -ctk $type --cache-type-v $type -n 8 --seed 3
    cp out other
    expect 0 run tiny hi --kv $type -n 8 --seed 3
    same other out
done
expect 0 run tiny hi -ctk q8_0 -ctv q8_0 -n 8 --seed 3
same other out
refuse 2 run tiny hi -ctk q4_0 -ctv q4_0
err_has "option -ctk: 'q4_0' .*bf16, f16, f32, q8"
refuse 2 run tiny hi -ctk f16
refuse 2 run tiny hi -ctk f16 -ctv f32
refuse 2 run tiny hi --kv bf16 -ctk f16 -ctv f16

# what would change the text is refused by name, whatever stands beside it
for option in '--mirostat 2' '--lora x.gguf' '--image x.png' '--top-nsigma 1' '--dynatemp-range 0.5' \
    '--override-kv a=int:1' '-dr a/b' '--hf-repo-v a/b' '--rope-scaling yarn' '-i' '--in-prefix x' '-e' \
    '--chat-template-file x' '--mirostat nan'; do
    refuse 2 run tiny hi $option
    name=${option%%[ =]*}
    err_has "run: $name.* is not supported: "
done
refuse 2 run tiny hi -ngl
err_has 'option -ngl needs a value'
refuse 2 run tiny hi -ngl --temp 0
refuse 2 run tiny hi --mlock=1
err_has 'takes no value'
refuse 2 run tiny hi --mlok
refuse 2 help -ngl 3
refuse 2 run tiny hi '-dev --device'

# variables: below the command line, above the defaults; a bad one is named
expect 0 run tiny hi --seed 3 -n 8
export CARAT_ARG_SEED=3 CARAT_ARG_N_PREDICT=8
expect 0 run tiny hi
same wanted out
expect 0 run tiny hi -n 4
differ wanted out
export CARAT_ARG_N_PREDICT=x
refuse 2 run tiny hi
err_has "CARAT_ARG_N_PREDICT: 'x' is not a whole number from -1"
unset CARAT_ARG_N_PREDICT
CARAT_ARG_TOP_P=2 refuse 2 run tiny hi
err_has 'CARAT_ARG_TOP_P'
CARAT_ARG_KV=q4 refuse 2 show tiny
err_has 'CARAT_ARG_KV'
CARAT_ARG_JSON=maybe refuse 2 show tiny
err_has 'CARAT_ARG_JSON'
CARAT_ARG_JSON=1 expect 0 show tiny
out_has '^{'
CARAT_ARG_JSON=0 expect 0 show tiny
out_has '^model'
CARAT_ARG_THREADS='' expect 0 run tiny hi -n 1
CARAT_ARG_PROMPT=x expect 0 run tiny hi -n 1
CARAT_ARG_THREADS=x expect 0 tokenize tiny hi # which has no --threads
