#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_forms.sh: `run` with a schema, a grammar or an expression: answers fit whatever is drawn and however
# few tokens there are; the same ones in every way to compute them; calls have the types that are declared;
# and what is refused, with its place.
. "$CARAT_SOURCE/test/cli/common.bash"

wild=(--temp 3 --top-k 0 --top-p 1)

# a schema: each answer has the keys in their order, and numbers in their range
schema='{"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer",
  "minimum": 0, "maximum": 120}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 3}},
  "required": ["name", "age"], "additionalProperties": false}'
fits='^\{"name": "([^"\\]|\\.)*", "age": (0|[1-9][0-9]?|1[01][0-9]|120)(, "tags": \["[ab]"(, "[ab]"){0,2}\])?\}$'
for seed in 1 2 3 4 5 6; do
    expect 0 run tiny 'Hello' -j "$schema" --json-ws dumps --seed $seed -n $((12 + 8 * seed)) "${wild[@]}"
    grep -qE "$fits" out || die "does not fit: $(cat out)"
done
printf '%s' "$schema" >schema.json
cp out first
expect 0 run tiny 'Hello' --json-schema-file schema.json --json-ws dumps --seed 6 -n 60 "${wild[@]}"
same first out
for way in '--isa ref' '-t 1' '--chunk 3' '--naive' '--lookup on' '--lm-head exact-pruned'; do
    # shellcheck disable=SC2086  # an option and its value
    expect 0 run tiny 'Hello' -jf schema.json --json-ws dumps --seed 6 -n 60 "${wild[@]}" $way
    same first out
done
printf '%s' '{"name": "x", "age": 7}' >right
expect 0 grammar schema.json --check-file right
printf '%s' '{"name": "x", "age": 121}' >wrong
expect 7 grammar schema.json --check-file wrong

# an expression for the whole answer; a grammar
for seed in 1 2 3; do
    expect 0 run tiny 'Hello' --regex '[A-Z][a-z]{2,6}, (yes|no)\.' --seed $seed -n 20 "${wild[@]}"
    grep -qE '^[A-Z][a-z]{2,6}, (yes|no)\.$' out || die "does not fit: $(cat out)"
    expect 0 run tiny 'Hello' --grammar 'root ::= "answer: " ("left" | "right") " " [0-9]+' --seed $seed -n 14 "${wild[@]}"
    grep -qE '^answer: (left|right) [0-9]+$' out || die "does not fit: $(cat out)"
done

# calls have the types that are declared, keys once and in any order
cat >tools.json <<'TOOLS'
[{"type": "function", "function": {"name": "set", "parameters": {"type": "object", "properties": {
  "room": {"type": "string", "enum": ["kitchen", "attic"]}, "level": {"type": "integer", "minimum": 1, "maximum": 9},
  "on": {"type": "boolean"}}, "required": ["room", "level"]}}}]
TOOLS
for seed in 1 2 3 4 5 6; do
    expect 0 run tiny 'Hello' --tools tools.json --tool-choice required --seed $seed -n 40 "${wild[@]}"
    for argument in '"room":"(kitchen|attic)"' '"level":[1-9][,}]'; do
        [ "$(grep -cE "$argument" out)" = "$(wc -l <out)" ] || die "no $argument: $(cat out)"
    done
    ! grep -qE '"on":[^tf]|"room".*"room"' out || die "another type, or a key twice: $(cat out)"
done

# what is refused, with its place
while IFS='|' read -r option value says; do
    expect 2 run tiny 'Hello' "$option" "$value"
    err_has "$says"
done <<'CASES'
--json-schema|{"properties": {"room": {"pattern": "a("}}}|properties.room.pattern: byte
--json-schema|{"properties": {"room": {"not": {}}}}|properties.room.not: this keyword is not supported
--json-schema|{"enum": []}|enum
--json-schema|{"$ref": "https://example.com/a.json"}|\$ref
--json-schema|{|
--regex|[A-Z|byte 0: found \[ without its \]
--regex|(?<=x)y|byte
--grammar|x ::= "a"|root
--grammar|root ::= y|y
--grammar|root ::= root "a" \| "b"|left recursion
CASES
expect 2 run tiny 'Hello' --regex a --grammar 'root ::= "a"'
err_has 'options --grammar and --regex: an answer has one form'
expect 2 run tiny 'Hello' --json-ws dumps
err_has 'option --json-ws needs --json-schema'
expect 2 run tiny 'Hello' --regex 'a{100}' -n 3
err_has 'the shortest answer of this form takes'

# ---- Ctrl-C while a form is compiled ----

. "$CARAT_SOURCE/test/cli/interrupt.bash"
patterns='' kinds=''
for ((i = 0; i < 30; i++)); do patterns+=",{\"pattern\":\"a{1,200}b$i\"}"; done
for ((i = 0; i < 20; i++)); do kinds+=",\"p$i\":{\"anyOf\":[${patterns:1}]}"; done
echo "{\"type\":\"object\",\"properties\":{${kinds:1}}}" >long.json
interrupt_at 0.05 run tiny 'Hello' --json-schema-file long.json
interrupt_at 0.05 grammar long.json
grep -q 'E_CANCELLED: compiling the form was cancelled' err || die "$(cat err)"
