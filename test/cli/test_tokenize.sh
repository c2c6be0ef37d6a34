#!/usr/bin/env bash
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

# <bos> is there unless it is refused; control tokens are recognised and printed on request only
expect 0 tokenize tiny hi
with=$(cat out)
expect 0 tokenize tiny hi --no-bos
without=$(cat out)
[ "${with#* }" = "$without" ] || die "'$with' is not one id more than '$without'"
bos=${with%% *}
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
    refuse 1 tokenize tiny --jsonl texts
    err_has 'texts:2: '
    [ "$(wc -l <out)" = 1 ] || die 'the line before the bad one is missing'
done
for line in '{"ids":2}' '{"ids":[2,-1]}' '{"ids":[1.5]}' '{"ids":["2"]}' '{"ids":[2147483648]}'; do
    printf '%s\n' "$line" >texts
    refuse 1 detokenize tiny --jsonl texts
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
