#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputes what `carat compare` measured, with numpy and scipy, from logits that `carat logits --all` wrote.

    python3 tools/check_metrics.py DIR/results.jsonl --ref 'ref-{}.npy' --test 'test-{}.npy' [--text-vocab N]
    python3 tools/check_metrics.py DIR/results.jsonl --data FILE.jsonl --carat build/release/carat \\
        --ref-model MODEL --test-model MODEL [--ref-options '--exact'] [--test-options '--kv f16']
    python3 tools/check_metrics.py --vectors >test/data/metrics.txt

In the first form {} is the number of a line of results.jsonl, from 1; a file has a row for each position, or for each id of
the prompt and of what follows it. In the second form the logits are made here, one prompt after the other, from the
prompt's ids: `ids` (or `prompt_ids`) of the line of the data with the same number, else its `messages`, `prompt` or `text`
through `carat render` and `carat tokenize`. Each number has to be within 1e-9 + 1e-6 |value| of what is recomputed,
integers have to be the same. KL is scipy.special.rel_entr, correlation scipy.stats.pearsonr. Nothing here is needed to
build or to test carat; the output of --vectors is committed.
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

import numpy as np
import scipy.special
import scipy.stats

REAL = ("kl", "kl_reverse", "correlation", "cosine", "entropy_ref", "entropy_test", "margin_ref", "margin_test", "largest",
        "logprob_ref", "logprob_test", "delta_p")
WHOLE = ("top_ref", "top_test", "match", "near_tie", "overlap")


# ---- one position ----

def highest(row):
    """Columns by logit descending, ties by column ascending."""
    return np.argsort(-row, kind="stable")


def metrics(ref, test, following, top=10, near_tie=0.05):
    """What carat_difference says of two rows of float32."""
    ref, test = ref.astype(np.float64), test.astype(np.float64)
    p, q = scipy.special.softmax(ref), scipy.special.softmax(test)
    log_p, log_q = scipy.special.log_softmax(ref), scipy.special.log_softmax(test)
    order_ref, order_test = highest(ref), highest(test)
    hundred = order_ref[:100]
    given = 0 <= following < len(ref)
    margin = ref[order_ref[0]] - ref[order_ref[1]]
    return {
        "kl": scipy.special.rel_entr(p, q).sum(),
        "kl_reverse": scipy.special.rel_entr(q, p).sum(),
        "correlation": scipy.stats.pearsonr(ref, test).statistic,
        "cosine": ref @ test / (np.linalg.norm(ref) * np.linalg.norm(test)),
        "entropy_ref": scipy.special.entr(p).sum(),
        "entropy_test": scipy.special.entr(q).sum(),
        "margin_ref": margin,
        "margin_test": test[order_test[0]] - test[order_test[1]],
        "largest": np.abs(ref[hundred] - test[hundred]).max(),
        "logprob_ref": log_p[following] if given else 0,
        "logprob_test": log_q[following] if given else 0,
        "delta_p": np.exp(log_q[following]) - np.exp(log_p[following]) if given else 0,
        "top_ref": order_ref[0],
        "top_test": order_test[0],
        "match": order_ref[0] == order_test[0],
        "near_tie": margin < near_tie,
        "overlap": len(set(order_ref[:top]) & set(order_test[:top])),
    }


# ---- results.jsonl ----

class Breaches:
    def __init__(self):
        self.n, self.checked = 0, 0

    def compare(self, where, found, right, exact=False):
        self.checked += 1
        good = found == right if exact else found is not None and abs(found - right) <= 1e-9 + 1e-6 * abs(right)
        if not good:
            self.n += 1
            if self.n <= 20:
                print(f"{where} is {found!r}, recomputed {right!r}")


def check_line(line, number, ref, test, args, breaches):
    """One prompt: ref and test are [rows][vocab]."""
    n = len(line["ids"])
    rows = []
    for name, logits in (("ref", ref), ("test", test)):
        first = 0 if len(logits) == n else line["n_prompt"] - 1
        if len(logits) < first + n:
            sys.exit(f"line {number}: the logits of {name} have {len(logits)} rows, expected {n} or {first + n}")
        rows.append(logits[first:first + n, :args.text_vocab])
    for i in range(n):
        if line.get("left_out") and line["left_out"][i]:
            continue  # which ids they are is not told
        right = metrics(rows[0][i], rows[1][i], line["ids"][i], args.top, args.near_tie)
        for name in REAL + WHOLE:
            breaches.compare(f"line {number}, {name}[{i}]", line[name][i], right[name], name in WHOLE)


# ---- logits ----

def carat(args, *words):
    return subprocess.run([args.carat, *words], check=True, capture_output=True, text=True).stdout


