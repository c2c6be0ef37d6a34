#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_closing_line.sh: .ci/run calls two tiers of the check, sums their closing lines into its last one,
# and fails when one of them does or dies before it has said how many passed. A `make` that only says so
# stands in for the real one.
set -uo pipefail
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cat >"$work/make" <<'END'
#!/usr/bin/env bash
echo "make $1" >>"$SAID"
[ "$1" = check ] && words=$CHECK || words=$DEEP
echo "3 passed, 0 failed in between"
[ "${words#* }" = - ] || echo "${words#* }"
exit "${words%% *}"
END
chmod +x "$work/make"

failed=0
closes() { # last line, exit status, status and closing line of check, of check-more; - for none
    local last status=0
    last=$(SAID=$work/said CHECK=$3 DEEP=$4 PATH=$work:$PATH bash "${CARAT_SOURCE:?}/.ci/run" 2>&1) || status=$?
    last=${last##*$'\n'}
    [ "$last" = "$1" ] && [ "$status" = "$2" ] && return
    echo "check \"$3\", check-more \"$4\": closes with \"$last\" and $status, expected \"$1\" and $2"
    failed=1
}
closes '12 passed, 0 failed' 0 '0 5 passed, 0 failed' '0 7 passed, 0 failed'
[ "$(cat "$work/said")" = $'make check\nmake check-more' ] || { echo "it called $(cat "$work/said")" && failed=1; }
closes '12 passed, 3 failed' 1 '2 5 passed, 2 failed' '2 7 passed, 1 failed'
closes '12 passed, 2 failed' 1 '2 5 passed, 2 failed' '0 7 passed, 0 failed'
closes '12 passed, 1 failed' 1 '0 5 passed, 0 failed' '2 7 passed, 1 failed'
closes '7 passed, 1 failed' 1 '2 -' '0 7 passed, 0 failed'
closes '7 passed, 1 failed' 1 '0 -' '0 7 passed, 0 failed'
closes '12 passed, 1 failed' 1 '2 5 passed, 0 failed' '0 7 passed, 0 failed'
closes '0 passed, 2 failed' 1 '2 -' '2 -'
exit $failed
