#!/usr/bin/env bash
# test_man.sh: man pages say what help says, as roff that man and groff take without a warning; help fits 80 columns.
. "$CARAT_SOURCE/test/cli/common.bash"

verbs=$(sed -n '/^usage/,/^MODEL/s/^  \([a-z]*\) .*/\1/p' <("$CARAT" help))
[ "$(echo "$verbs" | wc -l)" -ge 11 ] || die "verbs: $verbs"

expect 0 help
out_has '^  130  interrupted'
out_has 'NO_COLOR'
awk 'length > 80 {exit 1}' out || die 'help is wider than 80 columns'
expect 0 help --man
cp out carat.1
for section in NAME SYNOPSIS DESCRIPTION VERBS 'EXIT STATUS' ENVIRONMENT EXAMPLES 'SEE ALSO'; do
    grep -q "^.SH $section\$" carat.1 || die "carat.1 has no $section"
done
for verb in $verbs; do
    grep -q "carat.-$verb (1)" carat.1 || die "carat.1 does not know $verb"
    expect 0 help $verb
    awk 'length > 80 {exit 1}' out || die "help $verb is wider than 80 columns"
    cp out help
    expect 0 help --man $verb
    cp out carat-$verb.1
    # every option heading of help, with roff's dashes
    sed -n 's/^  \(-[^ ].*\)/\1/p' help | sed 's/   .*//; s/-/\\-/g' >headings
    [ -s headings ] || die "no options in help $verb"
    while IFS= read -r heading; do
        grep -qF ".B $heading" carat-$verb.1 || die "carat-$verb.1 lacks $heading"
    done <headings
done
head -n 1 carat-run.1 >out
out_has '^.TH CARAT.-RUN 1 '
refuse 2 help --man frobnicate

# a line that begins with a dot or a quote is a request: only those of man pages may be there
! grep -hE "^[.']" ./*.1 | grep -vE '^\.(TH|SH|TP|PP|EX|EE|BR|RI|B|I)( |$)' >out || die "requests: $(cat out)"
! grep -hP '(?<!\\)-' ./*.1 | grep -v '^\.TH' >out || die "a dash that nobody can type: $(head -n 1 out)"
for page in ./*.1; do
    if command -v groff >/dev/null; then
        groff -ww -man -Tascii "$page" >text 2>err
        [ ! -s err ] || die "groff warns of $page"
    fi
    if command -v man >/dev/null; then
        man --warnings -l "$page" >text 2>err </dev/null
        [ ! -s err ] || die "man warns of $page"
    fi
done

# the build has written the same pages, one for each verb
if [ -d "${CARAT_BUILD:-}/pages" ]; then
    for page in ./*.1; do same "$page" "$CARAT_BUILD/pages/man1/$(basename "$page")"; done
    [ "$(ls ./*.1 | wc -l)" = "$(ls "$CARAT_BUILD/pages/man1" | wc -l)" ] || die 'the build has other pages'
fi
