#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_house.sh: the house rules that a command can see; prints each breach and fails when there is one.
set -uo pipefail
. "$(dirname "$0")/rooms.sh"
cd "${1:-${CARAT_SOURCE:-$(dirname "$0")/..}}" || exit 2
read_rooms ARCHITECTURE.md || exit 2
code=("${programs[@]}" include test fuzz) # folders with C

breaches=$(
    for room in "${!may_use[@]}"; do
        [ -e "$room" ] || echo "ARCHITECTURE.md has a row for $room, which is not there"
    done
    while IFS= read -r file; do
        room_of "$file" || echo "$file stands in no room of ARCHITECTURE.md's table"
    done < <(find "${programs[@]}" -type f 2>/dev/null)
    for folder in */; do
        [[ " ${code[*]} examples build " == *" ${folder%/} "* ]] || find "$folder" -name '*.[chS]' |
            sed 's/$/ belongs to no program of ARCHITECTURE.md'"'"'s table/'
    done
    find "${code[@]}" \( -name '*.[chS]' -o -name '*.sh' \) -exec wc -l {} + 2>/dev/null |
        awk '$2 != "total" && $1 > 700 {print $2 " has " $1 " lines: split it or simplify it"}'
    find "${programs[@]}" -path 'src/*' -prune -o -name '*.h' -exec wc -l {} + 2>/dev/null |
        awk '$2 != "total" && $1 > 120 {print $2 " has " $1 " lines: a header of a program has at most 120"}'
    # A struct of options that holds more has several owners.
    find "${programs[@]}" -name '*.h' -exec awk '
        /^struct ([a-z_]+_)?options \{/ { name = $2; n = -1 }
        name { gsub(/\/\*.*\*\//, ""); sub(/\/\*.*/, ""); n += gsub(/[,;]/, "") }
        name && /^}/ { if (n > 30) print FILENAME ": struct " name " has " n " fields, at most 30 are options of one owner"
            name = "" }' {} + 2>/dev/null
    find "${code[@]}" tools cmake examples CMakeLists.txt Makefile .ci/run -type f \
        \( -name '*.[chS]' -o -name '*.*sh' -o -name '*.py' -o -name '*.cmake' -o -name CMakeLists.txt \
        -o -name Makefile -o -name run \) -exec awk '
            FNR == 1 { bare[FILENAME] }
            /^(\/\*|#) SPDX-License-Identifier: Apache-2\.0( \*\/)?$/ { delete bare[FILENAME] }
            FNR == 2 { nextfile }
            END { for (file in bare) print file ": its first or second line is not its SPDX-License-Identifier" }' {} + \
        2>/dev/null
    grep -nE '^[[:space:]]*#[[:space:]]*if' src/model/forward.c /dev/null 2>/dev/null |
        sed 's/$/: no preprocessor condition in the forward pass/'
    grep -rnE --include='*.[chS]' --include='*.sh' --include='*.py' "\\b(TO""DO|FIX""ME)\\b" \
        "${code[@]}" tools bench 2>/dev/null | sed 's/^/left over: /'
    grep -nE -e '-march=native|-ffast-math|-Ofast' CMakeLists.txt CMakePresets.json Makefile 2>/dev/null |
        sed 's/^/forbidden flag: /'
    grep -rnE --include='*.[ch]' '\b(exit|abort|printf|puts|getenv)\(' src |
        sed 's/^/the library never prints, exits or reads the environment: /'
    # Comments call a file of their program by its name alone.
    find "${programs[@]}" -name '*.[chS]' 2>/dev/null | sed -E 's|/.*/| |; s|/| |' | sort | uniq -d |
        sed -E 's/(.*) (.*)/\2: two files of \1 have this name/'
    # A name that three files define for themselves says nothing about what it is for.
    grep -rhE --include='*.[ch]' -H '^static ' "${programs[@]}" 2>/dev/null |
        sed -nE 's/^(([^/]+)[^:]+):[^=;({]*[ *]([a-z0-9_]+)\(.*/\2 \3 \1/p' | grep -v ' __' | sort -u |
        awk '{ files[$1, $2] = files[$1, $2] " " $3; if (++n[$1, $2] == 3) many[$1, $2] = $2 }
            END { for (i in many) print many[i] ": static in more than two files:" files[i] }'
    # Rows of tables may be longer: in documents they begin with |, in C with a brace or a quote.
    find "${code[@]}" ./*.md \( -name '*.[chS]' -o -name '*.md' \) -print0 2>/dev/null |
        LC_ALL=C.UTF-8 xargs -0r grep -nHE '.{111,}' | grep -vE '^[^:]+:[0-9]+:\s*[|{"]' | cut -c1-100 |
        sed 's/$/...: more than 110 columns/'
    find "${code[@]}" tools cmake CMakeLists.txt Makefile \( -name '*.*sh' -o -name '*.py' \
        -o -name '*.cmake' -o -name CMakeLists.txt -o -name Makefile \) -print0 2>/dev/null |
        LC_ALL=C.UTF-8 xargs -0r grep -nHE '^\s*# .{109,}' | cut -c1-100 | sed 's/$/...: more than 110 columns/'
)
[ -z "$breaches" ] && exit 0
echo "$breaches"
exit 1
