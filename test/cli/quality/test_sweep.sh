#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_sweep.sh: `carat sweep` makes, times and compares recipes: its sizes are those of the files, its
# numbers those of `carat compare`, its advice follows the rules of QUALITY.md; what was stopped goes on; and
# each mistake in a recipe is named with its line before anything is made.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way
. "$CARAT_SOURCE/test/cli/interrupt.bash"

sed -n 's/.*"prompt_ids":\(\[[0-9,]*\]\).*"hf_ids":\(\[[0-9,]*\]\).*/{"ids":\1,"answer_ids":\2}/p' \
    "$CARAT_SOURCE/test/data/tiny_heldout.jsonl" >all.jsonl
head -n 3 all.jsonl >data.jsonl
head -n 60 all.jsonl >some.jsonl
cat >recipes.txt <<'E2'
# what is tried
q8_0  --type q8_0

small --type q3_k_m  # few bits
 beaten "--type" 'int8:tensor' --qmax 32
E2
options=(--driver text --n-prompt 8 --n-gen 2 --repetitions 1)
sweep=(sweep tiny --recipes recipes.txt --dataset data.jsonl "${options[@]}")
# of NAME MEMBER: what a sweep.json says of a recipe
of() {
    awk -v name="\"$1\"," -v member="\"$2\":" '$1 == "\"name\":" { on = $2 == name }
        on && $1 == member { sub(/^[^:]*: /, ""); gsub(/[",]/, ""); print; exit }' "${3:-out}/sweep.json"
}
without_times() { sed '/"tokens_per_second"\|"deviation"\|"seconds"\|"others_busy"/d' "$1"; }
advice() {
    local name
    for name in q8_0 small beaten; do of "$name" advice "$1"; done | tr '\n' ','
}

# ---- what it finds ----

expect 0 "${sweep[@]}" --out dir --keep
cp out shown
for name in q8_0 small beaten; do
    for file in recipe.json tensors.json results.jsonl summary.json report.html; do
        [ -s "dir/$name/$file" ] || die "there is no dir/$name/$file"
    done
    expect 0 compare tiny "dir/$name.gguf" --dataset data.jsonl --driver text --out "alone-$name" --no-cache
    same "alone-$name/results.jsonl" "dir/$name/results.jsonl"
    sed '/"timings": {/,/}/d' "alone-$name/summary.json" >a
    sed '/"timings": {/,/}/d' "dir/$name/summary.json" >b
    same a b
    expect 0 convert "dir/$name.gguf" --dry-run x.gguf
    [ "$(of "$name" bytes dir)" = "$(sed -n 's/^[0-9]* tensors, \([0-9]*\) bytes.*/\1/p' out)" ] || die "the size of $name"
done
expect 0 convert tiny q8_0.gguf --type q8_0
same q8_0.gguf dir/q8_0.gguf
[ "$(advice dir)" = 'best of its size,recommended,not recommended,' ] || die "advice: $(advice dir)"
grep -q '^+ q8_0 .*  *100.00  *-$' shown || die "the table: $(cat shown)"
grep -q '^\* small ' shown || die "the table: $(cat shown)"
grep -q '^  beaten ' shown || die "the table: $(cat shown)"
grep -q '^recommended: small$' shown || die "the table: $(cat shown)"
[ "$(awk 'length > 80' shown)" = '' ] || die 'the table is wider than a terminal'
grep -q '<a href="small/report.html">small</a>' dir/report.html || die 'the page leads nowhere'
grep -q '<h1>Recommended: small</h1>' dir/report.html || die 'the page recommends nothing'
# its tensors: those whose values changed, with what tensors.json says of them
for name in q8_0 small beaten; do
    changed=$(grep -c '"rms_error": [0-9.e-]*[1-9]' "dir/$name/tensors.json")
    [ "$changed" -gt 3 ] || die "tensors.json of $name"
    [ "$(sed -n "/<summary><b>$name</,/<.details>/p" dir/report.html | grep -c '^<tr><th>')" = "$changed" ] ||
        die "the page has other tensors of $name, expected $changed"
done
sed -n '/<summary><b>small</,/<.details>/p' dir/report.html | grep -q '"type"><bdi>Q3_K' || die 'the page does not say the types'
! sed 's|xmlns="http://www.w3.org/2000/svg"||g' dir/report.html | grep -E 'script|http:|src=' || die 'the page loads something'

# ---- the same once more, of what DIR has ----

cp dir/sweep.json before.json
cp dir/report.html before.html
touch -d 2001-02-03 dir/q8_0/tensors.json
expect 0 "${sweep[@]}" --out dir --keep
same before.json dir/sweep.json
same before.html dir/report.html
same out shown
[ ! -s err ] && [ dir/q8_0/tensors.json -ot recipes.txt ] || die 'what was there was made again'
COLUMNS=40 expect 0 "${sweep[@]}" --out dir
[ "$(awk 'length > 40' out)" = '' ] || die 'not as narrow as the terminal'
out_has '^  not recommended$'
expect 0 "${sweep[@]}" --out dir --json
out_has '^{"source":{"name":"source",'

# limits change what is healthy, and nothing is evaluated again
expect 0 "${sweep[@]}" --out dir --limits kl=1e-9:1
[ "$(advice dir)" = 'acceptable where size is critical,acceptable where size is critical,not recommended,' ] || die "advice: $(advice dir)"
out_has '^recommended: none, since none is healthy'
expect 0 "${sweep[@]}" --out dir --limits kl=1e-12:1e-9
[ "$(advice dir)" = 'not recommended,not recommended,not recommended,' ] || die "advice: $(advice dir)"

# the smallest that keeps a limit
expect 0 "${sweep[@]}" --out dir --max-kl 1e-6
out_has '^smallest with a KL of at most 1e-06: q8_0$'
grep -q '"smallest": "q8_0"' dir/sweep.json || die 'sweep.json does not say which'
expect 7 "${sweep[@]}" --out dir --max-kl 0
err_has 'no recipe has a mean KL of at most 0'
out_has '^recommended: none, since none is within --max-kl$'
! grep -q '"advice": "recommended"' dir/sweep.json || die 'what is above --max-kl is recommended'
[ "$(of q8_0 advice dir)" = 'best of its size' ] || die 'nothing is kept where no recipe is good enough'

# a model that has gone is made again, and one that nobody keeps goes
rm dir/small.gguf
expect 0 "${sweep[@]}" --out dir --keep
[ -s dir/small.gguf ] || die '--keep did not make it again'
expect 0 "${sweep[@]}" --out gone
! ls gone/*.gguf 2>/dev/null || die 'a model was left'
without_times dir/sweep.json >a
without_times gone/sweep.json >b
same a b

# ---- what is larger than the model itself ----

# is no advice, be it healthy or to be watched: the model is smaller, and as near as can be
expect 0 convert tiny few.gguf --type q4_0
printf 'large --type q8_0 --allow-requantize\nless --type q3_k_m --allow-requantize\n' >more.txt
more=(sweep few.gguf --recipes more.txt --dataset data.jsonl "${options[@]}" --out more)
expect 0 "${more[@]}"
[ "$(of large advice more)" = 'not recommended' ] || die "larger and healthy: $(of large advice more)"
out_has '^recommended: less$'
expect 0 "${more[@]}" --limits kl=1e-12:1
[ "$(of large advice more)" = 'not recommended' ] || die "larger and to be watched: $(of large advice more)"
[ "$(of less advice more)" = 'acceptable where size is critical' ] || die "smaller: $(of less advice more)"
out_has '^recommended: none, since none is healthy$'
sed -i 2d more.txt
expect 0 "${more[@]}"
out_has '^recommended: none, since what is healthy is beaten, by the model itself'
grep -q '<h1>None recommended: what is healthy is beaten' more/report.html || die 'the page recommends something'

# ---- Ctrl-C ----

long=(sweep tiny --recipes recipes.txt --dataset some.jsonl "${options[@]}" --out long)
interrupt_at 0.5 "${long[@]}"
! ls long/*.gguf long/*.part 2>/dev/null || die 'Ctrl-C left a model'
expect 0 "${long[@]}"
expect 0 "${long[@]}" --out whole
without_times long/sweep.json >a
without_times whole/sweep.json >b
same a b
tail -n +2 long/q8_0/results.jsonl >a # the first line says where they were to go
tail -n +2 whole/q8_0/results.jsonl >b
same a b

# other questions are not answered by what is there
expect 1 "${sweep[@]}" --out long
err_has 'data.*--restart'
expect 0 "${sweep[@]}" --out long --restart
without_times long/sweep.json >a
without_times gone/sweep.json >b
same a b

# a recipe measures as `carat convert` does
expect 0 convert tiny large.gguf --residual-scale 16384
printf 'auto --residual-scale auto --type bf16\n' >auto.txt
expect 0 sweep large.gguf --recipes auto.txt --dataset data.jsonl "${options[@]}" --n-gen 0 --n-prompt 0 --out auto --keep
err_has '^note: residual scale 0.0'
expect 0 convert large.gguf alone.gguf --residual-scale auto --type bf16
same alone.gguf auto/auto.gguf

# ---- mistakes ----

wrong() {
    printf '%s\n' "$2" >wrong.txt
    refuse 2 sweep tiny --recipes wrong.txt --dataset data.jsonl --out never
    err_has "$1"
    [ ! -e never ] || die "$2: something was made"
}
wrong 'wrong.txt: has no recipe' '# nothing'
wrong "wrong.txt, line 1: '-x' is not a name" '-x --type q8_0'
wrong "wrong.txt, line 1: '../x' is not a name" '../x --type q8_0'
wrong "wrong.txt, line 1: '' is not a name" '"" --type q8_0'
wrong "wrong.txt, line 3: the name 'a' is that of line 1 already" $'a\n\na --type q8_0'
wrong "line 1: the name 'source' is the model's own" 'source --type q8_0'
wrong "line 2: convert: unknown option '--typ'" $'a\nb --typ q8_0'
wrong 'line 1: option --type needs a value' 'a --type'
wrong 'line 1: a quote is not closed' "a --type 'q8_0"
wrong "line 1: convert: 'other' is one argument too many" 'a other --type q8_0'
wrong 'line 1: --dry-run is no option of a recipe' 'a --dry-run'
wrong 'line 1: --report is no option of a recipe' 'a --report x'
wrong 'line 1: --to safetensors: a recipe makes a GGUF file' 'a --to safetensors'
wrong 'line 1: type "q9" is no type that carat writes' 'a --type q9'
wrong "line 1: --lut2: '5,8' is not BITS,ROWS" 'a --lut2 5,8'
wrong 'line 1: recipe, character 7: "q9"' 'a --recipe embed=q9'
wrong 'line 1: qat is on, which is about blocks of Q4_0' 'a --type q8_0 --qat on'
refuse 2 sweep tiny --recipes recipes.txt --dataset data.jsonl
err_has 'sweep needs --recipes FILE'
refuse 1 sweep tiny --recipes missing --dataset data.jsonl --out never
refuse 2 sweep tiny --recipes recipes.txt --dataset missing --out never
refuse 2 sweep tiny --recipes recipes.txt --dataset data.jsonl --out never --limits kl=1
: >empty
refuse 1 sweep tiny --recipes recipes.txt --dataset data.jsonl --out empty
err_has 'empty/source: cannot be made: Not a directory'
[ ! -e never ] || die 'something was made'
