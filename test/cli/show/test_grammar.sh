#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_grammar.sh: `carat grammar`: what a form costs, whether a text fits it and where it stops fitting; exit
# codes; what cannot be read.

. "$CARAT_SOURCE/test/cli/common.bash"

data=$CARAT_SOURCE/test/data/grammar
# has LINE: a line of the output, whatever stands between its words.
has() {
    tr -s ' ' <out | grep -qxF -- "$1" || die "no line '$1' in: $(cat out)"
}

# ---- what it costs ----

expect 0 grammar "$data/list.gbnf"
has 'form grammar'
has 'rules 2'
out_has '^states  *[1-9][0-9]*$'
out_has '^shortest  *[1-9][0-9]* tokens$'
out_has '^compiled in  *[0-9]*\.[0-9][0-9] ms$'
expect 0 grammar - tiny --json <"$data/json.gbnf"
for key in form rules states shortest seconds; do out_has "\"$key\":"; done
if grep -q fits out; then die 'an answer without a question'; fi

# ---- a text ----

expect 0 grammar "$data/list.gbnf" --check $'- a\n- \xe2\x82\xac\n'
has 'the text fits'
expect 7 grammar "$data/list.gbnf" --check $'- a\n-b\n'
has 'the text stops fitting at byte 5, line 2, column 2'
expect 7 grammar "$data/list.gbnf" --check $'- a\n- b'
has 'the text is a beginning: 1 tokens are missing at least'
expect 7 grammar "$data/list.gbnf" --check ''
out_has 'is a beginning'
printf '{"a": [1, 2.5e3, "\\u00e9"]}' >good.json
printf '{"a": [1, 2.5e3, \xff]}' >bad.json
expect 0 grammar "$data/json.gbnf" --check-file good.json --json
out_has '"fits":true,"fitted_bytes":27,"missing":0}'
expect 7 grammar "$data/json.gbnf" --check-file bad.json --json
out_has '"fits":false,"fitted_bytes":17}'

# ---- kinds of forms ----

echo '[a-c]{2,3}(x|y)?' >pattern
expect 0 grammar pattern --as regex --check abcx
has 'form regular expression'
expect 7 grammar pattern --as regex --check abcdx
has 'the text stops fitting at byte 3, line 1, column 4'

# ---- what is refused ----

# refused WORDS ARGUMENTS...
refused() {
    refuse 2 "${@:2}"
    err_has "$1"
}
echo 'root ::= x' >unknown.gbnf
echo 'root ::= root "a" | "b"' >left.gbnf
echo 'root ::= "a" root' >none.gbnf
printf 'root ::= "a\0"' >nul.gbnf
: >empty.gbnf
refused 'line 1, column 10: found the rule x that is defined nowhere' grammar unknown.gbnf
refused 'the rule root begins with itself (left recursion)' grammar left.gbnf
refused 'no text fits' grammar none.gbnf
refused 'line 1, column 12: found NUL' grammar nul.gbnf
refused 'found no rule with the name root' grammar empty.gbnf
refused 'byte 0: found [*]' grammar --as regex - <<<'*'
refused 'not: this keyword is not supported' grammar - <<<'{"not":{}}'
refused '--check and --check-file' grammar "$data/list.gbnf" --check a --check-file good.json
refused 'a file' grammar
refuse 1 grammar absent.gbnf
