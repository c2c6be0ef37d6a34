#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_lookup.sh: drafts at the command line: what is generated with and without them, the options of
# llama.cpp that mean them, what contradicts itself, and `carat bench --draft-right`. No time is judged.
. "$CARAT_SOURCE/test/cli/common.bash"

# repeats itself, so that there is something to draft
prompt='one two three four one two three four one two three'
for how in '--temp 0' '--seed 5' '--seed 6 --temp 2' '--ignore-eos --seed 7'; do
    # shellcheck disable=SC2086  # words of a command line
    for with in '--lookup off' '--lookup on' '--lookup auto' '--naive' '--lookup on --draft-max 1' '--lookup on --draft-min 3' \
        '--lookup on --chunk 1' '--lookup on --chunk 3 -t 1' '--spec-type ngram-mod' '--spec-type none' '--draft-max 0'; do
        expect 0 run tiny --raw "$prompt" -n 96 --json $how $with
        sed 's/,"timings":.*//' out >"ids of $with"
        cmp -s 'ids of --lookup off' "ids of $with" || die "$how: other ids with $with"
    done
done
expect 0 run tiny --raw "$prompt" -n 96 --json --temp 0 --ignore-eos --lookup on
out_has '"draft_n":[1-9][0-9]*,'
out_has '"draft_n_accepted":[1-9]'
out_has '"draft_gained_ms":'
expect 0 run tiny --raw "$prompt" -n 96 --temp 0 --ignore-eos --lookup on -v
err_has 'drafts [1-9][0-9]* of [1-9][0-9]* right'
expect 0 run tiny --raw "$prompt" -n 96 --json --temp 0 --ignore-eos --lookup off
if grep -q draft_n out; then die "drafts that are off"; fi

# as llama.cpp has them
expect 0 run tiny --raw "$prompt" -n 4 --spec-type ngram-map-k --draft-n 16 --draft-n-min 1
err_has 'a pass verifies 7 ids of a draft'
[ "$(grep -c 'a pass verifies' err)" = 1 ] || die 'the note comes more than once'
expect 0 run tiny --raw "$prompt" -n 4 --draft-max 5 --chunk 4
err_has 'a pass verifies 3 ids of a draft'
expect 0 run tiny --raw "$prompt" -n 4 --draft-max 7 --draft-min 7
[ ! -s err ] || die 'a note without need'
expect 0 run tiny --raw "$prompt" -n 4 --draft-max 99 --lookup off
[ ! -s err ] || die 'a note about drafts that are off'

for wrong in '--lookup on --naive' '--spec-type ngram-simple --naive' '--lookup off --spec-type ngram-cache' '--lookup on --spec-type none' \
    '--lookup on --draft-max 0' '--draft-min 8' '--draft-max 3 --draft-min 4' '--lookup maybe' '--spec-type draft' '--draft-max -1'; do
    # shellcheck disable=SC2086  # words of a command line
    refuse 2 run tiny Hi $wrong
done

expect 0 bench tiny --draft-right 0.7 -p 20 -n 24 -r 2
out_has '^tiny: 1 generations of 24 tokens behind 20, drafts right with probability 0.7; 2 runs$'
for row in 'carat_step and carat_sample' 'generations without drafts' 'generations with drafts'; do out_has "^| $row "; done
expect 0 bench tiny --draft-right 1 -n 16 -r 2 -npl 3 -t 1 --lookup on --draft-max 5 --json
for t in '"n_parallel":3,' '"n_gen":16,' '"draft_right":1.0,' '"loop":{"median_ts":' '"drafted":{"median_ts":'; do out_has "$t"; done
drafted=$(sed 's/.*"drafted":\([0-9]*\),.*/\1/' out)
[ "$drafted" -gt 0 ] || die 'nothing was drafted'
out_has "\"accepted\":$drafted,"
for wrong in '-d 4' '-pg 8,8' '-fa 1' '--prompt x' '--compare x' '--plot x' '--profile' '-n 8,9' '-p 0' '-npl 257' '-t 1,2' '-o csv' \
    '--json -o md' '--lookup off' '--draft-max 0'; do
    # shellcheck disable=SC2086  # words of a command line
    refuse 2 bench tiny --draft-right 0.5 $wrong
