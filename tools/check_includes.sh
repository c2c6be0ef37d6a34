#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_includes.sh: fails when a file includes something its room may not use. The table of rooms is the one
# in ARCHITECTURE.md, read from there by tools/rooms.sh. Includes are written relative to src/, or name
# "carat.h", or, in the command, a header relative to cli/. An angled include with a slash counts when src/
# has such a file.
set -uo pipefail
. "$(dirname "$0")/rooms.sh"
cd "${1:-${CARAT_SOURCE:-$(dirname "$0")/..}}" || exit 2
read_rooms ARCHITECTURE.md || exit 2

bad=0
while IFS= read -r file; do
    room=$(room_of "$file")
    while IFS= read -r header; do
        [[ $header == '<'* && ! -e src/${header:1} ]] && continue
        header=${header:1}
        if [ "$room" = cli ]; then
            [[ $header == carat*.h || -e cli/$header ]] && continue
        elif [ -n "${may_use[$room]:-}" ]; then
            [[ $header == carat*.h ]] && continue
            uses "$room" "$header" && continue
        fi
        echo "$file: room $room may not include \"$header\""
        bad=1
    done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*(["<][^">]+)[">].*/\1/p' "$file")
done < <(find src cli -name '*.[chS]' 2>/dev/null | sort)
exit $bad
