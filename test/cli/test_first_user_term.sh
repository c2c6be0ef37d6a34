#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_first_user_term.sh: what a first user meets on a terminal, in a loop of a script and in a pipe: an
# answer that stays readable, standard input that is nobody's but the caller's, and rates that are true. Up to
# 20 seconds of processor time: bars come only where something takes long.
. "$CARAT_SOURCE/test/cli/common.bash"

# On any machine slow enough for a bar, which comes after half a second, and after two on a dumb terminal.
slow=(--isa ref -t 1)
# Repetitions of a prompt, the same for a dumb terminal, tokens of an answer, rows of logits.
least=40 dumb=60 answer=100 rows=200
[ -z "${CARAT_CFLAGS:-}" ] || least=15 dumb=20 answer=30 rows=100 # sanitizers take three times as long
repeated() { for _ in $(seq "$1"); do printf 'Turn on the kitchen lights. '; done; }
"$CC" $CARAT_CFLAGS -O1 -o terminal "$CARAT_SOURCE/test/cli/terminal.c" || exit 77
code=0
./terminal 80 raw true || code=$?
[ $code != 99 ] || exit 77 # no pseudo-terminals here

# 1. seconds of generation on a terminal: the text in whole words, no escape in it but what wipes a word at
# the end of a line, and nothing else on the screen
words() { tr -s ' \r\n' '\n' <"$1"; }
whole_words() { # columns
    same <(tr -d ' \r\n' <plain) <(tr -d ' \r\n' <shown)
    words plain | awk -v most="$1" 'length < most' | sort >wanted
    [ "$(wc -l <wanted)" -gt 3 ] || die 'too few words'
    words shown | sort | comm -23 wanted - >broken
    [ ! -s broken ] || die "words are broken: $(cat broken)"
    ! awk -v most="$1" 'length > most' shown | grep -q . || die "a line is wider than $1"
}
generate=(run tiny --ignore-eos -n "$answer" --seed 1 --temp 1 --no-perf "${slow[@]}")
expect 0 "${generate[@]}" --ids 2
cp out plain
for columns in 80 40; do
    ./terminal $columns raw "$CARAT" "${generate[@]}" --ids 2 >shown 2>err || die 'it fails on a terminal'
    whole_words $columns
    ! sed 's/\x1b\[[0-9]*D\x1b\[K//g' raw | grep -q $'[\r\x1b]' || die 'the text has escapes'
done
# the same behind a prompt that takes long enough for a bar of its own
prompt=$(repeated "$least")
generate+=(-p "$prompt")
expect 0 "${generate[@]}"
cp out plain
./terminal 80 raw "$CARAT" "${generate[@]}" >shown 2>err || die 'it fails on a terminal'
whole_words 80

# what is wider than the terminal goes on in the next line, in whole words; elsewhere nothing is folded
for verb in show verify; do
    expect 0 $verb tiny
    [ "$(awk '{ if (length > n) n = length } END { print n }' out)" -gt 72 ] || die "$verb says nothing that is wide"
    for columns in 72 40; do
        ./terminal $columns raw "$CARAT" $verb tiny >shown 2>err || die "$verb fails on a terminal"
        [ "$(words shown)" = "$(words out)" ] || die "$verb on $columns columns divides a word: $(cat shown)"
        # lines of a bar, which begin anew, apart
        awk -v most=$columns '{ sub(/\r$/, "") } length > most && !/\r/ { exit 1 }' raw || die "$verb is wider than $columns: $(cat raw)"
    done
done

# help, too, and at most 100 columns wide; what it is elsewhere is test_usage.sh's
for columns in 40 80 120; do
    COLUMNS=$((columns < 100 ? columns : 100)) expect 0 help run
    ./terminal $columns raw "$CARAT" help run >shown 2>err || die 'help fails on a terminal'
    tr -d '\r' <raw >shown
    same out shown
done