done
for a in -1 1.1 x; do refuse 2 bench tiny --draft-right "$a"; done
refuse 1 bench tiny --draft-right 0.5 -n 100000
err_has 'E_CONTEXT'

# a drafter: the same ids, whoever proposes and however often it is right
tiny4=$CARAT_SOURCE/test/fixtures/tiny4
for how in '--temp 0' '--seed 5' '--seed 6 --temp 1.5 --repeat-penalty 1.2'; do
    # shellcheck disable=SC2086  # words of a command line
    for with in '--lookup off' '-md DRAFTER' '--model-draft DRAFTER --spec-type draft-mtp' '-md DRAFTER --lookup on' \
        '-md DRAFTER --spec-type draft-simple --draft-max 2' '-md DRAFTER --spec-type none' '--spec-draft-model DRAFTER --lookup off'; do
        expect 0 run "$tiny4" 'Turn on the kitchen lights' -n 48 --json $how ${with/DRAFTER/$tiny4-assistant}
        sed 's/,"timings":.*//' out >"ids of ${with// /_}"
        cmp -s 'ids of --lookup_off' "ids of ${with// /_}" || die "$how: other ids with $with"
    done
done
expect 0 run "$tiny4" 'Turn on the kitchen lights' -n 48 --temp 0 -md "$tiny4-assistant" --spec-type draft-mtp -v --stats
err_has 'drafts of the drafter [1-9][0-9]* of [1-9][0-9]* right'
err_has 'of the drafter  *[1-9][0-9]* drafted, [1-9][0-9]* accepted'
expect 0 run "$tiny4" 'Turn on the kitchen lights' -n 48 --temp 0 -md "$tiny4-assistant" --spec-type draft-mtp --json --stats
out_has '"draft_model_n":[1-9][0-9]*,"draft_model_n_accepted":[1-9]'
out_has '"drafter":{"drafted":[1-9]'
expect 0 decode "$tiny4" --ids 2,105,529 --steps 12 --json -md "$tiny4-assistant" --spec-type draft-mtp
out_has '"draft_model_n":[1-9]'
# the embedded model, by its name
for model in tiny "$CARAT_SOURCE/models/tiny"; do
    expect 0 run "$model" 'Turn on the kitchen lights' --temp 0 -md tiny --spec-type draft-simple --json
    out_has '"draft_model_n":[1-9]'
    sed 's/,"timings":.*//' out >"ids of ${model##*/}"
done
expect 0 run tiny 'Turn on the kitchen lights' --temp 0 --json
sed 's/,"timings":.*//' out >plain
same plain 'ids of tiny'
expect 4 run "$CARAT_SOURCE/test/data/vectors/models/gemma3-bf16" --ids 2,5 -md tiny
err_has 'config.json: the drafter has a vocabulary of '
# as many ids, of other texts: whoever opens it
for how in "run $tiny4 Hi" "chat $tiny4" "bench $tiny4 -n 4" "decode $tiny4 --ids 2,5 --steps 2"; do
    for with in tiny "$tiny"; do
        # shellcheck disable=SC2086  # words of a command line
        expect 4 $how -md $with --spec-type draft-simple
        err_has ': the drafter has another vocabulary: its id [0-9]* is "<[a-z_]*>", expected "'
    done
done
for wrong in '--spec-type draft-mtp' "-md $tiny4-assistant --spec-type draft-mtp --naive" "-md $tiny4-assistant --max-layers 2"; do
    # shellcheck disable=SC2086  # words of a command line
    refuse 2 run "$tiny4" Hi $wrong
done
expect 3 run "$tiny4" Hi -md "$tiny4-nobody"
refuse 4 run "$tiny4-assistant" --ids 2,5
err_has 'open the model that it drafts for, and this as its drafter'
refuse 4 run tiny Hi -md "$tiny4-assistant"
err_has "tiny4-assistant: the drafter "
expect 0 bench "$tiny4" -md "$tiny4-assistant" -n 16 -r 2 -t 1 --spec-type draft-mtp --json
out_has '"draft_right":null,'
out_has '"drafted_by_drafter":[1-9]'
expect 0 bench "$tiny4" -md "$tiny4-assistant" --draft-right 0.5 -n 16 -r 2 -t 1
out_has 'right with probability 0.5, drafter tiny4-assistant; 2 runs'
refuse 2 bench "$tiny4" -md "$tiny4-assistant" -d 4
