#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_format.sh: fails when clang-format would change a C file. Other versions than 14 (Debian 12) format
# otherwise and are not asked: exit status 77.
set -u
. "$(dirname "$0")/rooms.sh"
cd "${1:-${CARAT_SOURCE:-$(dirname "$0")/..}}" || exit 2
read_rooms ARCHITECTURE.md || exit 2
case $(clang-format --version 2>/dev/null) in
*version\ 14.*) ;;
*)
    echo "there is no clang-format 14"
    exit 77
    ;;
esac
find "${programs[@]}" include test fuzz -name '*.[ch]' -exec clang-format --dry-run --Werror {} + 2>&1 | awk -F: '
    /code should be clang-formatted/ { places[$1]++ }
    END {
        for (file in places) {
            print file ": clang-format would change " places[file] " places"
            bad = 1
        }
        exit bad
    }'