def prompt_ids(args, given, folder):
    """The prompt's ids of a line of the data."""
    for name in ("ids", "prompt_ids"):
        if name in given:
            return given[name]
    if "text" in given and "messages" not in given and "prompt" not in given:
        (folder / "text").write_text(given["text"])
        return [int(i) for i in carat(args, "tokenize", args.ref_model, "-f", str(folder / "text")).split()]
    messages = given.get("messages") or [{"role": "user", "content": given["prompt"]}]
    (folder / "messages").write_text(json.dumps(messages))
    words = ["render", args.ref_model, "--messages", str(folder / "messages"), "--ids"]
    if "tools" in given:
        (folder / "tools").write_text(json.dumps(given["tools"]))
        words += ["--tools", str(folder / "tools")]
    return [int(i) for i in carat(args, *words).replace(",", " ").split()]


def make_logits(args, model, options, ids, folder):
    (folder / "ids").write_text(",".join(str(i) for i in ids))
    carat(args, "logits", model, "--all", "--ids", f"@{folder / 'ids'}", "-o", str(folder / "logits.npy"),
          *shlex.split(options))
    return np.load(folder / "logits.npy")


def check_results(args, breaches):
    data = [json.loads(line) for line in open(args.data)] if args.data else None
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(open(args.results), 1):
            line = json.loads(text)
            if line["status"] != "ok" or not line["ids"]:
                continue
            if data:
                ids = prompt_ids(args, data[number - 1], pathlib.Path(folder)) + [i for i in line["ids"] if i >= 0]
                ref = make_logits(args, args.ref_model, args.ref_options, ids, pathlib.Path(folder))
                test = make_logits(args, args.test_model, args.test_options, ids, pathlib.Path(folder))
            else:
                ref, test = np.load(args.ref.format(number)), np.load(args.test.format(number))
            check_line(line, number, ref, test, args, breaches)


# ---- vectors for the tests in C ----

def rows_of(seed, n, scale, apart):
    """Rows that test/check/test_difference.c makes, too: a linear congruential generator, exact in float32 but for apart."""
    ref, test = np.empty(n), np.empty(n)
    for i in range(n):
        seed = (seed * 1664525 + 1013904223) % 2**32
        ref[i] = ((seed >> 8) - 2**23) * scale * 2.0**-20
        seed = (seed * 1664525 + 1013904223) % 2**32
        test[i] = ref[i] + ((seed >> 8) - 2**23) * apart * 2.0**-23
    return ref.astype(np.float32), test.astype(np.float32)


def print_vectors():
    print("# check_metrics.py --vectors: seed n scale apart top next |", *WHOLE, *REAL)
    for seed, n, scale, apart, top, following in (
            (1, 2, 1, 0.25, 1, 0), (2, 37, 0.5, 0.5, 10, 36), (3, 100, 0.125, 4, 30, -1), (4, 257, 1, 0.0625, 10, 11),
            (5, 1024, 0.25, 0.0009765625, 100, 512), (6, 1024, 0.5, 2, 1024, 3), (7, 3000, 2, 8, 1000, 7),
            (8, 5000, 0.03125, 16, 10, 4999), (9, 4096, 16, 1, 10, 2048)):
        right = metrics(*rows_of(seed, n, scale, apart), following, top)
        print(seed, n, scale, apart, top, following, "|", *(int(right[name]) for name in WHOLE),
              *(f"{right[name]:.17g}" for name in REAL))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("results", nargs="?", help="results.jsonl of carat compare")
    parser.add_argument("--ref", help="NPY files of the reference's logits, {} for the number of the line")
    parser.add_argument("--test", help="the same of the test")
    parser.add_argument("--data", help="the data set, to make the logits here")
    parser.add_argument("--carat", default="build/release/carat")
    parser.add_argument("--ref-model", default="tiny")
    parser.add_argument("--test-model", default="tiny")
    parser.add_argument("--ref-options", default="")
    parser.add_argument("--test-options", default="")
    parser.add_argument("--text-vocab", type=int, help="ids of the text vocabulary (default: all)")
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument("--near-tie", type=float, default=0.05)
    parser.add_argument("--vectors", action="store_true", help="print the vectors of test_difference.c")
    args = parser.parse_args()
    if args.vectors:
        return print_vectors()
    if not args.results or not (args.data or (args.ref and args.test)):
        parser.error("results.jsonl and --ref with --test, or --data, are needed")
    breaches = Breaches()
    check_results(args, breaches)
    print(f"{breaches.checked} numbers, {breaches.n} differ")
    return breaches.n > 0


if __name__ == "__main__":
    sys.exit(main())
