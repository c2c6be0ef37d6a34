#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_man.sh: man pages say what help says, as roff that man and groff take without a warning; help fits 80
# columns.
. "$CARAT_SOURCE/test/cli/common.bash"

verbs=$(verbs)

COLUMNS=80 expect 0 help --help-all
out_has '^  130  interrupted'
out_has 'NO_COLOR'
awk 'length > 80 {exit 1}' out || die 'help is wider than 80 columns'
expect 0 help --man
cp out carat.1
for section in NAME SYNOPSIS DESCRIPTION VERBS 'EXIT STATUS' ENVIRONMENT FILES EXAMPLES 'SEE ALSO'; do
    grep -q "^.SH $section\$" carat.1 || die "carat.1 has no $section"
done
for verb in $verbs; do
    grep -q "carat.-$verb (1)" carat.1 || die "carat.1 does not know $verb"
    for columns in 40 80 97; do
        COLUMNS=$columns expect 0 help $verb --help-all
        awk -v n=$columns '/^examples:/ {exit 0} length >= n {exit 1}' out || die "help $verb does not fit $columns columns"
    done
    COLUMNS=80 expect 0 help $verb --help-all
    awk 'length >= 80 {exit 1}' out || die "help $verb is wider than 80 columns"
    cp out help
    expect 0 help --man $verb
    cp out carat-$verb.1
    # the short help says part of it, and how many options it leaves out
    COLUMNS=80 expect 0 help $verb
    grep -E '^  -' out | sed -E 's/([^ ])  .*/\1/' >headings
    all=$(grep -cE '^  -' help)
    left_out=$((all - $(wc -l <headings)))
    [ $left_out -gt 0 ] || die "$verb: nothing is left out of the short help"
    out_has "^$left_out options* more, .*--help-all"
    ! grep -vxFf <(grep -E '^  -' help | sed -E 's/([^ ])  .*/\1/') headings || die "help $verb has what --help-all lacks"
    # every option heading of help, with roff's dashes
    sed -n 's/^  \(-[^ ].*\)/\1/p' help | sed -E 's/([^ ])  .*/\1/; s/-/\\-/g' >headings
    [ -s headings ] || die "no options in help $verb"
    for section in OPTIONS 'EXIT STATUS' ENVIRONMENT EXAMPLES 'SEE ALSO'; do
        grep -q "^.SH $section\$" carat-$verb.1 || die "carat-$verb.1 has no $section"
    done
    sed -n '/^.SH EXAMPLES/,/^.EE/p' carat-$verb.1 | grep -q "^carat .*$verb" || die "carat-$verb.1 shows no example of it"
    while IFS= read -r heading; do
        grep -qF ".B $heading" carat-$verb.1 || die "carat-$verb.1 lacks $heading"
    done <headings
done
# each page has the files, variables and codes that concern it, and no others
for page in run logits tokenize show verify pack cache doctor; do
    grep -qF '.B $XDG_CACHE_HOME/carat' carat-$page.1 || die "carat-$page.1 does not name the cache"
    grep -qxF XDG_CACHE_HOME <(sed -n 's/^.B //p' carat-$page.1) || die "carat-$page.1 does not name XDG_CACHE_HOME"
done
! grep -q 'XDG_CACHE_HOME\|^.SH FILES' carat-version.1 || die 'carat-version.1 names files'
grep -qx CARAT_ARG_TEMP carat-run.1 || die 'carat-run.1 lacks CARAT_ARG_TEMP'
! grep -q CARAT_ARG_TEMP carat-bench.1 || die 'carat-bench.1 has CARAT_ARG_TEMP'
codes() { sed -n '/^.SH EXIT/,/^.SH ENV/s/^.B //p' "carat-$1.1" | tr '\n' ' '; }
[ "$(codes run)" = '0 1 2 3 4 5 6 130 141 143 ' ] || die "exit codes of run: $(codes run)"
[ "$(codes verify)" = '0 1 2 3 4 5 7 130 141 143 ' ] || die "exit codes of verify: $(codes verify)"
[ "$(codes version)" = '0 1 2 5 130 141 143 ' ] || die "exit codes of version: $(codes version)"
head -n 1 carat-run.1 >out
out_has '^.TH CARAT.-RUN 1 '
refuse 2 help --man frobnicate

# a line that begins with a dot or a quote is a request: only those of man pages may be there
! grep -hE "^[.']" ./*.1 | grep -vE '^\.(TH|SH|SS|TP|PP|EX|EE|BR|RI|B|I)( |$)' >out || die "requests: $(cat out)"
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
