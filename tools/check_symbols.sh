#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh TREE OBJECTS: fails when an object of a room needs a symbol that a room defines which it
# may not use, or when files of one room need each other in a circle and none of them has the word "circle" in
# its opening comment, which then says why. check_includes.sh sees neither: headers include headers. The table
# of rooms is ARCHITECTURE.md's. OBJECTS is a folder in which objects lie as .../src/<room>/.../x.c.o.
set -uo pipefail
. "$(dirname "$0")/rooms.sh"
cd "${1:-${CARAT_SOURCE:-$(dirname "$0")/..}}" || exit 2
objects=${2:-${CARAT_BUILD:-build/release}/CMakeFiles}
read_rooms ARCHITECTURE.md || exit 2

list=$(find "$objects" -path '*/src/*.c.o' -not -path '*emulated*' | sort)
[ -n "$list" ] || { echo "$objects: no objects"; exit 2; }
# lines "D|U room symbol file"; several objects may define the same function for their level
symbols=$(while IFS= read -r object; do
    file=${object##*/src/}
    file=${file%.o}
    [ -e "src/$file" ] || continue # its source has gone
    nm "$object" | awk -v room="$(room_of "src/$file")" -v file="$file" '
        NF == 3 && $2 ~ /^[TDBRV]$/ { print "D", room, $3, file }
        NF == 2 && $1 == "U" { print "U", room, $2, file }'
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

# which file of a room needs which other one, less the circles that are explained
needs=$(awk '$1 == "D" { owners[$2 " " $3] = owners[$2 " " $3] " " $4 } $1 == "U" { use[$2 " " $3 " " $4] }
    END { for (u in use) { split(u, a, " "); n = split(owners[a[1] " " a[2]], o, " ")
            for (i = 1; i <= n; i++) if (o[i] != a[3]) print a[3], o[i] } }' <<<"$symbols" | sort -u)
explained=$(cut -d' ' -f1 <<<"$needs" | sort -u | while IFS= read -r file; do
    [ -n "$file" ] && sed '/\*\/$/{ /SPDX/!q }' "src/$file" | grep -qw circle && echo "$file"
done)
circles=$(awk 'NR == FNR { skip[$1]; next } !($1 in skip)' <(echo "$explained") - <<<"$needs" | tsort 2>&1 >/dev/null |
    awk '/loop:$/ { if (line) print line; line = "files of a room need each other in a circle:"; next }
        { sub(/^tsort: /, ""); line = line " " $0 } END { if (line) print line }')
if [ -n "$circles" ]; then
    echo "$circles"
    bad=1
fi
exit $bad
