#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_embed.sh: `carat embed`: what it prints and writes, tasks and prompts, lines of which one fails, texts
# that are too long, and which verb is for which model.
. "$CARAT_SOURCE/test/cli/common.bash"

data=$CARAT_SOURCE/test/data/embed
mkdir E
ln -s "$data"/models/embed1/* "$tiny/tokenizer.json" E # its vocabulary is as large

# ---- one text ----

expect 0 embed E --ids 2,5,9,1
[ "$(wc -w <out)" = 36 ] || die 'not 36 values'
mv out vector
expect 0 embed E --ids 2,5,9,1 --no-cache -t 1
same out vector
expect 0 embed E --ids 2,5,9,1 --isa ref
same out vector
echo before >v.npy # a result replaces what is there
expect 0 embed E --ids 2,5,9,1 --out v.npy
[ ! -s out ] || die 'text on standard output'
head -c 128 v.npy | grep -aq "'shape': (1, 36)" || die 'wrong shape'
expect 0 embed E --ids 2,5,9,1 --out -
same out v.npy
expect 0 embed E --ids 2,5,9,1 --dim 18
[ "$(wc -w <out)" = 18 ] || die 'not 18 values'
err_has 'trained for vectors of 36 values, not of 18'
[ "$(tr ' ' '\n' <out | awk '{ s += $1 * $1 } END { printf "%.5f", s }')" = 1.00000 ] || die 'a cut has not length 1'
expect 0 embed E --ids 2,5,9,1 --no-dense
differ out vector

# ---- what the model reads ----

expect 0 tokenize E 'task: search result | query: red apples'
ids=$(tr ' ' , <out),1 # <bos> is there, <eos> is added
expect 0 embed E --ids "$ids"
mv out query
expect 0 embed E 'red apples'
same out query
expect 0 embed E --task query 'red apples'
same out query
printf 'red apples' >text
"$CARAT" embed E <text >out 2>err
same out query
expect 0 tokenize E 'title: none | text: red apples'
expect 0 embed E --ids "$(tr ' ' , <out),1"
mv out document
expect 0 embed E --task document 'red apples'
same out document
expect 0 tokenize E 'title: Fruit | text: red apples'
expect 0 embed E --ids "$(tr ' ' , <out),1"
mv out titled
expect 0 embed E --title Fruit 'red apples'
same out titled
expect 0 tokenize E 'red apples'
expect 0 embed E --ids "$(tr ' ' , <out),1"
mv out plain
expect 0 embed E --no-prompt 'red apples'
same out plain
while IFS='|' read -r task sentence; do
    expect 0 tokenize E "task: $sentence | query: x"
    expect 0 embed E --ids "$(tr ' ' , <out),1"
    mv out of_ids
    expect 0 embed E --task "$task" x
    same out of_ids
done <<'END'
qa|question answering
fact|fact checking
classify|classification
cluster|clustering
similarity|sentence similarity
code|code retrieval
END

# ---- several ----

expect 0 embed E 'red apples' 'green pears' 'red apples'
sed -n 1p out >a
sed -n 3p out >b
same a b
same a query
expect 0 embed E --similarity 'red apples' 'green pears'
[ "$(cut -f 1 <out | head -n 1)" = 1.000000 ] || die 'a text is not as near as can be to itself'
[ "$(sed -n 1p out | cut -f 2)" = "$(sed -n 2p out | cut -f 1)" ] || die 'nearness has a direction'
expect 0 embed E --json --stats 'red apples' 'green pears'
out_has '^{"dim":36,"tokens":\[[0-9]*,[0-9]*\],"vectors":\[\[.*\],\[.*\]\],"stats":{"tokens":[0-9]*,"seconds":'
expect 0 embed E --stats --rounds 2 x
err_has 'tok/s'

cat >lines.jsonl <<'END'
{"text": "red apples"}
{"text": ""}
{"ids": [2, 5, 9, 1]}
no JSON
{"text": "red apples", "title": "Fruit", "task": "document"}
{"text": "red apples", "task": "cooking"}
{"text": 5}
{"ids": [2, -1]}
END
expect 1 embed E --jsonl lines.jsonl
[ "$(wc -l <out)" = 8 ] || die 'not a line for each'
[ "$(grep -c '"vector":null' out)" = 5 ] || die 'not five without a vector'
err_has 'E_ARGUMENT: lines.jsonl: line 2: the text has no tokens, expected at least 1'
err_has 'lines.jsonl: line 4, byte 2: this is not JSON'
err_has 'lines.jsonl: line 6: "task" is no task'
err_has 'lines.jsonl: line 7: expected an object with a string "text"'
err_has 'lines.jsonl: line 8: ids\[1\] is not a token id'
[ "$(grep -c '^error' err)" = 5 ] || die 'not five messages'
for line in 1:query 3:vector 5:titled; do
    sed -n "${line%:*}p" out | sed 's/.*\[//; s/\].*//' | tr , ' ' >got
    same got "${line#*:}"
