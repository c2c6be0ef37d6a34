#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh TREE OBJECTS: fails when an object of a room needs a symbol that a room defines which it may not use.
# check_includes.sh cannot see that: a header that may be included can include others. The table is ARCHITECTURE.md's.
# OBJECTS is a folder in which objects lie as .../src/<room>/.../x.c.o.
set -uo pipefail
. "$(dirname "$0")/rooms.sh"
cd "${1:-${CARAT_SOURCE:-$(dirname "$0")/..}}" || exit 2
objects=${2:-${CARAT_BUILD:-build/release}/CMakeFiles}
read_rooms ARCHITECTURE.md || exit 2

list=$(find "$objects" -path '*/src/*.c.o' -not -path '*emulated*' | sort)
[ -n "$list" ] || { echo "$objects: no objects"; exit 2; }
# lines "D|U room symbol"; several objects may define the same function for their level
symbols=$(while IFS= read -r object; do
    room=$(room_of "src/${object##*/src/}")
    [ -e "src/$(sed 's/\.o$//' <<<"${object##*/src/}")" ] || continue # its source has gone
    nm "$object" | awk -v room="$room" '
        NF == 3 && $2 ~ /^[TDBRV]$/ { print "D", room, $3 }
        NF == 2 && $1 == "U" { print "U", room, $2 }'
done <<<"$list" | sort -u)

bad=0
while read -r user owner symbol; do
    [ "$user" = "$owner" ] && continue
    [[ " ${may_use[$user]:-} " == *" $owner "* ]] && continue
    for one in ${may_use[$user]:-}; do
        [[ $one == "$owner"/* && -e src/$one ]] && grep -qw "$symbol" "src/$one" && continue 2
    done
    echo "room $user may not use $symbol, which room $owner defines"
    bad=1
done < <(awk '$1 == "D" { owner[$3] = $2 } $1 == "U" { use[$2 " " $3] = $3 }
    END { for (u in use) if (use[u] in owner) { split(u, a, " "); print a[1], owner[use[u]], use[u] } }' <<<"$symbols" | sort)
exit $bad
