#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_controls.sh: control tokens are spelled in their table alone, and four of them in carat_tools.h.
# Comments may name them, and what help says: the rows of options and of verbs. The texts that carat_verify
# tokenizes hold some.
set -u
cd "$CARAT_SOURCE" || exit 1
. tools/rooms.sh
read_rooms ARCHITECTURE.md || exit 1
table=src/text/tokenizer/control.c header=include/carat_tools.h
tokens=$(grep -ho '"<[a-z_|]*>"' "$table" "$header" | tr -d '"' | sed 's/|/[|]/g' | paste -sd'|')

# spelled FILE...: the lines with a control token in a string
spelled() {
    awk -v token="^[^/]*\"[^\"]*($tokens)" '
        /^(static )?const struct (option|verb) [a-z_]+\[\] = \{$/ { help = 1 }
        /^};$/ { help = 0 }
        !help && $0 ~ token && !/^ *(\*|\/\*)/ { print FILENAME ":" FNR ":" $0 }' "$@"
}

mapfile -t files < <(find "${programs[@]}" include -name '*.[ch]' ! -path "$table" ! -path "$header" ! -name verify_golden.c)
[ "${#files[@]}" -gt 100 ] || { echo "only ${#files[@]} files found"; exit 1; }
[ "$(spelled "$table" "$header" | wc -l)" -ge 36 ] || { echo "the table itself is not found"; exit 1; }
found=$(spelled "${files[@]}")
if [ -n "$found" ]; then
    echo "$found"
    echo "these spell a control token; $table and $header have them"
    exit 1
fi
