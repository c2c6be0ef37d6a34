#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_house.sh: the house rules that a command can see; prints each breach and fails when there is one.
# A long file is worth a warning alone. tools/house.txt has what was too large when its limit came.
set -uo pipefail
. "$(dirname "$0")/rooms.sh"
cd "${1:-${CARAT_SOURCE:-$(dirname "$0")/..}}" || exit 2
read_rooms ARCHITECTURE.md || exit 2
code=("${programs[@]}" include test fuzz) # folders with C

# Lines "function FILE NAME LINES", "struct FILE NAME FIELDS" and "header FILE - USERS" of functions above 100
# lines with their heads, structs above 40 fields, and headers of programs that fewer than two files need
# beside the one that they are the header of. Comments and strings are no code.
shapes() {
    find "${code[@]}" -name '*.[chS]' -o -name '*.cu' 2>/dev/null | sort | PROGRAMS="${programs[*]}" perl -e '
        use strict;
        my @programs = split / /, $ENV{PROGRAMS};
        chomp(my @files = <STDIN>);
        my (%there, %users);
        @there{@files} = ();
        for my $file (@files) {
            open my $in, "<", $file or die "$file: $!";
            my $c = do { local $/; <$in> };
            my ($own) = $file =~ m{^([^/]+)/};
            my ($folder) = $file =~ m{^(.*)/};
            (my $stem = $file) =~ s/\.[a-zA-Z]+$//;
            for my $name ($c =~ /^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)/mg) {
                my @of = grep { exists $there{"$_/$name"} } grep { $_ eq $own } @programs;
                @of = grep { exists $there{"$_/$name"} } @programs if !@of;
                $users{$_}{$file} = 1 for grep { $_ ne "$stem.h" } map { "$_/$name" } @of;
                $users{"$folder/$name"}{$file} = 1 if exists $there{"$folder/$name"} && "$folder/$name" ne "$stem.h";
            }
            $c =~ s{("(?:[^"\\\n]|\\.)*"|\x27(?:[^\x27\\\n]|\\.)*\x27)|(/\*.*?\*/)}{
                my $text = $2; defined $1 ? q("") : $text =~ s/[^\n]//gr }gse;
            while ($c =~ /^([A-Za-z_][^\n;={}]*\([^;{}]*\)[^;{}]*)\n\{\n(.*?)^\}/gsm) {
                my $lines = ($1 =~ tr/\n//) + ($2 =~ tr/\n//) + 3;
                my ($name) = $1 =~ /(\w+)\(/;
                print "function $file $name $lines\n" if $lines > 100;
            }
            # One within another is one of its fields, and has its own fields in it.
            while ($c =~ /\b(?:struct|union)((?: \w+)*) (\{((?:[^{}]++|(?2))*)\})[ *]*(\w*)/g) {
                my ($name, $fields, $typedef) = ($1, $3, $4);
                pos($c) = $-[3];
                1 while $fields =~ s/\([^()]*\)//g;
                $fields =~ s/\[[^\]]*\]|^\s*#.*$//gm;
                $fields =~ s/enum[^{;]*\{[^{}]*\}//g;
                my $n = $fields =~ tr/,;//;
                $name =~ s/.* //;
                $name ||= $typedef || "-";
                print "struct $file $name $n\n" if $n > 40;
            }
        }
        for my $file (grep { /\.h$/ } @files) {
            my ($own) = $file =~ m{^([^/]+)/};
            my $n = keys %{$users{$file} || {}};
            print "header $file - $n\n" if $n < 2 && grep { $_ eq $own } @programs;
        }'
}

# What is above a limit and not in the table of those that were when the limit came, grew since, or has a row
# there that says too much: the table only becomes shorter.
beyond_limits() {
    local table=tools/house.txt
    [ -e $table ] || table=/dev/null
    awk -v table=$table '
        FILENAME == table { if (!/^#/ && NF) { row[$1 " " $2 " " $3] = $4; at[$1 " " $2 " " $3] = FNR } next }
        { what = $1 " " $2 " " $3; seen[what] }
        what in row && $1 == "header" { next }
        what in row && $4 < row[what] { print table ":" at[what] ": " $3 " of " $2 " has become smaller: write " $4 }
        what in row && $4 <= row[what] { next }
        what in row { grew = ", " row[what] " before"}
        $1 == "header" { print $2 " is needed by " ($4 ? "one file" : "no file") " beside its own: put it there" }
        $1 == "function" { print $2 ": " $3 " has " $4 " lines" grew ": a function has at most 100" }
        $1 == "struct" { print $2 ": " $3 " has " $4 " fields" grew ": a struct has at most 40" }
        { grew = "" }
        END { for (what in row) if (!(what in seen)) print table ":" at[what] ": nothing is wrong with it any more: take the row out" }' \
        $table - < <(shapes)
}

breaches=$(
    beyond_limits
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
    grep -nE -e '-march=native|-ffast-math|-Ofast' CMakeLists.txt cmake/*.cmake CMakePresets.json Makefile 2>/dev/null |
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
find "${code[@]}" \( -name '*.[chS]' -o -name '*.sh' \) -exec wc -l {} + 2>/dev/null |
    awk '$2 != "total" && $1 > 1200 {print "warning: " $2 " has " $1 " lines: is it one thing?"}'
[ -z "$breaches" ] && exit 0
echo "$breaches"
exit 1
