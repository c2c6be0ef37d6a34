#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_scripts.sh: fails when shellcheck warns about a shell script; its hints on style are left alone.
set -u
. "$(dirname "$0")/rooms.sh"
cd "${1:-${CARAT_SOURCE:-$(dirname "$0")/..}}" || exit 2
read_rooms ARCHITECTURE.md || exit 2
command -v shellcheck >/dev/null || { echo "there is no shellcheck" && exit 77; }
# -x: what a script sources is read too, relative to here or to the script
find "${programs[@]}" tools test .ci \( -name '*.sh' -o -name '*.bash' -o -path '.ci/run' \) -print0 2>/dev/null |
    xargs -0 shellcheck -x -P SCRIPTDIR -S warning -f gcc || exit 1
