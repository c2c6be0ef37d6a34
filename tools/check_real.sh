#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_real.sh: tests on real weights, which tools/real_models.sh brings: logits and vectors against golden
# values of the reference implementation, hashes of both at every level of kernels, thread count and chunk,
# perplexity, converted files, receipts, the server. test/data/real has the golden values and, in facts.txt,
# what is ours: after a change of the arithmetic that NUMERICS.md states, that file has to change with it.
# It closes with the number of tests that were skipped, because weights cannot be had, and one line, "N
# passed, M failed". The 270M's part takes 80 s of processor time.
# Usage: tools/check_real.sh [270m|embed|all]    (all)
# CARAT names the command; unless it is set build/release/carat is built. CARAT_REAL names the folder of the
# weights. Exit status 0 only when nothing failed.
set -uo pipefail
export LC_ALL=C
case ${1:-all} in
    270m) models=(gemma3) ;;
    embed) models=(embed) ;;
    all) models=(gemma3 embed) ;;
    *)
        echo "usage: tools/check_real.sh [270m|embed|all]" >&2
        exit 2
        ;;
esac
if [ -n "${CARAT:-}" ]; then
    CARAT=$(cd "$(dirname "$CARAT")" && pwd)/$(basename "$CARAT")
fi
cd "$(dirname "$0")/.." || exit 2
if [ -z "${CARAT:-}" ]; then
    CARAT=$PWD/build/release/carat
    { [ -f build/release/Makefile ] || cmake --preset release >/dev/null; } &&
        cmake --build build/release -j2 --target carat >/dev/null || exit 2
fi
mkdir -p "${CARAT_REAL:-build/real}" || exit 2
CARAT_REAL=$(cd "${CARAT_REAL:-build/real}" && pwd)
export CARAT_REAL
data=$PWD/test/data/real gguf=$CARAT_REAL/gemma-3-270m-q4_k_m.gguf embedder=$CARAT_REAL/embeddinggemma
work=$(mktemp -d "$CARAT_REAL/work-XXXXXX") || exit 2
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state # never the caller's
passed=0 failed=0 skipped=0
levels=(ref neon dotprod i8mm)
[ "$(uname -m)" != x86_64 ] || levels=(ref avx2 avxvnni avx512 vnni amx) # a missing one is the next lower
golden() { python3 tools/real_golden.py "$@"; }
carat() { "$CARAT" "$@" 2>"$work/err" || { echo "carat $* ends with $?: $(cat "$work/err")" && return 1; }; }

# is NAME FOUND: as facts.txt has it.
is() {
    local right
    right=$(sed -n "s/^$1 //p" "$data/facts.txt")
    [ "$2" = "$right" ] || { echo "$1 is $2${3:+ with $3}, expected $right" && return 1; }
}

# ---- Gemma 3 270M ----