# 2. standard input belongs to the caller when the prompt is on the command line
lines() { [ "$(wc -l <"$1")" = "$2" ] || die "$3: $(wc -l <"$1") lines, expected $2"; }
quiet() { [ ! -s "$1" ] || die "a word for nothing: $(head -n 1 "$1")"; }
printf '%s\n' 'Turn on the kitchen lights' 'What time is it?' 'Play some jazz' >prompts
while read -r line; do "$CARAT" run tiny "$line" -n 9 </dev/null; done <prompts >wanted
lines wanted 3 'one answer a line'
while read -r line; do "$CARAT" run -m tiny -p "$line" -n 9; done <prompts >out 2>err
same wanted out
quiet err
while read -r line; do "$CARAT" run tiny "$line" -n 9; done <prompts >out 2>err
same wanted out
quiet err
cat prompts | while read -r line; do "$CARAT" run -m tiny "$line" -n 9; done >out 2>err
same wanted out
cat prompts | while read -r line; do "$CARAT" run tiny -p "$line" -n 9; done >out 2>err
same wanted out
quiet err
cat >script <<'EOF'
"$CARAT" run tiny 'Turn on the kitchen lights' -n 9
"$CARAT" run tiny -p 'What time is it?' -n 9
"$CARAT" run -m tiny 'Play some jazz' -n 9
EOF
export CARAT
bash -s <script >out 2>err
same wanted out
# beside PROMPT a pipe that brings something is appended, with one note; what takes the rest of a loop says so
cat prompts | while read -r line; do "$CARAT" run tiny "$line" -n 9; done >out 2>err
lines out 1 'a pipe in a loop'
printf 'note: 32 bytes of standard input appended to the prompt; with -p PROMPT, or </dev/null, it is not read\n' | cmp -s - err || die "not one note: $(cat err)"
ids_of() { sed 's/.*"prompt_ids":\(\[[^]]*\]\).*/\1/' out; }
expect 0 run tiny $'Say it\n\nPlay some jazz\n' -n 0 --json
wanted=$(ids_of)
sed -n 3p prompts >last
"$CARAT" run tiny 'Say it' -n 0 --json <last >out 2>err
[ "$(ids_of)" = "$wanted" ] || die 'a file at its beginning is not appended'
grep -qx 'note: 15 bytes of standard input appended to the prompt; with -p PROMPT, or </dev/null, it is not read' err || die 'no note'
for given in '-p|Say it' '-m|tiny'; do
    code=0
    if [ "${given%%|*}" = -m ]; then set -- run -m tiny 'Say it'; else set -- run tiny -p 'Say it'; fi
    "$CARAT" "$@" -n 0 --json <last >out 2>err
    [ "$(ids_of)" != "$wanted" ] || die "with ${given%%|*} standard input is read"
    quiet err
done
"$CARAT" run tiny -f last -n 0 --json <last >out
wanted=$(ids_of)
"$CARAT" run tiny - -n 0 --json <last >out 2>err
[ "$(ids_of)" = "$wanted" ] || die '- is not standard input'
quiet err
"$CARAT" run -m tiny - -n 0 --json < <(cat last) >out 2>err
[ "$(ids_of)" = "$wanted" ] || die '- is not standard input behind -m'
refuse 2 run - -
# a parent that leaves a pipe open
mkfifo open
exec 3<>open
for given in 'run tiny hi' 'run tiny -p hi' 'run -m tiny hi' 'run tiny --ids 2' 'run tiny -f last'; do
    timeout 30 "$CARAT" $given -n 3 <open >out 2>err || die "$given: waits for a pipe that nobody writes to"
    lines out 1 "$given"
done
exec 3>&-

# 3. the text ends with one newline wherever it goes; speed is no part of it
"$CARAT" run tiny 'Turn on the kitchen lights' >out 2>&1
lines out 1 'text and messages together'
[ "$(tail -c 1 out | wc -l)" = 1 ] || die 'the text does not end with a newline'
! grep -q 'tok' out || die 'speed without a terminal'
printf 'hi\nho\n' | xargs -n 1 "$CARAT" run -m tiny -n 4 >out 2>&1
lines out 2 'answers of xargs'
./terminal -2 80 raw "$CARAT" run tiny hi -n 4 >shown
! grep -q 'tok' shown || die 'speed though the text goes elsewhere'
expect 0 run tiny hi -n 4 -v
err_has '^prompt [0-9]* tokens ([0-9.]* tok/s), generation 4 tokens ([0-9.]* tok/s)$'
for columns in 200 80 40; do
    ./terminal $columns raw "$CARAT" run tiny hi -n 4 --temp 1 -v >shown
    grep -q 'prompt [0-9]* tokens (' shown || die 'no speed on a terminal'
    grep -q 'seed [0-9]' shown || die 'no seed on a terminal'
    sed 1d shown | awk -v most=$columns '{ if (length > 79 || length >= most) exit 1 }' || die "a line wider than $columns"