done
expect 1 embed E --jsonl lines.jsonl --out l.npy
head -c 128 l.npy | grep -aq "'shape': (8, 36)" || die 'wrong shape of lines'
sed -n 1p lines.jsonl | "$CARAT" embed E --jsonl - >out 2>err
out_has '^{"line":1,"tokens":[0-9]*,"vector":\['

# ---- too long ----

long=2$(printf ',5%.0s' $(seq 1 2047)),1 # 2049
refuse 1 embed E --ids "$long"
err_has 'E_CONTEXT: the text has 2049 tokens, expected at most 2048; --truncate cuts it'
expect 0 embed E --truncate --ids "$long"
mv out cut
expect 0 embed E --ids "2$(printf ',5%.0s' $(seq 1 2046)),1"
same out cut

# ---- a line of a file is a text ----

printf '{"text":"red apples"}\n{"text":"a\\u0000b"}\n{"text":" green pears "}\n{"text":"last"}\n' >four.jsonl
expect 0 embed E --jsonl four.jsonl
sed 's/.*\[//; s/\].*//' out | tr , ' ' >wanted
printf '\nred apples\r\na\0b\n \t\r\n green pears \n\n\r\nlast' >four.txt
expect 0 embed E -f four.txt
[ "$(wc -l <out)" = 4 ] || die 'not four vectors'
awk '{ for (i = 1; i <= NF; i++) printf "%.6f ", $i; print "" }' out >got
awk '{ for (i = 1; i <= NF; i++) printf "%.6f ", $i; print "" }' wanted >numbers
same got numbers
mv out lines
expect 0 embed E --file - <four.txt
same out lines
printf '\n' >>four.txt # a last line with its end gives nothing more
expect 0 embed E -f four.txt
same out lines
expect 0 embed E 'red apples' $' green pears ' last
sed 2d lines >wanted
same out wanted
printf 'red apples\n\ngreen \377\nlast\n' >bytes.txt
expect 1 embed E -f bytes.txt
err_has '^error: E_ARGUMENT: bytes.txt: line 3: byte 6: this is not UTF-8 (found 0xff)'
[ "$(sed -n 2p out)" = '' ] && [ "$(wc -l <out)" = 3 ] || die 'a line that failed is not an empty one'
printf '\n \r\n' >blank.txt
expect 0 embed E -f blank.txt
[ ! -s out ] || die 'a vector of nothing'
refuse 2 embed E text -f four.txt
err_has 'give one of TEXT, --ids, -f and --jsonl'

# ---- which is for what ----

refuse 4 embed tiny hello
err_has 'tiny: a model of architecture gemma3 generates text, expected an embedding model for embed: carat run tiny'
only_vectors() { # verb, arguments
    local verb=$1
    shift
    expect 4 "$verb" E "$@"
    err_has "E: a model of architecture gemma-embedding gives vectors of texts, expected one that generates for $verb: carat embed E"
}
echo 'some words' >notes.txt
only_vectors run hello
only_vectors logits --ids 2,5
only_vectors decode --ids 2,5
only_vectors perplexity notes.txt
only_vectors compare tiny --ids 2,5
only_vectors bench --draft-right 0.5

# It is said before anything is packed: a cache that was empty stays so.
mkdir -p empty
echo '{"prompt":"hi"}' >items.jsonl
untouched() { # code, arguments
    XDG_CACHE_HOME=$work/empty expect "$@"
    [ -z "$(ls -A empty)" ] || die "carat ${*:2}: the cache has $(find empty)"
}
tiny4=$CARAT_SOURCE/test/fixtures/tiny4
mkdir words
ln -s "$tiny/tokenizer.json" words
untouched 4 embed "$tiny4" hello
untouched 4 embed "$tiny" hello
for model in E "$tiny4-assistant" words; do
    code=4
    [ "$model" != words ] || code=3 # which is no model
    untouched $code chat "$model"
    for verb in run logits decode; do
        untouched $code "$verb" "$model" --ids 2,5
    done
    untouched $code perplexity "$model" notes.txt
    untouched $code run "$model" --jsonl items.jsonl
    untouched $code imatrix "$model" -f notes.txt -o x.imatrix
    untouched $code bench timeline "$model"
