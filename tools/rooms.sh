# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# rooms.sh: the table of ARCHITECTURE.md that says which room may use which; sourced by the checks that read
# it. A room is a folder of a program, or a file directly in it. A program is the first folder of its rows;
# src is the library.

declare -A may_use # room: itself, and the rooms ("src/base") and headers ("src/os/cpu.h") that its row names
programs=()        # in the order of their rows

# read_rooms FILE: reads the table. A row names rooms of its own program as includes do, others by their path,
# and only such as stand above it: so no rooms need each other in a circle.
read_rooms() {
    local row list one used
    while IFS='|' read -r _ row _ list _; do
        row=${row//[\` ]/} used=
        [[ $row == room || $row == -* ]] && continue
        [ -z "${may_use[$row]:-}" ] || { echo "$1: room $row stands twice in the table"; return 1; }
        for one in ${list//[\`,–]/ }; do
            room_of "${row%%/*}/$one" && one=${row%%/*}/$one || room_of "$one" ||
                { echo "$1: room $row may use $one, which stands in no row above it"; return 1; }
            used+=" $one"
        done
        may_use[$row]="$row$used"
        [[ " ${programs[*]} " == *" ${row%%/*} "* ]] || programs+=("${row%%/*}")
    done < <(sed -n '/^| room | what it holds | may use |$/,/^$/{ /^|/p }' "$1")
    [ ${#programs[@]} -gt 0 ] || { echo "$1: no table of rooms"; return 1; }
}

# room_of PATH: sets room to the room in which the file is; fails where it is in none.
room_of() {
    room=$1
    until [ -n "${may_use[$room]:-}" ]; do
        [[ $room == */* ]] || return 1
        room=${room%/*}
    done
}

# uses ROOM PATH: whether files of ROOM may use that file.
uses() {
    local one
    for one in ${may_use[$1]}; do
        [[ $2 == "$one" || $2 == "$one"/* ]] && return 0
    done
    return 1
}
