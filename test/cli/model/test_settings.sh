#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_settings.sh: settings in carat.json, for every verb that evaluates: they are obeyed, options go first,
# no result changes, and what is wrong is refused. What run says of each setting is test_insight.sh's.
. "$CARAT_SOURCE/test/cli/common.bash"

model=$work/model
mkdir "$model"
cp "$tiny"/* "$model"
for i in 1 2 3 4 5 6 7 8 9 10; do echo "Where is the bed? It is in room $i of the house, behind the door."; done >text
echo '{"question": "What is warm?", "choices": ["ice", "the sun"], "answer": 1}' >items.jsonl
echo 'Where is the bed?' >lines

# call VERB: what to run, in `words`.
call() {
    case $1 in
        run) words=(run "$model" -p 'Where is the bed?' -n 8 --temp 0) ;;
        chat) words=(chat "$model" -n 8 --temp 0) ;;
        logits) words=(logits "$model" --ids '2,105,621,107,9,10') ;;
        decode) words=(decode "$model" --ids '2,105,621,107' --steps 8 --jsonl) ;;
        show) words=(show "$model" --json) ;;
        compare) words=(compare "$model" --ref exact -p 'Where is the bed?' -n 8 --json) ;;
        perplexity) words=(perplexity "$model" text -c 64 --json) ;;
        eval) words=(eval "$model" items.jsonl --json) ;;
        *) die "no call of $1 is written down" ;;
    esac
}
# What no setting may change of the output: times are left out, and of show the memory.
result() { sed 's/,"ms":.*//; /^{"round":[0-9]*,"prefill_ms"/d; /"decode_ms_p50"/d; /^ *"timings"/,$d; s/"timings".*//' out; }

# settings that are refused only by the engine that gets them: a level of another architecture
case $(uname -m) in
    x86_64) foreign=neon ;;
    *) foreign=avx2 ;;
esac

evaluating=0
for verb in $(verbs); do
    "$CARAT" "$verb" --help-all >page 2>&1 || continue
    grep -q -e '--chunk' page || continue # it makes no engine
    evaluating=$((evaluating + 1))
    if ! grep -q -e '--no-profile' page; then
        tr -s ' \n' ' ' <page | grep -q 'carat.json beside the weights is not read: ' ||
            die "$verb does not read carat.json, and its page does not say why"
        continue
    fi
    "$CARAT" help --man "$verb" | grep -q '^.B MODEL/carat.json' || die "the page of $verb does not know the file"
    if [ "$verb" = serve ]; then # it ends by a mistake, or by a signal
        echo "{\"prefill\": {\"isa\": \"$foreign\"}}" >"$model/carat.json"
        refuse 2 serve "$model" --port 0
        err_has "isa is \"$foreign\""
        echo '{"prefill": {"threds": 2}}' >"$model/carat.json"
        refuse 2 serve "$model" --port 0
        err_has 'carat.json: prefill.threds: no such setting'
        continue
    fi
    call "$verb"
    rm -f "$model/carat.json"
    expect 0 "${words[@]}" <lines
    result >plain
    [ -s plain ] || die "$verb gives nothing to compare"
    echo '{"prefill": {"chunk": 3, "threads": 1, "isa": "ref"}, "decode": {"threads": 2}}' >"$model/carat.json"
    expect 0 "${words[@]}" <lines
    result >with
    [ "$verb" = show ] || same plain with
    echo "{\"prefill\": {\"isa\": \"$foreign\"}}" >"$model/carat.json"
    refuse 2 "${words[@]}" <lines
    err_has "isa is \"$foreign\""
    expect 0 "${words[@]}" --isa ref <lines
    expect 0 "${words[@]}" --no-profile <lines
    result >with
    same plain with
    echo '{"prefill": {"threds": 2}}' >"$model/carat.json"
    refuse 2 "${words[@]}" <lines
    err_has 'carat.json: prefill.threds: no such setting'
    expect 0 "${words[@]}" --no-profile <lines
done
[ "$evaluating" = 13 ] || die "$evaluating verbs evaluate"

# show tells the memory that run reserves
echo '{"prefill": {"chunk": 7, "threads": 3}}' >"$model/carat.json"
expect 0 show "$model" --json
cp out with
expect 0 show "$model" --json --no-profile --chunk 7 -t 3
same with out
expect 0 show "$model" --json --no-profile
differ with out

# each side of a comparison has the file beside its own weights
mkdir other
cp "$tiny"/* other
expect 0 compare "$model" other -p 'Where is the bed?' -n 4
echo '{"decode": 7}' >other/carat.json
for sides in "$model other" "other $model"; do
    # shellcheck disable=SC2086  # two words
    refuse 2 compare $sides -p 'Where is the bed?' -n 4
    err_has 'other/carat.json: decode: expected an object'
done
echo "{\"prefill\": {\"isa\": \"$foreign\"}}" >other/carat.json
refuse 2 compare "$model" other -p 'Where is the bed?' -n 4
expect 0 compare "$model" other -p 'Where is the bed?' -n 4 --test isa=ref
refuse 2 compare "$model" other -p 'Where is the bed?' -n 4 --ref isa=ref
