#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_usage.sh: mistakes on the command line, help and version: exit codes and one finished sentence each.
. "$CARAT_SOURCE/test/cli/common.bash"

refuse 2
refuse 2 rnu tiny
err_has 'did you mean run'
refuse 2 frobnicate
err_has 'carat help'

# what names something is not empty, whichever way it is given; a prompt may be
empty() { # what the message says, words
    refuse 2 "${@:2}"
    err_has "$1"
}
empty 'run: MODEL is empty' run ''
empty 'chat: MODEL is empty' chat ''
empty 'show: MODEL is empty' show ''
empty 'compare: REF is empty' compare '' -p hi
empty 'compare: TEST is empty' compare tiny '' -p hi
empty 'convert: OUT is empty' convert tiny ''
empty 'quantize: IN is empty' quantize '' x.gguf q4_0
empty 'pull: NAME is empty' pull x/y ''
empty 'rm: NAME is empty' rm ''
empty 'cp: NEW is empty' cp tiny ''
empty 'bench: MODEL is empty' bench lm-head ''
empty 'replay: RECEIPT is empty' replay '' tiny
empty 'eval: FILE is empty' eval -m tiny ''
empty 'option -m is empty, expected MODEL' run -m '' hi
empty 'option -f is empty, expected FILE' run tiny -f ''
empty 'option --receipt is empty' run tiny hi --receipt ''
empty 'option -md is empty' run tiny hi -md ''
expect 0 run tiny '' -n 1
expect 0 run -m tiny '' -n 1
expect 0 tokenize tiny ''

# unknown options, with the nearest that the verb has
refuse 2 run tiny hi --tempp 1
err_has 'did you mean --temp?'
refuse 2 run tiny hi --temperatures=1
err_has 'did you mean --temp?'
refuse 2 logits tiny --chunks 3
err_has 'did you mean --chunk?'
refuse 2 run tiny hi -x
refuse 2 tokenize tiny hi --temp 1 # belongs to another verb

# values: missing, not a number, out of range; the message names option and value
for value in abc '' ' 5' 5x 1e3 0x10 +5 9999999999999999999 99999999999 -5 --json; do
    refuse 2 run tiny hi -n "$value"
    err_has 'option -n'
done
for value in nan inf -1 x 1x '' 0x1p3; do
    refuse 2 run tiny hi --temp "$value"
    err_has 'option --temp'
done
refuse 2 run tiny hi --top-p 2
refuse 2 run tiny hi --top-p=-0.1
refuse 2 run tiny hi --seed 99999999999999999999
err_has "option --seed: '99999999999999999999'"
refuse 2 run tiny hi --seed -2
refuse 2 run tiny hi --kv q4
err_has "option --kv: 'q4' must be one of bf16, f16, f32, q8"
refuse 2 run tiny hi --kv ''
refuse 2 run tiny hi --kv 'bf16|f16'
refuse 2 run tiny hi -n 99999999999999999999
err_has 'option -n: .* is not a whole number from -1 to 2147483647'
refuse 2 run tiny hi --top-p 2
err_has 'is not a number from 1e-06 to 1'
refuse 2 run tiny hi -n
err_has 'needs a value'
refuse 2 run tiny hi --json=1
refuse 2 run tiny hi --isa mmx

# arguments
refuse 2 run
err_has 'needs a model'
refuse 2 run tiny two words
err_has 'one argument too many'
refuse 2 run -m tiny two words
refuse 2 serve tiny other
err_has "serve: 'other' is one argument too many: it takes one model each, and --port puts another beside it"
refuse 2 serve -m tiny other
err_has 'it takes one model each'
refuse 2 render tiny other
err_has 'it takes one model each'
refuse 2 run two words -m tiny
refuse 2 run tiny hi --prompt ho
refuse 2 run tiny --prompt ho --file x
# the context: beyond what the model was made for, beyond what a number holds, too small for the prompt
refuse 2 run tiny hi -c 2147483648
refuse 2 run tiny hi -c -1
refuse 2 run tiny hi -c 1000000
err_has 'context'
refuse 1 run tiny hi -c 1
err_has '^error: E_CONTEXT: the prompt has [0-9]* tokens and the context 1 positions; -c [0-9]* makes room for it'
expect 0 run tiny hi -n 1 -c "$(sed -n 's/.*; -c \([0-9]*\) makes.*/\1/p' err)"
expect 0 run tiny hi -n 1 -c 0
# one standard input, two readers
for arguments in 'run - -f -' 'run -' 'run tiny -f - -sysf -' 'run tiny hi --tools - -sysf -' 'tokenize -' 'detokenize -m -' \
    'render - --messages -' 'render tiny --messages - --tools -' 'tokenize - --jsonl -'; do
    refuse 2 $arguments
    err_has 'cannot both be standard input'
done
refuse 2 run tiny hi --ids 2
refuse 2 run tiny hi --raw -sys x
refuse 2 show tiny tiny
refuse 2 logits tiny
err_has -- '--ids'
for ids in '' ',' '2,x' '2,-1' '2,99999999999' '2,1.5' '2;5'; do
    refuse 2 logits tiny --ids "$ids"
done
refuse 2 logits tiny --ids 2,2000000000
refuse 2 logits tiny --ids 2 --naive --chunk 4
refuse 2 render tiny
refuse 2 bench tiny -p 0 -n 0
refuse 2 tokenize tiny text --jsonl file
refuse 2 run tiny hi --isa $'two\nlines'