# logits_hash CASE OPTIONS...: of those behind all ids of a golden case, or of the last behind the text.
logits_hash() {
    local from=(--raw -f "$data/text.txt")
    [ "$1" = text ] || from=(--all --ids "$(golden ids "$data/gemma-3-270m.json" "$1" | cut -d' ' -f1)")
    carat logits "$gguf" "${from[@]}" "${@:2}" -o "$work/logits.npy" || return 1
    sha256sum <"$work/logits.npy" | cut -d' ' -f1
}
exact_logits() {
    local i ids
    for i in 0 1 2; do
        read -r ids _ <<<"$(golden ids "$data/gemma-3-270m.json" $i)"
        carat logits "$gguf" --ids "$ids" --all --exact -o "$work/logits.npy" &&
            golden logits "$data/gemma-3-270m.json" $i "$work/logits.npy" || return 1
    done
}
# All steps in one pass, the first few one by one too.
exact_answers() {
    local i ids right found head
    for i in 0 1 2; do
        read -r ids right <<<"$(golden ids "$data/gemma-3-270m.json" $i)"
        carat logits "$gguf" --ids "$ids,${right%,*}" --all --exact -o "$work/logits.npy" &&
            golden answer "$data/gemma-3-270m.json" $i "$work/logits.npy" || return 1
        head=dense
        [ $i -gt 0 ] || head=exact-pruned
        found=$(carat decode "$gguf" --ids "$ids" --steps 6 --exact --lm-head $head --json |
            grep -o '"id":[0-9]*' | cut -d: -f2 | paste -sd,)
        [[ "$right" == "$found",* ]] || { echo "case $i, $head: $found, expected $right" && return 1; }
    done
}
# Short logits at every level, those behind the window of 512 at all levels but the slow definition.
logits_at_levels() { # fast or exact
    local level words=() threads chunk
    [ "$1" = fast ] || words=(--exact)
    for level in "${levels[@]}"; do
        is "logits-$1" "$(logits_hash 0 "${words[@]}" --isa "$level")" "$level" || return 1
        [ "$level" = ref ] || [ "$1" = exact ] ||
            is "text-$1" "$(logits_hash text "${words[@]}" --isa "$level")" "$level" || return 1
    done
    for threads in 1 2 3; do
        for chunk in 1 3 256; do
            is "logits-$1" "$(logits_hash 0 "${words[@]}" -t $threads --chunk $chunk)" "$threads, $chunk" ||
                return 1
        done
    done
    is "text-$1" "$(logits_hash text "${words[@]}" -t 2 --chunk 100)" 'chunks of 100'
}
text_perplexity() {
    local mode words=()
    for mode in fast exact; do
        [ $mode = fast ] || words=(--exact)
        is perplexity-$mode "$(carat perplexity "$gguf" "$data/text.txt" -c 256 "${words[@]}" --json |
            sed 's/.*"perplexity":\([^,]*\),.*/\1/')" || return 1
    done
}
converted() { # type
    carat convert "$gguf" "$work/$1.gguf" --type "$1" --allow-requantize >/dev/null || return 1
    is "$1" "$(sha256sum <"$work/$1.gguf" | cut -d' ' -f1)"
    local status=$?
    rm -f "$work/$1.gguf"
    return $status
}
receipts() {
    carat run "$gguf" --raw 'The capital of France is' -n 24 --temp 1 --seed 7 --receipt "$work/r.json" >/dev/null &&
        carat replay "$work/r.json" "$gguf" && carat replay "$work/r.json" "$gguf" --isa avx2 -t 1 || return 1
    sed 's/"ids":\[\([0-9]*\),\([0-9]*\),/"ids":[\2,\1,/' "$work/r.json" >"$work/other.json"
    ! cmp -s "$work/r.json" "$work/other.json" || { echo 'no ids to alter' && return 1; }
    ! "$CARAT" replay "$work/other.json" "$gguf" >"$work/out" 2>&1 ||
        { echo 'an altered receipt is confirmed' && return 1; }
}
# serves MODEL: starts the server and sets url.
serves() {
    "$CARAT" serve "$1" --port 0 >"$work/serve.out" 2>"$work/serve.err" &
    server=$!
    for _ in {1..300}; do
        url=$(sed -n 's/^OpenAI API *//p' "$work/serve.out")
        [ -z "$url" ] || return 0
        kill -0 $server 2>/dev/null || break
        sleep 0.1
    done
    echo "carat serve does not start: $(cat "$work/serve.err")"
    return 1
}
stops() {
    local status=0
    kill -TERM "$server"
    wait "$server" || status=$?
    server=
    [ $status = 0 ] || { echo "carat serve ends with $status" && return 1; }
}
served_answer() {
    local right found
    right=$(carat run "$gguf" --raw 'The capital of France is' -n 12 --temp 0 --json |
        sed 's/.*"text":"\([^"]*\)".*/\1/')
    serves "$gguf" || return 1
    echo '{"prompt":"The capital of France is","max_tokens":12,"temperature":0}' >"$work/ask.json"
    found=$(golden served "$url/completions" "$work/ask.json" | sed 's/.*"text":"\([^"]*\)".*/\1/')
    stops || return 1
    [ -n "$right" ] && [ "$found" = "$right" ] ||
        { echo "served '$found', carat run says '$right'" && return 1; }
}
verified() { carat verify "$gguf" >"$work/out" || { tail -n 5 "$work/out" && return 1; }; }

