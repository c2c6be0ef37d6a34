#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_report_pages.sh: the pages that test_report.c writes pass xmllint, and in Debian's chromium, light and
# dark, on narrow and wide windows: nothing is loaded, said on the console, cut off, overlapped or too wide,
# and the colours of all curves are to be seen (report_browser.py). `tools/setup.sh check-deep` installs what
# this needs.
set -euo pipefail
source=${CARAT_SOURCE:?is the root of the sources}
build=${CARAT_BUILD:?is the build}
[ -z "${CARAT_CFLAGS:-}" ] || { echo "the pages are those of a build without sanitizers"; exit 77; }
command -v chromium >/dev/null || { echo "there is no chromium: tools/setup.sh check-deep"; exit 77; }
python3 -c 'import fcntl, json' 2>/dev/null || { echo "there is no python3"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

die() {
    echo "FAILED: $*" >&2
    exit 1
}

CARAT_PAGES=$dir "$build/test/test_cli_quality_report" >"$dir/log" 2>&1 || { cat "$dir/log" && die "test_report.c"; }
for page in "$dir"/*.html; do
    if command -v xmllint >/dev/null; then xmllint --noout "$page" || die "$page: xmllint objects"; fi
    rest=$(sed 's|xmlns="http://www.w3.org/2000/svg"||g' "$page")
    if grep -E '<[^>]*(script|http:|https:|src=|href=|url\()' <<<"$rest" >&2; then die "$page: it loads something"; fi
done
# the one without a stranger's text has none of the words at all
if sed 's|xmlns="http://www.w3.org/2000/svg"||g' "$dir/bisect.html" | grep -E 'script|http:|src=' >&2; then
    die "bisect.html has a word that no report needs"
fi
python3 "$source/test/cli/quality/report_browser.py" chromium "$dir"/{two,bisect,evil}.html || exit