done
untouched 4 embed "$tiny4-assistant" hello
untouched 4 serve "$tiny4-assistant" --port 0
untouched 4 run "$tiny4" hi -md E
untouched 4 run "$tiny" hi -md "$tiny4-assistant"
XDG_CACHE_HOME=$work/empty expect 0 pack E # of either kind
[ -n "$(ls -A empty)" ] || die 'an embedding model is not packed'
refuse 4 embed E ''
err_has 'the text has no tokens'
refuse 2 embed E --dim 37 x
err_has 'embed: --dim is 37, expected 1 to 36'
refuse 2 embed E x --ids 2
refuse 2 embed E --no-prompt --task query x
refuse 2 embed E --title T --task query x
refuse 2 embed E --task cooking x
refuse 2 embed E --out - --json x

# ---- without its dense heads ----

mkdir body
ln -s "$data"/models/embed1/config.json "$data"/models/embed1/model.safetensors body
expect 4 embed body --ids 2,5,9,1
err_has 'body: the model has no dense heads'
expect 0 embed body --ids 2,5,9,1 --no-dense
mv out raw
expect 0 embed E --ids 2,5,9,1 --no-dense
same out raw
expect 0 show body
out_has 'the raw mean of 36 values alone'

# ---- packed ----

for model in models/embed1 models/embed2 models/embed2-other gguf/embed1.gguf gguf/embed1-gemma3.gguf gguf/embed2.gguf; do
    expect 0 embed "$data/$model" --no-cache --ids 2,5,9,1
    mv out unpacked
    expect 0 pack "$data/$model" -o packed.carat --force
    expect 0 embed packed.carat --no-cache --ids 2,5,9,1
    same out unpacked
done

# ---- what others say of it ----

expect 0 show E
out_has '^  gives  *36 values for a text of up to 2048 tokens$'
out_has '^  tasks  *query, document, qa, fact, classify, cluster, similarity, code$'
out_has 'local (6 tokens on each side)'
expect 0 show E --json
out_has '"vectors":{"width":36,"raw_width":36,"n_dense":2,"max_tokens":2048,"cuts":\[\],"tasks":\["query",'
expect 0 verify E
expect 0 show "$data/gguf/embed2.gguf"
out_has '^  gives  *64 values for a text of up to 8192 tokens$'

# ---- its speed ----

expect 0 doctor E
out_has '^costs  *none are kept of an embedding model: carat bench E times its vectors$'

expect 0 bench E -r 2 -t 1
out_has '^E: vectors of 36 values; 2 runs$'
for row in '64 texts of 16 tokens' '8 texts of 512 tokens' '1 text of 8 tokens'; do out_has "^| $row  *|  *[0-9]"; done
expect 0 bench "$data/models/embed2" -r 1 -o json
out_has '"vectors":\[{"texts":64,"tokens":16,"median_ts":[0-9]'
expect 0 bench body -r 1 --json
for wrong in '-p 16' '-n 4' '-d 8' '-npl 2' '-t 1,2' '-o csv' '-pg 8,8' '--profile'; do
    # shellcheck disable=SC2086  # words of a command line
    refuse 2 bench E $wrong
done
err_has 'bench: an embedding model is timed by its vectors, without --profile'

# ---- the example ----

if python3 -c '' 2>/dev/null; then
    mkdir notes bin
    ln -s "$CARAT" bin/carat
    echo 'The lights in the kitchen are on.' >notes/kitchen.txt
    echo 'Apples are red, and pears are green.' >notes/fruit.txt
    : >notes/empty.txt # it has no vector
    PATH=$work/bin:$PATH python3 "$CARAT_SOURCE/examples/search.py" E notes 'What colour are apples?' >out 2>err
    [ "$(wc -l <out)" = 2 ] || die 'not two notes'
    out_has '^0\.[0-9]*  kitchen.txt$'
fi