done
./terminal 80 raw "$CARAT" run tiny hi -n 4 --no-perf >shown
lines shown 1 '--no-perf'

# 5. rates: tokens whose passes the time contains
field() { sed "s/.*\"$1\":\([^,}]*\).*/\1/" out; }
is_rate() { # a rate is TOKENS over milliseconds
    awk -v n="$2" -v ms="$(field "$3")" -v rate="$(field "$1")" \
        'BEGIN { x = n * 1000 / ms; exit !(rate > x * 0.999 && rate < x * 1.001) }' ||
        die "$1 is $(field "$1"), not $2 tokens in $(field "$3") ms"
}
expect 0 run tiny hi -n 1 --ignore-eos --json
[ "$(field predicted_per_second)" = null ] || die 'a rate without a pass'
expect 0 run tiny hi -n 1 --ignore-eos -v
err_has 'generation 1 token$'
expect 0 run tiny hi -n 5 --ignore-eos --json
is_rate predicted_per_second 4 predicted_ms
is_rate prompt_per_second "$(field prompt_n)" prompt_ms
! grep -q '"seed"' out || die 'a random seed that decided nothing'
expect 0 run tiny hi -n 5 --temp 1 --json
out_has '"seed":[0-9]'
expect 0 run tiny hi -n 5 --temp 1 --top-k 1 --json
! grep -q '"seed"' out || die 'a random seed that decided nothing'
# a prompt that is cancelled counts for what was evaluated of it; later where the machine needs longer to
# begin
ids=2
for i in $(seq 1 500); do ids=$ids,$((i * 37 % 250 + 6)); done
for i in 1 2; do ids=$ids,$ids; done
for delay in 0.5 2 8; do
    code=0
    timeout --foreground -s INT $delay "$CARAT" run tiny --ids "$ids" -c 2048 -n 1 --json "${slow[@]}" --chunk 8 >out 2>err || code=$?
    if [ -s out ]; then break; fi
done
if [ $code = 124 ]; then
    out_has '"stop":"cancelled"'
    n=$(field prompt_n)
    [ "$n" -lt 2004 ] || die "all $n tokens were evaluated"
    if [ "$n" = 0 ]; then
        [ "$(field prompt_per_second)" = null ] || die 'a rate without a pass'
    else
        is_rate prompt_per_second "$n" prompt_ms
    fi
fi

# 12. bars are narrower than their terminal (test_bar.c has every width), and lines where it is dumb
for columns in 40 10; do
    ./terminal -2 $columns raw "$CARAT" run tiny -p "$prompt" -n 1 --chunk 8 "${slow[@]}" >shown 2>err || die 'it fails on a terminal'
    tr '\r' '\n' <raw | sed 's/\x1b\[K//' >drawn
    grep -q '^prompt' drawn || die "no bar at $columns columns"
    awk -v most=$columns '{ if (length >= most) exit 1 }' drawn || die "a bar wider than $columns: $(head -n 3 drawn)"
done
# neither a message nor output on the same terminal lands behind one
short=$(printf '%s' "$ids" | cut -d, -f1-$rows)
./terminal 200 raw "$CARAT" logits tiny --ids "$short" --all --top 1 --chunk 8 "${slow[@]}" >shown 2>err || die 'it fails on a terminal'
grep -q $'\revaluating' raw || die 'no bar'
lines shown $rows 'rows of logits'
! grep -v '^[0-9]*[[:space:]]*[0-9]*[[:space:]]*[-0-9.]*[[:space:]]*"' shown >&2 || die 'output behind a bar'
TERM=dumb ./terminal -2 80 raw "$CARAT" run tiny -p "$(repeated $dumb)" -n 1 --chunk 8 "${slow[@]}" >shown 2>err || die 'it fails on a terminal'
! grep -q $'[\r\x1b]' raw || die 'a bar that a dumb terminal cannot show'
exit 0
