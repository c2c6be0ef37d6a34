#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_compare_head.sh: `carat compare --test head=shortlist`, on a model made here: what follows an id is
# known, and lies in a tile of the head that the shortlist has, or in none. Numbers are
# test/check/test_compare_head.c's.
. "$CARAT_SOURCE/test/cli/common.bash"

# ---- a model of one layer that adds nothing: 40 tiles of the head, of which a shortlist looks at 16 ----

vocab=104960 hidden=32
mkdir model
cat >model/config.json <<E2
{"architectures":["Gemma3ForCausalLM"],"model_type":"gemma3_text","vocab_size":$vocab,"hidden_size":$hidden,
"num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":1,"head_dim":16,"intermediate_size":32,
"query_pre_attn_scalar":16,"rms_norm_eps":1e-06,"rope_theta":1000000.0,"rope_local_base_freq":10000.0,
"sliding_window":8,"layer_types":["full_attention"],"max_position_embeddings":256,"tie_word_embeddings":false,
"hidden_activation":"gelu_pytorch_tanh","bos_token_id":2,"eos_token_id":3,"pad_token_id":0,
"torch_dtype":"bfloat16"}
E2
at=0 header=
tensor() { # NAME ROWS COLUMNS; none: a vector
    local bytes=$((2 * $2 * ${3:-1}))
    header+="${header:+,}\"model.$1.weight\":{\"dtype\":\"BF16\",\"shape\":[$2${3:+,$3}],\"data_offsets\":[$at,$((at + bytes))]}"
    at=$((at + bytes))
}
tensor embed_tokens $vocab $hidden
tensor lm_head $vocab $hidden
for norm in input_layernorm post_attention_layernorm pre_feedforward_layernorm post_feedforward_layernorm; do
    tensor layers.0.$norm $hidden
done
for norm in q k; do tensor layers.0.self_attn.${norm}_norm 16; done
for name in self_attn.q self_attn.o mlp.gate mlp.up mlp.down; do tensor layers.0.${name}_proj 32 $hidden; done
for name in k v; do tensor layers.0.self_attn.${name}_proj 16 $hidden; done
tensor norm $hidden
header="{${header/model.lm_head/lm_head}}"
while [ $((${#header} % 8)) != 0 ]; do header+=' '; done
begin=$((8 + ${#header}))
# shellcheck disable=SC2059 # bytes
printf "\\x$(printf %02x $((${#header} % 256)))\\x$(printf %02x $((${#header} / 256)))" >model/model.safetensors
printf '\0\0\0\0\0\0%s' "$header" >>model/model.safetensors
truncate -s $((begin + at)) model/model.safetensors # of zeros
number() { # MATRIX ROW COLUMN BYTES
    printf '%b' "$4" | dd of=model/model.safetensors bs=1 conv=notrunc status=none \
        seek=$((begin + 2 * (hidden * ($1 * vocab + $2) + $3)))
}
column=0
follows() { # ID NEXT: behind ID comes NEXT, with a logit of 22.6, all others have 0
    number 0 "$1" $column '\x80\x3f'
    number 1 "$2" $column '\x80\x40'
    column=$((column + 1))
}
follows 5 50000
follows 50000 60001
follows 60001 70002
follows 70002 80003
follows 6 100
follows 100 100

compare() { expect "$1" compare model --test head=shortlist "${@:2}"; }
list_of() { sed -n "s/.*\"$1\":\[\([^]]*\)\].*/\1/p" "$2/results.jsonl"; }
is() { [ "$(list_of "$1" "$2")" = "$3" ] || die "$2: $1 is '$(list_of "$1" "$2")', expected '$3'"; }

# ---- what is likely lies in no list ----

expect 0 decode model --ids 5 --steps 4 --exact --json
ids=$(grep -o '"id":[0-9]*' out | sed 's/.*://' | paste -sd,)
[ "$ids" = 50000,60001,70002,80003 ] || die "the model goes on with $ids"
compare 7 --ids 5 -n 4
head -n 2 out | tr '\n' ' ' >line
grep -q '^concerning: mean probability of ids that the test leaves out is 1, above 0.1 is concerning' line || die "$(cat line)"
out_has '^!   no near-tie  *0 '
out_has '^! p of left out  *1.0000 '
out_has '251904 logits left out'
out_has '^text  perplexity 1.0000 and -'

echo '{"ids":[5]}' >data.jsonl
for driver in ref free; do
    compare 7 --dataset data.jsonl --out $driver -n 4 --driver $driver
    is answer_ref_ids $driver "$ids"
    grep -q 'Probability left out.*data-l="mean">1.00<.*above.*0.1<.* concerning</span>' $driver/report.html ||
        die 'the report does not judge what is left out'
    grep -q 'probability of ids left out' $driver/report.html || die 'the report has no such metric'
done
is ids ref "$ids"
is top_ref ref "$ids"
is match ref 0,0,0,0
is logprob_test ref null,null,null,null
is left_out ref 62976,62976,62976,62976
case $(list_of outside ref) in 0.99999*,0.99999*,0.99999*,0.99999*) ;; *) die "outside is $(list_of outside ref)" ;; esac
grep -q '"perplexity_test": null' ref/summary.json || die 'what has the probability 0 has a perplexity'

cp ref/results.jsonl before
compare 7 --dataset data.jsonl --out ref -n 4 # goes on, where nothing is left to do
same ref/results.jsonl before

# what an older carat left there says nothing of it
cp -r ref older
sed -i 's/"outside":\[[^]]*\],//' older/results.jsonl
compare 1 --dataset data.jsonl --out older -n 4
err_has 'older/results.jsonl: .*--restart begins anew'
compare 7 --dataset data.jsonl --out older -n 4 --restart
same ref/results.jsonl older/results.jsonl

# ---- what is likely lies in the list ----

compare 0 --ids 6 -n 4
out_has '^healthy: '
out_has '^  p of left out  *9.4e-06 '
compare 0 --ids 6 -n 4 --limits outside=1e-7:1
out_has '^watch: mean probability of ids that the test leaves out is 9.403e-06, above$'
compare 7 --ids 6 -n 4 --limits outside=1e-7:1e-6
echo '{"ids":[6]}' >data.jsonl
compare 0 --dataset data.jsonl --out good -n 4 --limits outside=1e-7:1
grep -q ' --limits outside=1e-07:1 --out DIR' good/report.html || die 'the limits are not in the command'

# ---- nothing is left out ----

expect 0 compare model --test head=exact-pruned --dataset data.jsonl --out whole -n 4
! grep -q 'left_out\|outside' whole/results.jsonl || die 'a head that is exact leaves ids out'
is delta_p whole 0.0,0.0,0.0,0.0
! grep -q 'left out' out || die "the table has what is left out: $(cat out)"
! grep -q 'eft out' whole/report.html || die 'the report has what is left out'

# ---- the reference has all logits ----

refuse 2 compare model --ref head=shortlist --ids 5
err_has 'the reference has all logits'
refuse 2 compare model --lm-head shortlist --ids 5
CARAT_ARG_LM_HEAD=shortlist expect 7 compare model --ref head=dense --ids 5 -n 4
expect 0 logits model --ids 5,50000,60001 --all --out rows.npy # which is recorded logits
compare 7 --ref-logits rows.npy --ids 5,50000,60001
CARAT_ARG_LM_HEAD=shortlist expect 7 compare model --ref-logits rows.npy --ids 5,50000,60001
