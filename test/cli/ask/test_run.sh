#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_run.sh: `carat run`: repeatable output, where prompts come from, what goes where, how it ends.
. "$CARAT_SOURCE/test/cli/common.bash"

prompt='Once upon a time'

# one seed, one text; text alone on standard output, speed on standard error
expect 0 run tiny "$prompt" --seed 5 -n 40 --temp 1 -v
[ -s out ] || die 'nothing was generated'
err_has 'tok/s'
cp out first
expect 0 run tiny "$prompt" --seed 5 -n 40 --temp 1
same first out
for threads in 1 2 3; do
    expect 0 run tiny "$prompt" -s5 -n40 --temp 1 -t $threads
    same first out
done
expect 0 run tiny "$prompt" --seed 5 -n 40 --temp 1 --chunk 3
same first out

# a random seed is printed, and repeats the run
expect 0 run tiny "$prompt" -n 40 --temp 1 -v
cp out first
seed=$(sed -n 's/.*seed \([0-9]*\).*/\1/p' err)
[ -n "$seed" ] || die 'no seed'
expect 0 run tiny "$prompt" -n 40 --temp 1 --seed "$seed"
same first out
expect 0 run tiny "$prompt" -n 8 --temp 0
cp out first
expect 0 run tiny "$prompt" -n 8 --top-k 1 --temp 1 --seed 3
same first out

# every way to give a prompt
printf '%s' "$prompt" >prompt.txt
expect 0 run tiny "$prompt" --seed 5 -n 20
cp out first
expect 0 run tiny --seed 5 -n 20 -p "$prompt"
same first out
expect 0 run -m tiny "$prompt" --seed 5 -n 20
same first out
expect 0 run tiny --seed 5 -n 20 -f prompt.txt
same first out
expect 0 run tiny --seed 5 -n 20 <prompt.txt
same first out
expect 0 run tiny --seed 5 -n 20 -f - <prompt.txt
same first out
refuse 1 run tiny -f absent.txt
err_has '^error: E_IO: option --file: absent.txt: '
# standard input is appended to PROMPT after an empty line; when it is not: test_first_user_term.sh
prompt_ids() { grep -o '"prompt_ids":[^]]*' out; }
expect 0 run tiny $'Say it\n\nOnce upon a time' -n 0 --json
wanted=$(prompt_ids)
expect 0 run tiny 'Say it' -n 0 --json <prompt.txt
[ "$(prompt_ids)" = "$wanted" ] || die 'a file on standard input is not appended'
expect 0 run tiny 'Say it' -n 0 --json < <(cat prompt.txt)
[ "$(prompt_ids)" = "$wanted" ] || die 'a pipe on standard input is not appended'
expect 0 run tiny "$prompt" -n 0 --json
wanted=$(prompt_ids)
expect 0 run tiny "$prompt" -n 0 --json < <(:)
[ "$(prompt_ids)" = "$wanted" ] || die 'an empty pipe changes the prompt'
expect 0 run tiny '' -n 0 --json <prompt.txt
[ "$(prompt_ids)" = "$wanted" ] || die 'an empty prompt leaves a line'
expect 0 run tiny "$prompt" -n 0 --json <&-
[ "$(prompt_ids)" = "$wanted" ] || die 'a closed standard input changes the prompt'
mkfifo open
exec 3<>open # somebody could write to it
expect 0 run tiny "$prompt" -n 0 --json <open
err_has "^note: standard input is a pipe that brings nothing: it is not read; 'carat run MODEL -' waits for it$"
[ "$(prompt_ids)" = "$wanted" ] || die 'a pipe that brings nothing changes the prompt'
if command -v script >/dev/null; then # an open terminal is not waited for
    timeout 20 script -qec "$CARAT run tiny '$prompt' -n 0 --json" /dev/null <open >out || die 'it waits for the terminal'
    [ "$(prompt_ids)" = "$wanted" ] || die 'a terminal changes the prompt'
fi
exec 3>&-
# files that are no prompts
refuse 1 run tiny -f .
refuse 2 run tiny -f "$tiny/model.safetensors"
truncate -s 10G huge
refuse 1 run tiny -f huge
err_has 'huge: is larger than 64 MiB'
refuse 1 run tiny -f /dev/zero
rm huge

# what is not UTF-8 is named, or replaced
for bad in 'ab\xff' 'ab\xc0\x80' 'ab\xed\xa0\x80' 'ab\xf4\x90\x80\x80' 'ab\xe2\x82'; do
    printf "$bad" >bad.txt
    refuse 2 run tiny -f bad.txt
    err_has '^error: E_USAGE: bad.txt is not UTF-8 at byte 2 '
    refuse 2 run tiny --raw "$(cat bad.txt)"
    expect 0 run tiny -f bad.txt --lossy -n 0 --json
    expect 0 run tiny --raw -f bad.txt --lossy -n 0 --json
    refuse 2 run tiny hi -sys "$(cat bad.txt)"
