#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_narrow.sh: on a terminal of 40 columns no word of a message, or of what show, ls, search and rm print,
# is broken, and what has words that fit is no wider; a path is left whole, for the terminal to wrap.
. "${CARAT_SOURCE:?}/test/cli/hub.bash"
command -v script >/dev/null || { echo 'script is missing'; exit 77; }
export OLLAMA_MODELS=$work/none NO_COLOR=1 TERM=dumb
unset ${!KAGGLE_@} KAGGLEHUB_CACHE LLAMA_CACHE COLUMNS
mkdir -p served/some-owner/a-longer-name-of-gemma "$HOME"
cp "$tiny"/*.* served/some-owner/a-longer-name-of-gemma
serve

words() { tr -d '\r' | tr -s ' \n' '\n'; }
# narrow ARGUMENTS...: the words are those of a run without a terminal, in as many columns as they need.
narrow() {
    "$CARAT" "$@" >plain 2>&1 || true
    script -qec "stty cols 40 rows 50; $(printf '%q ' "$CARAT" "$@")" raw </dev/null >wide || true
    tr -d '\r' <wide >folded
    words <plain >wanted
    words <folded >found
    cmp -s wanted found || die "$*: words differ: $(diff wanted found | head -6)"
    [ "$(wc -l <folded)" -gt "$(wc -l <plain)" ] || die "$*: nothing was folded"
    awk 'length > 40 {n = split($0, w, " "); if (length(w[n]) <= 16 || n > 3) {print; exit 1}}' folded ||
        die "$*: a line is wider than the terminal"
}
narrow show gemma3:1b
narrow show some-owner/a-longer-name-of-gemma
narrow show gemma3:1b --offline
narrow show absent.gguf
narrow search gemma
narrow run tiny hi --temp warm
expect 0 pull gemma3:1b -q
narrow show gemma3:1b
narrow ls --offlin
# a path is no broken word
script -qec "stty cols 40 rows 50; $(printf '%q ' "$CARAT" pull gemma3:1b)" raw </dev/null | tr -d '\r' >found
printf '%s\n' "$folder/snapshots/$commit" >wanted
same wanted found
script -qec "stty cols 40 rows 50; $(printf '%q ' "$CARAT" show gemma3:1b)" raw </dev/null | tr -d '\r' >found
grep -q "^  path  *$folder/snapshots/$commit\$" found || die 'the path was broken'
# without a terminal a message is one line
refuse 3 show gemma3:1x
