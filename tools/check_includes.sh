#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_includes.sh: fails when a file includes something its room may not use. The table of rooms is the one
# in ARCHITECTURE.md, read from there by tools/rooms.sh. A file includes public headers, headers relative to
# the folder of its program, and those of another program relative to that one. An angled include counts when
# a program has such a file.
set -uo pipefail
. "$(dirname "$0")/rooms.sh"
cd "${1:-${CARAT_SOURCE:-$(dirname "$0")/..}}" || exit 2
read_rooms ARCHITECTURE.md || exit 2

# allowed FILE HEADER ANGLED: a header that no program has is a system's, or else FILE's program's.
allowed() {
    local program mine=$room known=
    for program in "${programs[@]}"; do
        [ -e "$program/$2" ] || continue
        uses "$mine" "$program/$2" && return 0
        known=yes
    done
    [ ! "$known" ] && { [ "$3" ] || uses "$mine" "${1%%/*}/$2"; }
}

bad=0
while IFS=: read -r file line; do
    header=${line#*[\"<]} angled=
    [[ $line == *'<'* ]] && angled=yes
    [[ -e include/$header && $header != *./* ]] && continue
    if ! room_of "$file"; then
        echo "$file: is in no room of the table"
        bad=1
    elif [[ $header == *./* ]] || ! allowed "$file" "$header" "$angled"; then
        echo "$file: room $room may not include \"$header\""
        bad=1
    fi
done < <(find "${programs[@]}" -name '*.[chS]' -print0 2>/dev/null | sort -z |
    xargs -0r grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<][^">]+')
exit $bad