# everything that helps goes to standard output and succeeds
verbs=$(verbs)
for help in help --help -h; do
    for columns in 40 80 ''; do # a heading for a group, a line for a verb, all on one screen; or into a pipe
        COLUMNS=$columns expect 0 $help
        [ "$(wc -l <out)" -le 40 ] || die "$help has $(wc -l <out) lines at $columns columns"
        awk -v n=${columns:-999} 'length >= n {exit 1}' out || die "$help is wider than $columns columns"
        [ "$(grep -cE '^   [a-z]+ +[a-z]' out)" = "$(wc -w <<<"$verbs")" ] || die "$help has not a line for each verb"
        sed -n '3,8p' out | tr -s ' ' | cut -d' ' -f2 | tr '\n' ' ' >first
        grep -qx 'begin run chat bench show doctor ' first || die "$help begins with $(cat first)"
    done
done
expect 0 --help-all
cp out wanted
expect 0 help --help-all
same wanted out
for verb in $verbs; do
    expect 0 help $verb
    out_has "usage: carat $verb"
    cp out wanted
    expect 0 $verb --help
    same wanted out
    expect 0 help $verb --help-all
    cp out wanted
    [ $verb = help ] || { expect 0 $verb --help-all && same wanted out; }
done
refuse 2 help frobnicate
# into a pipe nothing is folded, unless COLUMNS says how wide; columns of options stay, and so do all words
whole() { tr -d ' \n' <out; }
for page in '' $verbs; do
    for all in '' --help-all; do
        expect 0 help $page $all
        whole >wanted
        awk 'substr($0, 1, 28) ~ /^ *$/ && substr(was, 27, 2) == "  " && length($0) > 28 {exit 1} {was = $0}' out || die "help $page $all is folded"
        [ -z "$page" ] || [ "$(grep -c '^usage: ' out)" = 1 ] || die "help $page: the usage is folded"
        for columns in 40 80 120; do
            COLUMNS=$columns expect 0 help $page $all
            awk -v n=$columns '/^examples:/ {exit 0} length >= n {exit 1}' out || die "help $page $all does not fit $columns columns"
            [ "$page$columns" = 40 ] || [ "$(whole)" = "$(cat wanted)" ] || die "help $page $all has other words at $columns columns"
        done
    done
done
COLUMNS=120 expect 0 help run
awk '/^examples:/ {exit} length > 110 {wide = 1} END {exit !wide}' out || die 'help is narrower than COLUMNS'
expect 0 help run
out_has '^ \{28\}generate at most N tokens (default -1: to the end of the context)$'
out_has '^  --json  *print JSON$'
expect 0 version
out_has '^numerics [0-9]'
out_has '^drawing [0-9]'
expect 0 --version
out_has '^carat '
expect 0 version --json
out_has '"numerics":[0-9]'

# after -- an argument may begin with a dash
expect 0 tokenize tiny --json -- --temp
out_has '"ids":\['

# an odd place to start from: no locale, no home, no working directory, a long line of arguments
code=0
env -i "$CARAT" tokenize tiny hi >out 2>err || code=$?
[ "$code" = 0 ] || die "without an environment: $code"
mkdir gone
code=0
(cd gone && rmdir ../gone && "$CARAT" tokenize tiny hi) >out 2>err || code=$?
[ "$code" = 0 ] || die "in a deleted directory: $code"
long=$(head -c 100000 /dev/zero | tr '\0' x)
refuse 2 run tiny "$long" "$long" "$long"
refuse 2 "$long"
refuse 2 run tiny "--$long"
refuse 3 run "$long" hi
# nothing of an argument moves the cursor; letters stay letters
refuse 2 $'a\x1b[2J\xc2\x9b\xff\xc3\xa9'
grep -qF $'\'a\\x1b[2J\\xc2\\x9b\\xff\xc3\xa9\'' err || die 'escapes'

# colours: on a terminal only, unless somebody says otherwise; NO_COLOR beats CLICOLOR_FORCE, --color both
esc=$(printf '\033')
plain() { ! grep -q "$esc" err || die "colours: $*"; }
colored() { grep -q "^$esc\[1;31merror:$esc\[0m E_" err || die "no colours: $*"; }
expect 3 run absent hi
plain default
CLICOLOR_FORCE=1 expect 3 run absent hi
colored CLICOLOR_FORCE
CLICOLOR_FORCE=0 expect 3 run absent hi
plain CLICOLOR_FORCE=0
NO_COLOR=1 CLICOLOR_FORCE=1 expect 3 run absent hi
plain NO_COLOR
for color in --color '--color on' --color=always; do
    NO_COLOR=1 expect 3 run absent hi $color
    colored "$color"
done
for color in '--color never' --color=off; do
    CLICOLOR_FORCE=1 expect 3 run absent hi $color
    plain "$color"
done
refuse 2 run tiny hi --color=red
CLICOLOR_FORCE=1 expect 0 run tiny hi -n 1 --seed 1
! grep -q "$esc" out || die 'colours in the text'
if command -v script >/dev/null; then
    on_terminal() { script -qec "$*" /dev/null </dev/null >err 2>&1 || true; }
    TERM=xterm on_terminal "$CARAT" run absent hi
    colored 'on a terminal'
    TERM=dumb on_terminal "$CARAT" run absent hi
    plain 'on a dumb terminal'
    NO_COLOR=1 TERM=xterm on_terminal "$CARAT" run absent hi
    plain 'NO_COLOR on a terminal'
fi
