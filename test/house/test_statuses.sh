#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_statuses.sh: the statuses that a public header lists for a function are those that the sources can
# return (tools/check_statuses.py), and a status that is missing there, or listed in vain, is found.
set -euo pipefail
source=${CARAT_SOURCE:?}
command -v python3 >/dev/null || { echo 'there is no python3'; exit 77; }
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

python3 "$source/tools/check_statuses.py" "$source"

planted() { # what, words that must be said
    if python3 "$source/tools/check_statuses.py" "$tree" >"$tree/said"; then
        echo "$1 is not found"
        exit 1
    fi
    grep -q "$2" "$tree/said" || { echo "$1: $(cat "$tree/said")"; exit 1; }
}
cp -r "$source/src" "$source/include" "$tree"
sed -i '/^ \* others hold when too few are free/s/, CARAT_E_BUSY//' "$tree/include/carat.h"
planted 'a status that is missing' 'carat_reserve can return CARAT_E_BUSY'
cp "$source/include/carat.h" "$tree/include"
sed -i 's/CARAT_E_CONTEXT/CARAT_E_ARGUMENT/' "$tree"/src/engine/*.c
planted 'a status that nothing returns' 'lists CARAT_E_CONTEXT'
