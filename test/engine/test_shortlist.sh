#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_shortlist.sh: what a shortlist of tiles finds, once more in Python from the logits of the whole head:
# the ids and logits of every step, and the recall that audits report. Which tiles are looked at is said in
# src/model/tiles.h.
set -euo pipefail

python3 -c 'import array, json' 2>/dev/null || { echo "there is no python3"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
tiny=${CARAT_SOURCE:?}/models/tiny

check() { # tile, tiles of the shortlist, best ids
    ids=2,105,621,107,$4
    "${CARAT:?}" decode "$tiny" --ids "$ids" --steps 40 --lm-head shortlist --lm-tile "$1" --lm-shortlist-tiles "$2" \
        --top "$3" --audit 1 --min-recall 0.000001 --jsonl >"$dir/steps" 2>/dev/null
    python3 - "$dir/steps" >"$dir/all" <<'END' "$ids"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
print(",".join([sys.argv[2]] + [str(line["id"]) for line in lines if "step" in line]))
END
    "$CARAT" logits "$tiny" --ids "@$dir/all" --all -o "$dir/logits.npy" 2>/dev/null
    python3 - "$dir" "$1" "$2" "$3" <<'END'
import array, json, sys

folder, rows, most, k = sys.argv[1], *map(int, sys.argv[2:])
text = [int(i) for i in open(folder + "/all").read().split(",")]
lines = [json.loads(line) for line in open(folder + "/steps")]
steps = [line for line in lines if "step" in line]
data = open(folder + "/logits.npy", "rb").read()
values = array.array("f", data[10 + data[8] + 256 * data[9]:])
vocab = len(values) // len(text)
tiles = -(-vocab // rows)

def shortlist(held):
    around = min(most - 1, -(-most // 8))
    chosen = []
    for i in reversed(held[-1024:]):
        if len(chosen) == most - around:
            break
        if i // rows not in chosen:
            chosen.append(i // rows)
    turn = (len(held) - 1) * around
    while len(chosen) < most:
        if turn % tiles not in chosen:
            chosen.append(turn % tiles)
        turn += 1
    return chosen

def best(ids, logits):
    return sorted(ids, key=lambda i: (-logits[i], i))[:k]

recall = []
for n, step in enumerate(steps):
    held = text[:len(text) - len(steps) + n]
    logits = values[(len(held) - 1) * vocab:len(held) * vocab]
    whole = best(range(vocab), logits)
    few = best([i for t in shortlist(held) for i in range(t * rows, min((t + 1) * rows, vocab))], logits)
    recall.append(len(set(whole) & set(few)) / k)
    found = [i for i, _ in step["top"]]
    assert found == few and step["id"] == few[0], (n, found, few)
    assert all(abs(logits[i] - z) <= 1e-6 * abs(z) for i, z in step["top"]), (n, step)
stated = [line for line in lines if "recall" in line][0]
assert stated["audits"] == len(steps), stated
assert abs(stated["recall"] - sum(recall) / len(recall)) < 1e-6, (stated["recall"], sum(recall) / len(recall))
assert 0 < stated["recall"] < 1
print("tile %d, %d of %d tiles, %d best: recall %.3f" % (rows, most, tiles, k, stated["recall"]))
END
}

check 64 4 5 236
check 64 8 3 500,501
check 128 2 7 900
