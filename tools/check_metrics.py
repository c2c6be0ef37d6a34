#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputes what `carat compare` measured, with numpy and scipy, from logits that `carat logits --all` wrote.

    python3 tools/check_metrics.py DIR/results.jsonl --ref 'ref-{}.npy' --test 'test-{}.npy' [--text-vocab N]
    python3 tools/check_metrics.py DIR/results.jsonl --data FILE.jsonl --carat build/release/carat \\
        --ref-model MODEL --test-model MODEL [--ref-options '--exact'] [--test-options '--kv f16']
    python3 tools/check_metrics.py DIR/results.jsonl --summary DIR/summary.json
    python3 tools/check_metrics.py --vectors >test/data/metrics.txt
    python3 tools/check_metrics.py --summary-vectors test/data/compare

In the first form {} is the number of a line of results.jsonl, from 1; a file has a row for each position, or for each id of
the prompt and of what follows it. In the second form the logits are made here, one prompt after the other, from the
prompt's ids: `ids` (or `prompt_ids`) of the line of the data with the same number, else its `messages`, `prompt` or `text`
through `carat render` and `carat tokenize`; those of the reference are the recorded ones where the line names them. Each
number has to be within 1e-9 + 1e-6 |value| of what is recomputed, integers have to be the same. KL is
scipy.special.rel_entr, correlation scipy.stats.pearsonr, quantiles numpy.quantile. The third form recomputes the summary
from the lines alone, its intervals with the same random numbers. Nothing here is needed to build or to test carat; the
output of the last two is committed.
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
OF_NEXT = REAL[-3:]  # null where nothing comes next
WHOLE = ("top_ref", "top_test", "match", "near_tie", "overlap")
OF_REF = ("entropy_ref", "margin_ref", "logprob_ref", "top_ref", "near_tie")  # of all ids, whatever the test leaves out


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
        self.n, self.checked, self.worst = 0, 0, 0.0

    def compare(self, where, found, right, exact=False):
        self.checked += 1
        if exact:
            good = found == right
        else:
            apart = np.inf if found is None else abs(found - right) / (1e-9 + 1e-6 * abs(right))
            good = apart <= 1
            self.worst = max(self.worst, apart)
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
        some = line.get("left_out") and line["left_out"][i]  # which ids they are is not told
        right = metrics(rows[0][i], rows[1][i], line["ids"][i], args.top, args.near_tie)
        for name in OF_REF if some else REAL + WHOLE:
            nothing = name in OF_NEXT and line["ids"][i] < 0
            breaches.compare(f"line {number}, {name}[{i}]", line[name][i], None if nothing else right[name],
                             nothing or name in WHOLE)
    check_answers(line, number, breaches)


def repetition(ids):
    """What carat_repetition says of the ids of an answer."""
    seen, repeated = set(), 0
    for i in range(len(ids) - 3):
        gram = tuple(ids[i:i + 4])
        repeated += gram in seen
        seen.add(gram)
    for period in range(1, 65):
        start = len(ids) - period
        while start > 0 and start <= len(ids) - period and ids[start - 1] == ids[start - 1 + period]:
            start -= 1
        if len(ids) - start >= max(3 * period, 32):
            return {"repeated_4grams": repeated, "cycle": period, "cycle_start": start}
    return {"repeated_4grams": repeated, "cycle": 0, "cycle_start": 0}


def check_answers(line, number, breaches):
    """What a line says of both answers, from its arrays."""
    n, stop, answers = len(line["ids"]), line["stop"], {}
    for side in ("ref", "test"):
        ids = answers[side] = line[f"answer_{side}_ids"]
        breaches.compare(f"line {number}, loop_{side}", line[f"loop_{side}"], repetition(ids), True)
        if line["driver"] != "free":
            end = n if stop is None else stop + 1
            breaches.compare(f"line {number}, answer_{side}_ids", ids, line[f"top_{side}"][:end], True)
    breaches.compare(f"line {number}, equal", line["equal"], answers["ref"] == answers["test"], True)
    first = next((i for i in range(n) if not line["match"][i] and (stop is None or i <= stop)), None)
    found = line["first_divergence"]
    breaches.compare(f"line {number}, first_divergence", found and found["index"], first, True)
    if found and first is not None:
        for side in ("ref", "test"):
            breaches.compare(f"line {number}, id_{side}", found[f"id_{side}"], line[f"top_{side}"][first], True)
            breaches.compare(f"line {number}, margin_{side}", found[f"margin_{side}"], line[f"margin_{side}"][first], True)
        breaches.compare(f"line {number}, near_tie", found["near_tie"], bool(line["near_tie"][first]), True)


# ---- summary.json ----

SUMMARISED = {"kl": "kl", "kl_reverse": "kl_reverse", "correlation": "correlation", "cosine": "cosine",
              "entropy_ref": "entropy_ref", "entropy_test": "entropy_test", "match_rate": "match", "match_rate_clear": "match",
              "overlap": "overlap", "largest": "largest", "margin_ref": "margin_ref", "margin_test": "margin_test",
              "outside": "outside"}
