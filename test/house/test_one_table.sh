#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_one_table.sh: a level of kernels or a type of K and V is spelled in its table alone (kernel/level.c,
# quant/kv_type.c); others ask carat_isa_name and carat_kv_name. Strings are looked at, not comments. Words
# that other tables have too (ref, types of weights) count only as a choice of several, as in "bf16|f16", or
# compared with; "ref|test" are the sides of a comparison, "f32|f16" what operations make.
set -uo pipefail
cd "${1:-${CARAT_SOURCE:?}}" || exit 2
. tools/rooms.sh
read_rooms ARCHITECTURE.md || exit 1

# The first string of each row.
rows() { sed -nE 's/^ +\[[A-Z0-9_]+\] = \{"([a-z0-9]+)".*/\1/p' "$1"; }
levels=$(rows src/kernel/level.c) types=$(rows src/quant/kv_type.c)
if [ "$(wc -w <<<"$levels")" -lt 9 ] || [ "$(wc -w <<<"$types")" -lt 4 ]; then
    echo "too few rows found in the tables: $levels; $types" >&2
    exit 1
fi
# What a processor is called is os/cpu.c's.
find "${programs[@]}" -name '*.[ch]' -not -path src/kernel/level.c -not -path src/quant/kv_type.c -not -path src/os/cpu.c -print0 |
    WORDS="${levels//$'\n'/ } ${types//$'\n'/ }" xargs -0 perl -0777 -ne '
        BEGIN { %shared = map { $_ => 1 } qw(ref bf16 f16 f32); @words = split / /, $ENV{WORDS}; }
        while (/(strcmp\([^"()]*)?"((?:[^"\\]|\\.)*)"|\x27(?:[^\x27\\]|\\.)+\x27|\/\*.*?\*\//gs) {
            ($compared, $text) = ($1, $2);
            next if !defined $text || $text =~ /\.h$/ || $text =~ /^ref\|test\||^f32\|f16$/;
            for (@words) {
                $found = $shared{$_} ? $text =~ /(^|\|)$_\|/ || $text =~ /\|$_$/ || ($compared && $text eq $_)
                                     : $text =~ /(^|[^A-Za-z0-9_.])$_($|[^A-Za-z0-9_.])/;
                if ($found) { print "$ARGV: \"$text\" spells $_, which a table has\n"; $bad = 1; }
            }
        }
        END { $? = $bad ? 1 : 0; }' >&2
