#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_controls.sh: control tokens are spelled in their table alone. Comments may name them, and the texts that
# carat_verify tokenizes hold some.
set -u
cd "$CARAT_SOURCE" || exit 1
table=src/text/tokenizer/control.c

# spelled FILE...: the lines with a control token in a string
spelled() {
    for token in $(grep -o '"<[a-z_]*>"' "$table" | tr -d '"'); do
        grep -nHE "^[^/]*\"[^\"]*$token" "$@" | grep -vE '^[^:]*:[0-9]*: *(\*|/\*)'
    done
}

mapfile -t files < <(find src -name '*.[ch]' ! -path "$table" ! -name verify_golden.c)
[ "${#files[@]}" -gt 100 ] || { echo "only ${#files[@]} files found"; exit 1; }
[ "$(spelled "$table" | wc -l)" -ge 18 ] || { echo "the table itself is not found"; exit 1; }
if spelled "${files[@]}"; then
    echo "these spell a control token; $table has them"
    exit 1
fi