RESAMPLES = 2000


def philox(c0, c1):
    """The upper 24 bits of the first word of Philox4x32-10, key 0, counters (c0, c1, 0, 0), as numbers below 1."""
    word, shift = np.uint64(0xffffffff), np.uint64(32)
    c0, c1 = (np.ascontiguousarray(c, np.uint64) for c in np.broadcast_arrays(c0, c1))
    c2, c3, k0, k1 = np.zeros_like(c0), np.zeros_like(c0), 0, 0
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = (b >> shift) ^ c1 ^ np.uint64(k0), b & word
        c2, c3 = (a >> shift) ^ c3 ^ np.uint64(k1), a & word
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return (c0 >> np.uint64(8)) * 2.0**-24


def summarise(parts):
    """Of a list with the values of each prompt, in which NaN does not count."""
    parts = [part[~np.isnan(part)] for part in map(np.asarray, parts)]
    parts = [part for part in parts if len(part)]
    if not parts:
        return dict.fromkeys(("mean", "median", "p90", "p99", "max", "interval"))
    values, n, interval = np.concatenate(parts), len(parts), None
    median, p90, p99 = np.quantile(values, [0.5, 0.9, 0.99])
    if n > 1:
        drawn = np.floor(philox(np.arange(RESAMPLES)[:, None], np.arange(n)[None, :]) * n).astype(int)
        sums, counts = np.array([part.sum() for part in parts]), np.array([len(part) for part in parts])
        interval = list(np.quantile(sums[drawn].sum(1) / counts[drawn].sum(1), [0.025, 0.975]))
    return {"mean": values.mean(), "median": median, "p90": p90, "p99": p99, "max": values.max(), "interval": interval}


def numbers(line, name, first, last):
    if name == "outside" and name not in line:
        return np.zeros(last - first)
    nothing = -np.inf if name == "logprob_test" else np.nan  # the test leaves out what follows
    return np.array([nothing if x is None else x for x in line[name][first:last]], float)


def summary_parts(lines):
    """name: the values of each prompt, up to the position that gave a stop id."""
    parts = {name: [] for name in [*SUMMARISED, "delta_p", "logprob_ref", "logprob_test"]}
    for line in lines:
        end = len(line["kl"]) if line["stop"] is None else line["stop"] + 1
        for name in parts:
            values = numbers(line, SUMMARISED.get(name, name), 0, end)
            if name == "match_rate_clear":
                values[numbers(line, "near_tie", 0, end) == 1] = np.nan
            if name not in SUMMARISED:
                values[numbers(line, "ids", 0, end) < 0] = np.nan
            parts[name].append(values)
    return parts


def part(lines, select):
    """Means over the positions for which select(line, index) holds, and the first of them at which the top ids differ."""
    rows = [(line["kl"][i], line["correlation"][i], line["match"][i], i)
            for line in lines for i in range(len(line["kl"])) if select(line, i)]
    kl, correlation, match, _ = np.array(rows, float).T if rows else np.full((4, 1), np.nan)
    return len(rows), kl.mean(), correlation.mean(), match.mean(), min((r[3] for r in rows if not r[2]), default=None)


def recompute_summary(lines):
    parts = summary_parts(lines)
    good = [line for line in lines if line["status"] == "ok"]
    right = {name: summarise(parts[name]) for name in SUMMARISED}
    right["prompts"], right["failed"] = len(lines), len(lines) - len(good)
    right["context"] = sum(line["status"] == "context" for line in lines)
    right["numeric"] = sum(line["status"] == "numeric" for line in lines)
    right["positions"] = sum(len(values) for values in parts["kl"])
    right["near_ties"] = sum(sum(line["near_tie"][:len(values)]) for line, values in zip(lines, parts["kl"]))
    right["left_out"] = sum(sum(line.get("left_out", [])[:len(values)]) for line, values in zip(lines, parts["kl"]))
    right["delta_p_rms"] = np.sqrt(np.nanmean(np.concatenate(parts["delta_p"])**2))
    for side in ("ref", "test"):
        right[f"perplexity_{side}"] = np.exp(-np.nanmean(np.concatenate(parts[f"logprob_{side}"])))
        right[f"loops_{side}"] = sum(line[f"loop_{side}"]["cycle"] > 0 for line in good)
        right[f"repeated_4grams_{side}"] = sum(line[f"loop_{side}"]["repeated_4grams"] for line in good)
    right["equal_answers"] = np.mean([line["equal"] for line in good]) if good else np.nan
    parted = [{"prompt": line["id"], **line["first_divergence"]} for line in good if line["first_divergence"]]
    right["diverged"] = len(parted)
    right["first_divergence"] = min(parted, key=lambda d: d["index"], default=None)
    n, *means, _ = part(lines, lambda line, i: line["stop"] is not None and i > line["stop"])
    right["after_stop"] = dict(zip(("positions", "kl", "correlation", "match_rate"), (n, *means))) if n else None
    at = lines[0]["run"]["options"]["at"]
    if at:
        names = ("positions", "kl", "correlation", "match", "first_divergence")
        right["at"] = [{"tokens": t, **dict(zip(names, part(lines, lambda line, i, t=t: i < t)))} for t in at]
    return right