done
# whatever is wrong in a file is said behind its name, by each verb that reads one
printf 'a\0b' >nul.txt
printf '[{}]' >tools.json
printf '[{"role":"tool","content":"x"}]' >messages.json
for verb in 'run tiny' 'render tiny' 'logits tiny' 'compare tiny tiny'; do
    case $verb in
    render*) x='--messages good.json' && printf '[{"role":"user","content":"x"}]' >good.json ;;
    *)
        x='-p x'
        refuse 2 $verb -f bad.txt
        err_has '^error: E_USAGE: bad.txt is not UTF-8 at byte 2 '
        refuse 2 $verb -f nul.txt
        err_has '^error: E_USAGE: nul.txt has a NUL byte at offset 1;'
        refuse 2 $verb $x -sysf bad.txt
        err_has '^error: E_USAGE: bad.txt is not UTF-8 at byte 2 '
        ;;
    esac
    refuse 2 $verb $x --tools tools.json
    err_has '^error: E_ARGUMENT: tools.json: tools\[0\]'
    refuse 2 $verb --messages messages.json
    err_has '^error: E_ARGUMENT: messages.json: messages\[0\].role: '
done
expect 0 run tiny $'a\xffb' --lossy -n 0 --json
wanted=$(prompt_ids)
expect 0 run tiny $'a\xef\xbf\xbdb' -n 0 --json
[ "$(prompt_ids)" = "$wanted" ] || die 'a bad byte is not U+FFFD'

# --json: one object, whose ids are the text
expect 0 run tiny "$prompt" --seed 5 -n 20 --json
[ "$(wc -l <out)" = 1 ] || die 'not one line'
for key in prompt_ids ids text stop timings seed; do out_has "\"$key\":"; done
out_has '"seed":5'
cp out object
"$CARAT" detokenize tiny --jsonl - <object >again
"$CARAT" tokenize tiny --jsonl - <object >/dev/null # "text" is a JSON string
text=$(sed 's/.*"text":\("\([^"\\]\|\\.\)*"\).*/\1/' object)
[ "$(cat again)" = "{\"text\":$text}" ] || die "the ids decode to $(cat again), the text is $text"

# a conversation begins with <bos> once; so does a raw prompt, spelled or not
bos=$(sed -n 's/.*"prompt_ids":\[\([0-9]*\),.*/\1/p' object)
for arguments in "--raw|$prompt" "--raw|<bos>$prompt" "-n0|$prompt"; do
    expect 0 run tiny "${arguments%%|*}" "${arguments#*|}" -n 0 --json
    ids=$(sed -n 's/.*"prompt_ids":\[\([0-9,]*\)\].*/\1/p' out)
    count=$(printf '%s' "$ids" | tr ',' '\n' | grep -c "^$bos\$")
    [ "$count" = 1 ] && [ "${ids%%,*}" = "$bos" ] || die "$arguments: $count times <bos> in $ids"
    out_has '"ids":\[\]'
    out_has '"stop":"length"'
done
cp out zero
expect 0 tokenize tiny "$prompt"
ids=$(tr ' ' ',' <out)
expect 0 run tiny --raw "$prompt" --json -n 4 --temp 0
out_has "\"prompt_ids\":\[$ids\]"
expect 0 run tiny --raw "$prompt" -n 4 --temp 0
cp out first
expect 0 run tiny --ids "$ids" -n 4 --temp 0
same first out

# NUL bytes: only in raw prompts
printf 'a\0b' >nul.txt
refuse 2 run tiny -f nul.txt
err_has 'NUL byte at offset 1'
expect 0 run tiny --raw -f nul.txt -n 2 --seed 1
# an empty prompt is a prompt
expect 0 run tiny '' -n 2 --seed 1

# the end of the context
expect 0 run tiny --ids "$ids" -c 20 --ignore-eos --json --seed 1
out_has '"stop":"length"'
err_has 'context of 20 positions is full'
generated=$(sed 's/.*"ids":\[\([0-9,]*\)\],"text".*/\1/' out | tr ',' '\n' | wc -l)
given=$(printf '%s\n' "$ids" | tr ',' '\n' | wc -l)
[ $((generated + given)) = 20 ] || die "$given ids became $generated more in a context of 20"
refuse 1 run tiny --ids "$ids" -c 3
err_has 'the context 3 positions'
many=$ids
for _ in 1 2 3 4 5 6 7 8 9 10 11; do many=$many,$many; done
refuse 1 run tiny --ids "$many"
err_has 'and the model [0-9]*$'

