#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh TREE OBJECTS: fails when an object of a room needs a symbol that a room defines which it
# may not use, or when files need each other in a circle. check_includes.sh sees neither: headers include
# headers. The table of rooms is ARCHITECTURE.md's. OBJECTS is a folder in which objects lie as
# src/<room>/.../x.c.o, cli/<room>/.../x.c.o, ..., in folders of targets (x.dir) or directly.
set -uo pipefail
. "$(dirname "$0")/rooms.sh"
cd "${1:-${CARAT_SOURCE:-$(dirname "$0")/..}}" || exit 2
objects=${2:-${CARAT_BUILD:-build/release}/CMakeFiles}
read_rooms ARCHITECTURE.md || exit 2

# Lines "user owner symbol", files with their program. Objects whose source has gone are passed over. Several
# files may define a symbol: two programs each their own, or files of a room for their levels.
symbols=$(find "$objects" -name '*.[cS].o' -print0 | xargs -0r nm -A | awk -v prefix="${#objects}" '
    FNR == NR { source[$0]; next }
    {
        file = substr($0, prefix + 2, match($0, /:[0-9a-f ]+ [A-Za-z] [^ ]+$/) - prefix - 2)
        sub(/^[^\/]*\.dir\//, "", file)
        sub(/\.o$/, "", file)
    }
    !(file in source) { next }
    $(NF - 1) ~ /^[TDBRVWC]$/ && !defines[file, $NF]++ { owners[$NF] = owners[$NF] " " file; n++ }
    $(NF - 1) == "U" { uses[file " " $NF] }
    function program(path) { return substr(path, 1, index(path, "/")) }
    END {
        for (use in uses) {
            split(use, u, " ")
            m = split(owners[u[2]], owner, " ")
            own = 0
            for (i = 1; i <= m; i++)
                own += program(owner[i]) == program(u[1])
            for (i = 1; i <= m; i++)
                if (owner[i] != u[1] && (!own || program(owner[i]) == program(u[1])))
                    print u[1], owner[i], u[2]
        }
        exit !n
    }' <(find "${programs[@]}" -name '*.[cS]' 2>/dev/null) - | sort) || { echo "$objects: no objects"; exit 2; }
# Names that tools of maintainers meet (nm, perf, a debugger): of programs one word is too little.
short=$(find "$objects" -name '*.c.o' -print0 | xargs -0r nm -A | awk -v prefix="${#objects}" '
    $(NF - 1) ~ /^[TDBRC]$/ && $NF !~ /_/ && $NF != "main" {
        file = substr($0, prefix + 2, match($0, /:[0-9a-f ]+ [A-Za-z] [^ ]+$/) - prefix - 2)
        sub(/^[^\/]*\.dir\//, "", file)
        sub(/\.o$/, "", file)
        if (file ~ /^(cli|server|fetch)\//)
            print file ": external name of one word: " $NF ", expected with its room before it"
    }' | sort -u | while read -r file rest; do [ ! -e "${file%:}" ] || echo "$file $rest"; done)
bad=0
[ -z "$short" ] || { echo "$short"; bad=1; }
[ -n "$symbols" ] || exit $bad

declare -A declared # "header symbol"; public headers together are "include"
read -ra names <<<"include ${may_use[*]}"
for header in "${names[@]}"; do
    [[ $header == include || -f $header ]] && while read -r word; do
        declared[$header $word]=1
    done < <(grep -rhowE '[A-Za-z_][A-Za-z0-9_]*' "$header" | sort -u)
done

# allowed USER OWNER SYMBOL: user and owner are files
allowed() {
    local header
    uses "$mine" "$2" && return 0
    [[ $1 != src/* && $2 == src/* && -n ${declared[include $3]:-} ]] && return 0
    for header in ${may_use[$mine]}; do
        [[ $header == "$theirs"/* && -n ${declared[$header $3]:-} ]] && return 0
    done
    return 1
}

while read -r user owner symbol; do
    room_of "$user" && mine=$room && room_of "$owner" && theirs=$room || continue # check_house.sh says so
    allowed "$user" "$owner" "$symbol" && continue
    echo "$user: room $mine may not use $symbol, which room $theirs defines"
    bad=1
done <<<"$symbols"

# The shortest way from each file back to itself, over files that are in no circle told before.
circles=$(awk '
    {
        if (!($1 in needs))
            files[++n] = $1
        if (!(($1, $2) in symbol)) {
            symbol[$1, $2] = $3
            needs[$1] = needs[$1] " " $2
        }
    }
    END {
        for (i = 1; i <= n; i++) {
            start = files[i]
            split("", from)
            queue[1] = start
            for (head = tail = 1; head <= tail && !(start in from); head++) {
                m = split(needs[queue[head]], next_file, " ")
                for (j = 1; j <= m; j++)
                    if (!(next_file[j] in told) && !(next_file[j] in from)) {
                        from[next_file[j]] = queue[head]
                        queue[++tail] = next_file[j]
                    }
            }
            told[start]
            if (!(start in from))
                continue
            way = ""
            for (at = start; way == "" || at != start; at = from[at])
                way = " -> " at " (" symbol[from[at], at] ")" way
            print "files need each other in a circle: " start way
        }
    }' <<<"$symbols")
[ -z "$circles" ] || { echo "$circles"; bad=1; }
exit $bad
