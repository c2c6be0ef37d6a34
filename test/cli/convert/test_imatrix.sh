#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_imatrix.sh: `carat imatrix`: the same bytes for every number of threads, chunk and start; every matrix
# of the layers has its entry; convert takes the file; and what it refuses leaves nothing. That the sums are
# those of the reference: tools/check_imatrix.py.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way

tiny4=$CARAT_SOURCE/test/fixtures/tiny4
head -c 3000 "$CARAT_SOURCE/NUMERICS.md" >text.txt

expect 0 imatrix "$tiny" -f text.txt -o one.gguf -c 64 -t 1 --chunk 7
out_is ''
expect 0 imatrix "$tiny" -f text.txt -o two.gguf -c 64 -t 2 --chunk 64
same one.gguf two.gguf
expect 0 imatrix "$tiny" -f text.txt -o two.gguf -c 64 -t 3 --no-cache
same one.gguf two.gguf
expect 0 imatrix "$tiny" -f text.txt -o other.gguf -c 32
differ one.gguf other.gguf
[ "$(grep -ao 'blk\.[0-9]\.[a-z_]*\.weight\.in_sum2' one.gguf | sort -u | wc -l)" = 42 ] || die "not every matrix"
grep -aq 'text.txt' one.gguf || die "the text is not named"

# llama.cpp's names and forms are those that convert reads
expect 0 convert "$tiny" plain.gguf --type q4_k_m
expect 0 convert "$tiny" x.gguf --type q4_k_m --imatrix one.gguf
differ plain.gguf x.gguf

# Gemma 4: layers that share K and V, and inputs of layers
expect 0 imatrix "$tiny4" -f text.txt -o four.gguf -c 64 -t 1 --chunk 5
expect 0 imatrix "$tiny4" -f text.txt -o again.gguf -c 64 -t 2
same four.gguf again.gguf
for part in attn_q attn_output ffn_down inp_gate proj; do
    grep -aq "blk.0.$part.weight.in_sum2" four.gguf || die "tiny4 has nothing of $part"
done
expect 0 convert "$tiny4" x.gguf --type q4_k_m --imatrix four.gguf
expect 4 convert "$tiny" y.gguf --type q4_k_m --imatrix four.gguf

# Gemma 3n, and experts, each by itself; models without a vocabulary, by ids
ids=2$(printf ',%s' $(seq 5 3 290))
for name in gemma3n gemma4-moe; do
    model=$CARAT_SOURCE/test/data/vectors/models/$name
    expect 0 imatrix "$model" --ids "$ids" -o ids.gguf -c 32 -t 1 --chunk 5
    expect 0 imatrix "$model" --ids "$ids" -o again.gguf -c 32 -t 2
    same ids.gguf again.gguf
    expect 0 convert "$model" x.gguf --type q4_0 --imatrix ids.gguf
done
grep -aq "blk.2.ffn_down_exps.weight.in_sum2" ids.gguf || die "experts have no sums"
refuse 4 convert "$tiny" y.gguf --type q4_0 --imatrix ids.gguf

# conversations, each by itself
cat >talks.jsonl <<'END'
{"messages":[{"role":"user","content":"What color is the horse?"},{"role":"assistant","content":"White."}]}
[{"role":"user","content":"Is the crow black?"}]
END
expect 0 imatrix "$tiny" --messages talks.jsonl -o talks.gguf
expect 0 convert "$tiny" x.gguf --type q4_0 --imatrix talks.gguf

refuse 2 imatrix "$tiny" -o z.gguf
err_has 'imatrix needs one text'
refuse 2 imatrix "$tiny" -f text.txt --messages talks.jsonl -o z.gguf
refuse 2 imatrix "$tiny" -f text.txt --ids 2,3 -o z.gguf
refuse 2 imatrix "$tiny" --ids 2,99999 -o z.gguf
refuse 2 imatrix "$tiny" -f text.txt
err_has '-o FILE.gguf says where'
: >empty
refuse 2 imatrix "$tiny" -f empty -o z.gguf
refuse 2 imatrix "$tiny" -f text.txt -o "$tiny/config.json"
echo '{"messages":1}' >bad.jsonl
refuse 2 imatrix "$tiny" --messages bad.jsonl -o z.gguf
err_has 'there is no list "messages"'
refuse 1 imatrix "$tiny" -f text.txt -o nowhere/z.gguf -c 64
[ ! -e z.gguf ] || die "a file was written"