# system prompt and tools reach the template
expect 0 run tiny "$prompt" -n 0 --json -sys 'You are brief.'
differ zero out
echo '[{"type":"function","function":{"name":"get_time","description":"The time.","parameters":{"type":"object","properties":{"zone":{"type":"string","description":"Zone."}},"required":["zone"]}}}]' >tools.json
expect 0 run tiny "$prompt" -n 0 --json --tools tools.json
differ zero out
expect 0 run tiny "$prompt" -n 0 --json --exact --kv f32 --isa ref
refuse 1 run tiny "$prompt" --tools absent.json

# a reader that goes away ends it quietly; a full device is reported
code=0
{ "$CARAT" run tiny "$prompt" --ignore-eos --seed 1 2>err || echo $? >code; } | head -c 1 >/dev/null
[ "$(cat code)" = 141 ] || die "a closed pipe gives $(cat code)"
if [ -e /dev/full ]; then
    code=0
    "$CARAT" run tiny "$prompt" -n 4 --seed 1 >/dev/full 2>err || code=$?
    [ "$code" = 1 ] || die "a full device gives $code"
    err_has 'cannot write to standard output: No space left'
fi
code=0
"$CARAT" run tiny "$prompt" -n 4 --seed 1 >&- 2>err || code=$?
[ "$code" = 1 ] || die "a closed standard output gives $code"
code=0
"$CARAT" run tiny <&- >out 2>err || code=$?
[ "$code" = 1 ] || die "a closed standard input gives $code"

# only a few lines are wanted
code=0
{ "$CARAT" help 2>err || echo $? >code; } | head -n 1 >/dev/null
[ ! -s err ] || die 'a reader that goes away is worth no word'

# without a chat template the text is run raw, and one note says so
raw=$CARAT_SOURCE/fuzz/corpus/gguf/gemma
expect 0 run "$raw" hi -n 1 --json --no-cache
err_has '^note: gemma has no chat template: the prompt is run raw'
cp out wanted
expect 0 run "$raw" hi -n 1 --json --no-cache --raw
[ ! -s err ] || die 'a note about what was asked for'
[ "$(sed 's/.*"prompt_ids":\(\[[^]]*\]\).*/\1/' wanted)" = "$(sed 's/.*"prompt_ids":\(\[[^]]*\]\).*/\1/' out)" ] || die 'other ids'

# every step anew gives the same ids; other stop ids, and none
ids() { sed 's/.*"ids":\[\([0-9,]*\)\].*/\1/' out; }
expect 0 run tiny "$prompt" --seed 5 -n 24 --temp 1 --json
ids >first
expect 0 run tiny "$prompt" --seed 5 -n 24 --temp 1 --json --naive
ids | cmp - first || die '--naive gives other ids'
expect 0 run tiny "$prompt" --seed 5 -n 24 --temp 1 --json --stop-ids "7,$(cut -d, -f3 first)"
out_has '"stop":"stop"'
[ "$(ids | tr , '\n' | wc -l)" -le 2 ] || die 'a stop id was given'
expect 0 run tiny "Turn on the kitchen lights" -n 40 --temp 0 --json --stop-ids ''
out_has '"stop":"length"'
refuse 2 run tiny "$prompt" --stop-ids x
err_has '--stop-ids'
refuse 2 run tiny "$prompt" --stop-ids "$(seq -s, 65)"
err_has '--stop-ids has 65 ids, at most 64 are taken'

# a log has a line for each part, without a word of text, and grows
expect 0 run tiny "Turn on the kitchen lights" --tools "$CARAT_SOURCE/models/tiny/tools.json" --log-jsonl log
expect 0 run tiny "$prompt" -n 4 --seed 3 --log-jsonl log
[ "$(grep -c '^{"event":"load","time":"20[0-9TZ:-]*","carat":"' log)" = 2 ] || die 'no two loads'
[ "$(grep -c '^{"event":"prompt",' log)" = 2 ] || die 'no two prompts'
grep -q '^{"event":"generation",.*"tokens":4,.*"seed":3,.*"stop":"length"}$' log || die 'no generation'
grep -q '"stop":"tool_calls"' log || die 'no calls'
[ "$(wc -l <log)" = 6 ] || die 'the log has other lines'
! grep -qi 'kitchen\|once upon' log || die 'the log has text'
cp -r "$CARAT_SOURCE/models/tiny" model
expect 2 run model "$prompt" --log-jsonl model/config.json
err_has 'is what the model is read from'
expect 0 run tiny "$prompt" -n 4 --seed 3 --log-jsonl /dev/full
err_has 'note: --log-jsonl: /dev/full'
