#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# real_golden.py: compares what carat says of real weights with golden values of the reference implementation
# (test/data/real/*.json), for tools/check_real.sh. Python's own library alone is needed.
# Usage: real_golden.py ids GOLDEN CASE                    the ids of a case, and of its greedy answer
#        real_golden.py logits GOLDEN CASE LOGITS.npy      within 1e-4 of the row's largest logit
#        real_golden.py answer GOLDEN CASE LOGITS.npy      behind ids and answer: the highest are the answer
#        real_golden.py texts GOLDEN bare|task             texts without, with a task, for carat embed --jsonl
#        real_golden.py vectors GOLDEN bare|task LINES exact|fast    within 1e-4 of the largest value; in fast
#                                                          a cosine of at least 0.9999
#        real_golden.py served URL FILE                    a POST of FILE's JSON; its answer
import json
import math
import struct
import sys
import urllib.request
from array import array


def golden(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["cases"]


def texts(path, kind):
    return [case for case in golden(path) if (case["prompt"] == "none") == (kind == "bare")]


def logits(path):
    with open(path, "rb") as file:
        head = file.read(10)
        if head[:6] != b"\x93NUMPY":
            sys.exit(f"{path} is no NPY file")
        shape = file.read(struct.unpack("<H", head[8:10])[0]).decode()
        if "'<f4'" not in shape:
            sys.exit(f"{path} is {shape}, expected float32")
        values = array("f")
        values.frombytes(file.read())
    if sys.byteorder != "little":
        values.byteswap()
    return values


def check_logits(case, path):
    values, rows, worst = logits(path), case["rows"], 0
    width, rest = divmod(len(values), len(rows))
    if rest or not width:
        sys.exit(f"{path} has {len(values)} values, expected {len(rows)} rows")
    for r, row in enumerate(rows):
        for i, right in row["top"] + row["sample"]:
            off = abs(values[r * width + i] - right) / row["max"]
            if not off <= 1e-4:
                sys.exit(f"row {r}, id {i}: {values[r * width + i]}, expected {right}")
            worst = max(worst, off)
    print(f"{len(rows)} rows, at most {worst:.1e} of the largest logit apart")


def check_answer(case, path):
    """A position at a time, each behind the reference's own ids."""
    values, right = logits(path), case["greedy"]
    n = len(case["ids"]) + len(right) - 1
    width = len(values) // n
    for i, wanted in enumerate(right):
        begin = (len(case["ids"]) - 1 + i) * width
        row = values[begin : begin + width]
        found = row.index(max(row))
        if found != wanted:
            sys.exit(f"step {i}: {found}, expected {wanted}")
    print(f"{len(right)} ids equal")


def check_vectors(cases, path, mode):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    if [line["line"] for line in lines] != list(range(1, len(cases) + 1)):
        sys.exit(f"{path} has {len(lines)} lines, expected {len(cases)} in order")
    worst = 0
    for case, line in zip(cases, lines):
        found, right = line["vector"], case["vector"]
        if len(found) != len(right):
            sys.exit(f"{case['text']!r} has {len(found)} values, expected {len(right)}")
        off = max(abs(a - b) for a, b in zip(found, right)) / max(map(abs, right))
        norm = math.sqrt(sum(a * a for a in found) * sum(b * b for b in right))
        if mode == "fast":
            off = 1 - sum(a * b for a, b in zip(found, right)) / norm
        if not off <= 1e-4:
            sys.exit(f"{case['text']!r}, {mode}: {off:.2e} apart, expected at most 1e-4")
        worst = max(worst, off)
    print(f"{len(cases)} vectors, {mode}: at most {worst:.1e} apart")


def main():
    what, path, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    if what == "ids":
        case = golden(path)[int(rest[0])]
        print(",".join(map(str, case["ids"])), ",".join(map(str, case["greedy"])))
    elif what == "logits":
        check_logits(golden(path)[int(rest[0])], rest[1])
    elif what == "answer":
        check_answer(golden(path)[int(rest[0])], rest[1])
    elif what == "texts":
        for case in texts(path, rest[0]):
            task = {} if rest[0] == "bare" else {"task": case["prompt"]}
            print(json.dumps({"text": case["text"], **task}))
    elif what == "vectors":
        check_vectors(texts(path, rest[0]), *rest[1:])
    elif what == "served":
        with open(rest[0], "rb") as file:
            request = urllib.request.Request(path, file.read(), {"Content-Type": "application/json"})
        print(urllib.request.urlopen(request, timeout=60).read().decode())
    else:
        sys.exit(f"real_golden.py has no {what}")


main()
