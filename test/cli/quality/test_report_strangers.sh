#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_report_strangers.sh: a data set with text that would be something else in a page goes the whole way,
# through results.jsonl and summary.json into report.html: it stays text, the page is XML, and running the
# command again writes the same page. What pages look like in detail is test_report.c's.
. "$CARAT_SOURCE/test/cli/common.bash"

cat >'<b>&.jsonl' <<'END'
{"id": "<script>alert(1)</script>", "text": "<script src=\"http://x\">]]></script> \u0000 \u001b[31m \u202e back \ufffe"}
{"id": "\u202eid\"'>", "text": "</pre></svg><img src=x onerror=y> &amp; \ud83d\ude00 \u0000"}
{"prompt": "Where is the bed?"}
END
head -c 1048576 /dev/zero | tr '\0' '<' | sed 's/.*/{"id": "long", "prompt": "&"}/' >>'<b>&.jsonl'

compare=(compare tiny --ref exact --dataset '<b>&.jsonl' --out dir -n 4 -c 512)
expect 1 "${compare[@]}" # the long one does not fit
page=dir/report.html
[ "$(wc -c <$page)" -lt 200000 ] || die 'the page is large'
sed 's|xmlns="http://www.w3.org/2000/svg"||g' $page >rest
! grep -nE '<(script|img|link|iframe|a |base|/pre></svg)|<[^>]* (src|href|on[a-z]*)=' rest || die 'a text became a tag'
! grep -n "$(printf '\342\200\256')" $page || die 'a mark of direction stands in the page'
[ "$(tr -d '\n\t\40-\377' <$page | wc -c)" = 0 ] || die 'a control byte stands in the page'
for text in '&lt;script src="http://x"&gt;]]&gt;' '\\x00' '\\x1b</i>\[31m' 'U+202E' 'U+FFFE' 'Not compared' '&lt;b&gt;&amp;.jsonl' \
    'default-src .none.'; do
    grep -q -e "$text" $page || die "'$text' is not in the page"
done
if command -v xmllint >/dev/null; then xmllint --noout $page || die 'xmllint objects'; fi

mv $page before.html
expect 1 "${compare[@]}"
same before.html $page
