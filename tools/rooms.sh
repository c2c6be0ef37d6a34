# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# rooms.sh: the table of ARCHITECTURE.md that says which room of src/ may use which; sourced by the checks
# that read it.

# read_rooms FILE: fills may_use[room], a list of rooms ("base") and headers ("os/cpu.h"). Rows are `src/room`
# | ... | list |.
declare -A may_use
read_rooms() {
    local room list
    while IFS='|' read -r room list; do
        [ -z "${may_use[$room]:-}" ] || { echo "$1: room $room stands twice in the table"; return 1; }
        may_use[$room]=$(tr -d '`,' <<<"$list")
    done < <(sed -nE 's/^\| `src\/([a-z]+)` \|.*\| *([^|]*[^| ]) *\|$/\1|\2/p' "$1")
    [ ${#may_use[@]} -gt 0 ] || { echo "$1: no table of rooms"; return 1; }
}

# room_of PATH: the first folder below src/, or cli.
room_of() {
    local path=${1#src/}
    echo "${path%%/*}"
}

# uses ROOM HEADER: whether files of ROOM may use what HEADER, relative to src/, declares.
uses() {
    local one
    [ "${2%%/*}" = "$1" ] && return 0
    for one in ${may_use[$1]}; do
        [ "$one" = "${2%%/*}" ] || [ "$one" = "$2" ] && return 0
    done
    return 1
}
