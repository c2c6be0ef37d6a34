#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_tokenize.sh: tokenize, detokenize and render, alone and by JSON lines.
. "$CARAT_SOURCE/test/cli/common.bash"

# there and back, through arguments and through pipes
for text in 'Once upon a time' '' '  two  spaces ' $'lines\n\n\n\tand tabs\n' 'ünïcödé — 日本語 🦜' '12345' '<bos>x<end_of_turn>'; do
    expect 0 tokenize tiny --no-bos -- "$text"
    cp out ids
    printf '%s' "$text" | "$CARAT" tokenize tiny --no-bos >out
    same ids out
    expect 0 detokenize tiny "$(cat ids)"
    out_is "$text"
    expect 0 detokenize tiny <ids
    out_is "$text"
    tr ' ' ',' <ids >commas
    expect 0 detokenize tiny <commas
    out_is "$text"
done

# what is not UTF-8 is refused by place, or replaced as the reference does
refuse 2 tokenize tiny $'h\xe2\x82x'
err_has 'TEXT is not UTF-8 at byte 1 (found 0xe2)'
printf 'h\xe2\x82x' >bad
code=0
"$CARAT" tokenize tiny <bad >out 2>err || code=$?
[ "$code" = 2 ] || die "bad UTF-8 on standard input: $code"
err_has 'standard input is not UTF-8 at byte 1'
expect 0 tokenize tiny --lossy --no-bos <bad
cp out ids
expect 0 detokenize tiny --special <ids
grep -q $'^h\xef\xbf\xbd' out || die 'no U+FFFD'
printf '{"text":"h\xe2\x82x"}\n' >bad
refuse 2 tokenize tiny --jsonl bad
err_has 'bad:1: '

# MODEL from standard input: a file, a pipe, a tokenizer or a model
expect 0 tokenize tiny hi
cp out wanted
for file in tokenizer.json tokenizer.model; do
    expect 0 tokenize - hi <"$tiny/$file"
    same wanted out
    expect 0 tokenize -m - hi < <(cat "$tiny/$file")
    same wanted out
done
code=0
"$CARAT" run - hi <"$tiny/tokenizer.json" >out 2>err || code=$?
[ "$code" = 4 ] || die "a tokenizer as a model: $code"
refuse 4 run - hi < <(cat "$tiny/tokenizer.json")
err_has 'a tokenizer, not a model'
refuse 4 show - < <(cat "$tiny/model.safetensors")
refuse 4 show - < <(head -c 70000000 /dev/zero)
err_has 'only a GGUF file can come through a pipe'
refuse 4 show -
refuse 3 show - <&-
for gguf in "${CARAT_SHARED:-}"/gguf/*.gguf; do
    [ -e "$gguf" ] || break
    expect 0 logits "$gguf" --ids 2,3 --out file.npy
    expect 0 logits - --ids 2,3 --out pipe.npy < <(cat "$gguf")
    same file.npy pipe.npy
    expect 0 logits - --ids 2,3 --out pipe.npy <"$gguf"
    same file.npy pipe.npy
    refuse 4 show - < <(head -c 5000 "$gguf")
    break
done

# <bos> is there unless it is refused; control tokens are recognised and printed on request only
expect 0 tokenize tiny hi
with=$(cat out)
expect 0 tokenize tiny hi --no-bos
without=$(cat out)
[ "${with#* }" = "$without" ] || die "'$with' is not one id more than '$without'"
expect 0 tokenize tiny '<bos>hi' --no-bos --special
[ "$(cat out)" = "$with" ] || die '<bos> was not recognised'
expect 0 tokenize tiny '<bos>hi' --special
[ "$(cat out)" = "$with" ] || die 'there are two <bos>'
expect 0 tokenize tiny '<bos>hi' --no-bos
[ "$(cat out)" != "$with" ] || die '<bos> was recognised without --special'
expect 0 detokenize tiny "$with"
out_is 'hi'
expect 0 detokenize tiny "$with" --special
out_is '<bos>hi'
expect 0 tokenize tiny hi --json
out_is "{\"ids\":[${with// /,}]}"$'\n'
expect 0 detokenize tiny "$with" --json
out_is '{"text":"hi"}'$'\n'

# JSON lines: one in, one out, and back
printf '%s\n' '{"text":"hi"}' '{"text":"","id":7}' '{"text":"a\u0000b\n\"\u00e9"}' >texts
printf '%s' '{"text":"no newline at the end"}' >>texts
expect 0 tokenize tiny --jsonl texts --no-bos
[ "$(wc -l <out)" = 4 ] || die 'not four lines'
cp out ids
expect 0 tokenize tiny --jsonl - --no-bos <texts
same ids out
expect 0 detokenize tiny --jsonl ids
printf '%s\n' '{"text":"hi"}' '{"text":""}' '{"text":"a\u0000b\n\"é"}' '{"text":"no newline at the end"}' >wanted
same wanted out
for line in 'x' '[]' '{}' '{"text":1}' '{"text":"a"' '' '{"text":"a"} {}'; do
    printf '%s\n' '{"text":"hi"}' "$line" >texts
    refuse 2 tokenize tiny --jsonl texts
    err_has 'texts:2: '
    [ "$(wc -l <out)" = 1 ] || die 'the line before the bad one is missing'
done
for line in '{"ids":2}' '{"ids":[2,-1]}' '{"ids":[1.5]}' '{"ids":["2"]}' '{"ids":[2147483648]}'; do
    printf '%s\n' "$line" >texts
    refuse 2 detokenize tiny --jsonl texts
    err_has 'texts:1: '
done
refuse 1 tokenize tiny --jsonl absent
refuse 2 detokenize tiny '2 x'
refuse 2 detokenize tiny 2000000000

# render: text without an extra newline, or its ids; the ids are those of the text
echo '[{"role":"user","content":"Hello!"}]' >messages.json
expect 0 render tiny --messages messages.json
cp out text
out_has '^<bos><start_of_turn>user$'
out_has '^Hello!<end_of_turn>$'
[ "$(tail -n 1 text)" = '<start_of_turn>model' ] || die 'the turn of the model is not open'
expect 0 render tiny --messages - <messages.json
same text out
expect 0 render tiny --messages messages.json --ids
cp out ids
expect 0 tokenize tiny --special --no-bos <text
same ids out
expect 0 detokenize tiny --special <ids
same text out
expect 0 run tiny 'Hello!' -n 0 --json
out_has "\"prompt_ids\":\[$(tr ' ' ',' <ids)\]"
echo '{' >broken.json
refuse 2 render tiny --messages broken.json
refuse 1 render tiny --messages absent.json
