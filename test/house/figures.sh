#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# figures.sh: what SPEED.md says of the bandwidth that decoding uses is what its table of results says.
set -eu
cd "${CARAT_SOURCE:?}"
csv=bench/results/2026-11-21-zen3-rivals-2.csv
shares=$(awk -F, '!/^#/ && $1 == "model" { for (i = 1; i <= NF; i++) if ($i == "carat_of_read") at = i; next }
    at { printf "%.0f\n", 100 * $at }' $csv | sort -n)
n=$(echo "$shares" | wc -l)
at() { echo "$shares" | sed -n "$1p"; }
[ "$n" = 15 ] || { echo "$csv has $n rounds" && exit 1; }
wanted="Decode reads $(at 8) % of what the machine reads at most in the median of the fifteen rounds (goal 92), $(at 1) to $(at 15) % in single ones."
tr -s '\n ' ' ' <SPEED.md | grep -qF "$wanted" || { echo "SPEED.md does not say: $wanted" && exit 1; }