# ---- EmbeddingGemma 300M ----

# vectors OUT OPTIONS...: the lines of all golden texts, those without a task last, $together of them (all) in
# a call, which go through one pass: what a chunk is to an embedder, which reads a text whole.
vectors() {
    local kind words part
    for kind in task bare; do
        golden texts "$data/embeddinggemma-300m.json" $kind >"$work/$kind.jsonl" || return 1
        words=()
        [ $kind = task ] || words=(--no-prompt)
        rm -f "$work"/part.*
        split -l "${together:-100}" "$work/$kind.jsonl" "$work/part."
        for part in "$work"/part.*; do
            carat embed "$embedder" --jsonl "$part" "${words[@]}" "${@:2}" || exit 1
        done | awk '{ sub(/"line":[0-9]+/, "\"line\":" NR) } 1' >"$1.$kind" || return 1
    done
}
vectors_hash() {
    vectors "$work/vectors" "$@" && cat "$work/vectors.task" "$work/vectors.bare" | sha256sum | cut -d' ' -f1
}
near_vectors() { # fast or exact
    local words=()
    [ "$1" = fast ] || words=(--exact)
    vectors "$work/vectors" "${words[@]}" &&
        golden vectors "$data/embeddinggemma-300m.json" task "$work/vectors.task" "$1" &&
        golden vectors "$data/embeddinggemma-300m.json" bare "$work/vectors.bare" "$1"
}
vectors_at_levels() { # fast or exact
    local words=() level way
    [ "$1" = fast ] || words=(--exact)
    for level in "${levels[@]}"; do
        is "vectors-$1" "$(vectors_hash "${words[@]}" --isa "$level")" "$level" || return 1
    done
    for way in '-t 1' '-t 3'; do
        # shellcheck disable=SC2086 # words
        is "vectors-$1" "$(vectors_hash "${words[@]}" $way)" "$way" || return 1
    done
    for way in 1 4; do
        is "vectors-$1" "$(together=$way vectors_hash "${words[@]}")" "$way texts in a pass" || return 1
    done
}
served_vector() {
    local right found
    right=$(carat embed "$embedder" --no-prompt 'red apples' --json | sed 's/.*"vectors":\[\[\([^]]*\)\].*/\1/')
    serves "$embedder" || return 1
    echo '{"input":"red apples","encoding_format":"float"}' >"$work/ask.json"
    # the server writes e-05 where the command writes e-5
    found=$(golden served "$url/embeddings" "$work/ask.json" |
        sed 's/.*"embedding":\[\([^]]*\)\].*/\1/; s/e-0*/e-/g')
    stops || return 1
    [ -n "$right" ] && [ "$found" = "$right" ] ||
        { echo "served '${found:0:60}...', carat embed says '${right:0:60}...'" && return 1; }
}

# ---- all of it ----

tests_of() {
    if [ "$1" = gemma3 ]; then
        printf '%s\n' verified exact_logits exact_answers 'logits_at_levels fast' 'logits_at_levels exact' \
            text_perplexity 'converted q8_0' 'converted q4_0' 'converted q4_k_m' receipts served_answer
    else
        printf '%s\n' 'near_vectors exact' 'near_vectors fast' 'vectors_at_levels fast' 'vectors_at_levels exact' \
            served_vector
    fi
}

for model in "${models[@]}"; do
    mapfile -t tests < <(tests_of "$model")
    if ! tools/real_models.sh "$model"; then
        echo "FAILED $model: its weights cannot be brought"
        failed=$((failed + 1))
        continue
    fi
    read -r _ file <"$data/$model.sha256"
    if [ ! -f "$CARAT_REAL/$file" ]; then
        skipped=$((skipped + ${#tests[@]}))
        continue
    fi
    for name in "${tests[@]}"; do
        start=$SECONDS word=passed
        # shellcheck disable=SC2086 # words
        if $name >"$work/said"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1)) word=FAILED
        fi
        printf '%s %s, %d s\n' "$word" "$name" $((SECONDS - start))
        sed 's/^/    /' "$work/said"
    done
done
[ $skipped -eq 0 ] || echo "skipped: $skipped tests, whose weights cannot be had"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
