#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_tool_choice.sh: `run --tool-choice`: calls whatever the model would rather say, the same ids for every
# level, thread and chunk, within every number of tokens; and what is refused.
. "$CARAT_SOURCE/test/cli/common.bash"

cat >tools.json <<'END'
[{"type": "function", "function": {"name": "set_light", "description": "Switches a light", "parameters": {"type": "object",
  "properties": {"room": {"type": "string"}, "state": {"type": "string"}}, "required": ["room", "state"]}}},
 {"type": "function", "function": {"name": "play", "description": "Plays music", "parameters": {"type": "object",
  "properties": {"genre": {"type": "string"}}, "required": ["genre"]}}}]
END

# required: at least one call; a name: that one; both complete within the tokens that there are
for seed in 1 2 3; do
    expect 0 run tiny 'Hello there' --tools tools.json --tool-choice required --seed $seed -n 40 --temp 2 --json
    grep -qE '"calls":\[\{"name":"(set_light","arguments":\{.*"room"|play","arguments":\{"genre")' out || die "no call: $(cat out)"
    expect 0 run tiny 'Hello there' --tools tools.json --tool-choice play --seed $seed -n 14 --temp 2 --json
    grep -qE '"calls":\[\{"name":"play","arguments":\{"genre":"[^"]*"\}\}\]' out || die "no call of play: $(cat out)"
    ids=$(sed -n 's/.*"ids":\[\([0-9,]*\)\].*/\1/p' out | tr , '\n' | wc -l)
    [ "$ids" -le 14 ] || die "$ids tokens"
    grep -q '"forced":[0-9]' out || die 'forced is not told'
done

# the same tokens, however they are computed
expect 0 run tiny 'Hello there' --tools tools.json --tool-choice required --seed 7 -n 60 --temp 1 --raw-calls
cp out first
for way in '--isa ref' '-t 1' '--chunk 3' '--naive' '--lookup on' '--lm-head exact-pruned'; do
    # shellcheck disable=SC2086  # an option and its value
    expect 0 run tiny 'Hello there' --tools tools.json --tool-choice required --seed 7 -n 60 --temp 1 --raw-calls $way
    same first out
done

# auto changes no answer that fits, none lets no call begin
expect 0 run tiny 'Hello there' --tools tools.json --seed 7 -n 60
cp out first
expect 0 run tiny 'Hello there' --tools tools.json --tool-choice auto --seed 7 -n 60
same first out
expect 0 run tiny 'Turn on the lights in the kitchen.' --tools "$CARAT_SOURCE/models/tiny/tools.json" --tool-choice none \
    --temp 0 -n 60 --json
! grep -q '"name"' out || die "a call with none: $(cat out)"

# the whole conversation goes on: behind results a call is not required any more
printf '#!/bin/sh\ncat >/dev/null\necho done\n' >tool.sh
chmod +x tool.sh
expect 0 run tiny 'Turn on the lights in the kitchen.' --tools tools.json --tool-choice set_light --tool-command ./tool.sh \
    --temp 0 -n 60 --tool-rounds 2 --json
! grep -q '"stop":"constraint"' out || die 'it went no further'

# so in a conversation: each message is answered by a call, and its result by what the model likes
printf 'Turn on the lights in the kitchen.\nDo it again.\n' >lines.txt
expect 0 chat tiny --tools tools.json --tool-choice set_light --tool-command ./tool.sh --temp 0 -n 80 <lines.txt
[ "$(grep -c '"name":"set_light"' out)" = 2 ] || die "not a call for each message: $(cat out)"
[ "$(grep -vc '"name"' out)" -ge 2 ] || die "no answers to results: $(cat out)"

# what is refused, before anything is drawn
expect 2 run tiny 'Hello there' --tools tools.json --tool-choice play -n 5
err_has 'the shortest answer of this form takes 11 tokens, and at most 5 may come'
expect 2 run tiny 'Hello there' --tools tools.json --tool-choice sing
err_has 'option --tool-choice: tool_choice "sing" is none of the tools'
expect 2 run tiny 'Hello there' --tool-choice required
err_has 'option --tool-choice needs --tools'
expect 2 run tiny 'Hello there' --tools tools.json --tool-choice required --ignore-eos
err_has 'options --ignore-eos and --tool-choice: an answer that has a form ends where that ends'
printf '[{"type": "function", "function": {"name": "a{b", "parameters": {}}}]' >odd.json
expect 2 run tiny 'Hello there' --tools odd.json --tool-choice required
err_has 'holds '\''{'\'', which is part of the syntax of calls'

# each token that would fit is banned: the answer ends, and says why
expect 1 run tiny 'Hello there' --tools tools.json --tool-choice required -l 48-inf
err_has 'each token that the form of the answer allows is banned'
