#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_new_verb.sh: a new verb is a row of text, a function and rows of options: new_verb.patch adds `carat
# hello MODEL --greeting WORD` to a copy of the command in at most 40 lines, as a file of its own and rows of
# two others. Then help, man pages, completion, suggestions and the tests that walk all verbs know it. Only
# the command is compiled, without optimisation; the library is that of the build.
. "$CARAT_SOURCE/test/cli/common.bash"
[ -z "${CARAT_CFLAGS:-}" ] || { echo 'looked at in the release flavour only'; exit 77; }
command -v patch >/dev/null || { echo 'there is no patch'; exit 77; }
patch=$CARAT_SOURCE/test/house/new_verb.patch

lines=$(grep -v -e '^--- ' -e '^+++ ' "$patch" | grep -c '^[-+]')
[ "$lines" -le 40 ] || die "the patch has $lines lines, expected at most 40"
others=$(grep -c '^--- a/' "$patch")
[ "$others" -le 3 ] || die "the patch touches $others files beside its own, expected at most 3"

# ---- build ----

cached() { sed -n "s/^$1:[A-Z]*=//p" "$CARAT_BUILD/CMakeCache.txt"; }
cp -R "$CARAT_SOURCE/cli" cli
patch -sp1 <"$patch" || die 'the patch does not apply any more'
cc=("${CC:-cc}" -std=c11 -I cli -I "$CARAT_SOURCE/server" -I "$CARAT_SOURCE/include" -I "$CARAT_SOURCE/src" -I "$(cached JANSSON_INCLUDE)" -I "$(cached CMOCKA_INCLUDE)" -I "$tiny")
libraries=("$CARAT_BUILD/libcarat.a" "$(cached JANSSON_LIBRARY)" -lpthread -lm)
objects() { sed 's|/|_|g; s|$|.o|'; } # they lie flat
find cli -name '*.[cS]' | while read -r file; do echo "-c $file -o $(objects <<<"$file")"; done >files
xargs -a files -L 1 -P 2 "${cc[@]}" || die 'the command with a new verb does not compile'
"${cc[@]}" -Wall -Wextra -Werror -fsyntax-only cli/show/hello.c
"${cc[@]}" -o carat ./*.o "${libraries[@]}"
CARAT=$work/carat

# ---- what knows it ----

expect 0 hello tiny
out_is $'hello, tiny\n'
expect 0 hello tiny --greeting goodbye
out_is $'goodbye, tiny\n'
CARAT_ARG_GREETING=goodbye expect 0 hello tiny
out_is $'goodbye, tiny\n'
refuse 2 hello
err_has 'hello needs a model: carat hello MODEL'
refuse 2 hallo tiny
err_has 'did you mean hello?'
refuse 2 hello tiny --greting goodbye
err_has 'did you mean --greeting?'
refuse 2 hello tiny --greeting ciao
err_has 'must be one of hello, goodbye'
refuse 2 show tiny --greeting hello
expect 0 help hello
out_has '--greeting hello|goodbye'
out_has '(default hello)'
verbs | grep -qx hello || die 'the tests that walk all verbs do not find it' # test_texts runs its example
cmake "-DCARAT=$CARAT" "-DOUT=$work/pages" -P "$CARAT_SOURCE/cmake/pages.cmake"
grep -q 'carat.-hello (1)' pages/man1/carat.1 || die 'carat.1 does not name it'
grep -qx 'CARAT_ARG_GREETING' pages/man1/carat-hello.1 || die 'its page does not name the variable'
for shell in carat.bash _carat carat.fish; do
    grep -q hello "pages/$shell" && grep -q greeting "pages/$shell" || die "$shell does not complete it"
done
"${cc[@]}" -o test_options "$CARAT_SOURCE/test/cli/options/test_tables.c" cli_[!m]*.o cli_model_*.o "$(cached CMOCKA_LIBRARY)" "${libraries[@]}"
./test_options >out 2>&1 || die "test_options: $(cat out)"
for test in man completion usage; do
    CARAT_BUILD=$work bash "$CARAT_SOURCE/test/cli/options/test_$test.sh" >out 2>&1 || die "test_$test.sh: $(cat out)"
done
