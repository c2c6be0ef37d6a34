#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_receipt.py: the digests of receipts once more, by another program (NUMERICS.md section 15): numpy and
xxhash take the states behind the final norm from `carat logits --exact --tap final_norm`, and each id of a
greedy answer is the highest of its logits. check_receipt.py CARAT MODEL; prints how many tokens agree."""
import hashlib
import json
import struct
import subprocess
import sys
import tempfile

import numpy
import xxhash

PROMPTS = ["Turn on the kitchen lights", "Tell me of a lamp", "Where is the bed?"]
STEP = 64


def canonical(value):
    """RFC 8785 for what a receipt holds: its floats are short decimals, which repr spells alike."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        value = int(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{canonical(k)}:{canonical(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def digests(receipt, states):
    """The digest behind each token."""
    d = xxhash.xxh3_128(canonical(receipt["header"]).encode()).digest()
    prompt, answer = receipt["prompt"]["ids"], receipt["answer"]
    d = xxhash.xxh3_128(d + struct.pack(f"<{len(prompt) + 1}i", len(prompt), *prompt)).digest()
    end = [] if answer["end"] is None else [answer["end"]]
    out = []
    for i, token in enumerate(answer["ids"] + end):
        at = len(prompt) + i
        d = xxhash.xxh3_128(d + struct.pack("<Ii", at, token) + states[at - 1].astype("<f4").tobytes()).digest()
        out.append(d.hex())
    return out


def check(carat, model, work, prompt):
    """Tokens of the answer; raises what differs."""
    path = f"{work}/receipt.json"
    subprocess.run([carat, "run", model, prompt, "--exact", "--temp", "0", "--loop-guard", "off", "-n", "150",
                    "--ignore-eos", "--receipt", path], check=True, stdout=subprocess.DEVNULL)
    text = open(path, encoding="utf-8").read().rstrip("\n")
    statement = json.loads(text)
    assert canonical(statement) == text, "not in the canonical form"
    receipt = statement["predicate"]
    ids = receipt["answer"]["ids"]
    listed = hashlib.sha256(json.dumps(ids, separators=(",", ":")).encode()).hexdigest()
    assert statement["subject"][0]["digest"]["sha256"] == listed, "hash of the ids"
    known = ",".join(map(str, receipt["prompt"]["ids"] + ids))
    for tap, out in ((["--tap", "final_norm"], "states.npy"), ([], "logits.npy")):
        subprocess.run([carat, "logits", model, "--ids", known, "--all", "--exact", *tap, "-o", f"{work}/{out}"],
                       check=True)
    states, logits = (numpy.load(f"{work}/{name}.npy") for name in ("states", "logits"))
    logits[:, receipt["header"]["banned"]] = -numpy.inf
    found = digests(receipt, states)
    assert found[-1] == receipt["digest"], f"digest {found[-1]}, expected {receipt['digest']}"
    assert found[STEP - 1 :: STEP] == receipt["digests"], "the digests that are kept"
    first = len(receipt["prompt"]["ids"]) - 1
    wrong = [i for i, token in enumerate(ids) if logits[first + i].argmax() != token]
    assert not wrong, f"ids {wrong} are not the highest"
    return len(found)


with tempfile.TemporaryDirectory() as folder:
    tokens = [check(sys.argv[1], sys.argv[2], folder, p) for p in PROMPTS]
print(f"{len(tokens)} receipts, {sum(tokens)} tokens: the same digests")