def check_value(where, found, right, breaches):
    """A number, or all that an object or list of them has."""
    if isinstance(right, dict):
        breaches.compare(f"{where}: members", sorted(found or {}), sorted(right), True)
        for name in right:
            check_value(f"{where}.{name}", (found or {}).get(name), right[name], breaches)
    elif isinstance(right, list):
        breaches.compare(f"{where}: length", len(found or []), len(right), True)
        for i, pair in enumerate(zip(found or [], right)):
            check_value(f"{where}[{i}]", *pair, breaches)
    elif isinstance(right, (float, np.floating)) and np.isfinite(right):
        breaches.compare(where, found, float(right))
    else:
        breaches.compare(where, found, None if isinstance(right, float) else right, True)


def check_summary(args, breaches):
    found = json.load(open(args.summary))
    right = recompute_summary([json.loads(line) for line in open(args.results)])
    for name in right:
        check_value(f"summary, {name}", found.get(name), right[name], breaches)


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
        return [int(i) for i in carat(args, "tokenize", args.ref_model, "--special", "-f", str(folder / "text")).split()]
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
                given = data[number - 1]
                ids = prompt_ids(args, given, pathlib.Path(folder))[:line["n_prompt"]] + [i for i in line["ids"] if i >= 0]
                if "logits" in given:
                    ref = np.load(given["logits"])
                else:
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


def write_summary_vectors(folder):
    """Lines of results that no model made, with all that can be in one, and their summary, for test_compare_summary.c."""
    rng, lines = np.random.default_rng(18), []
    for number, (n, stop, status) in enumerate(((7, None, "ok"), (9, 4, "ok"), (0, None, "context"), (3, None, "numeric"),
                                                (5, 4, "ok"), (12, 0, "ok"),
                                                (0, None, "context")), 1):
        line = {"id": f"p{number}" if number % 2 else number, "status": status, "stop": stop}
        for name in REAL:
            line[name] = [float(f"{x:.9g}") for x in rng.exponential(0.3 if name != "correlation" else 1, n)]
        for name in ("logprob_ref", "logprob_test"):
            line[name] = [-x for x in line[name]]
        line["delta_p"] = [x - 0.3 for x in line["delta_p"]]
        line["ids"] = [int(i) for i in rng.integers(0, 99, n)]
        line["match"], line["near_tie"] = ([int(i) for i in rng.random(n) < share] for share in (0.8, 0.25))
        line["overlap"] = [int(i) for i in rng.integers(5, 11, n)]
        if number == 1:  # nothing follows the last, and one number is none
            line["ids"][-1], line["largest"][2] = -1, None
            for name in ("logprob_ref", "logprob_test", "delta_p"):
                line[name][-1] = None
            line["run"] = {"options": {"at": [2, 6, 100]}}
        if number == 2:
            line["left_out"] = [int(i) for i in rng.integers(0, 3, n)]
            line["outside"] = [0.125 * i for i in line["left_out"]]
        line["equal"] = number == 5
        line["first_divergence"] = {"index": 8 - number, "margin_ref": 0.5} if number in (1, 6) else None
        if number == 5:
            line["first_divergence"] = {"index": 2, "margin_ref": 0.25}
        for side, cycle in (("ref", number == 2), ("test", number in (2, 6))):
            line[f"loop_{side}"] = {"repeated_4grams": number + cycle, "cycle": 3 * cycle, "cycle_start": 0}
        if status != "ok":
            line["message"] = f"it is {status}"
        lines.append(line)
    right = recompute_summary(lines)
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "summary.json").write_text(json.dumps(right, indent=1, default=lambda x: x.item()) + "\n")


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
    parser.add_argument("--summary", help="summary.json, recomputed from the results")
    parser.add_argument("--vectors", action="store_true", help="print the vectors of test_difference.c")
    parser.add_argument("--summary-vectors", help="write the data of test_compare_summary.c into this folder")
    args = parser.parse_args()
    if args.vectors:
        return print_vectors()
    if args.summary_vectors:
        return write_summary_vectors(args.summary_vectors)
    if not args.results or not (args.data or args.summary or (args.ref and args.test)):
        parser.error("results.jsonl and --ref with --test, --data or --summary, are needed")
    breaches = Breaches()
    if args.summary:
        check_summary(args, breaches)
    if args.data or args.ref:
        check_results(args, breaches)
    print(f"{breaches.checked} numbers, {breaches.n} differ; the worst is at {breaches.worst:.2g} of what is allowed")
    return breaches.n > 0


if __name__ == "__main__":
    sys.exit(main())
