#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds notes by what they mean, with the command `carat` and an embedding model.

    python3 search.py MODEL FOLDER QUESTION
"""
import json
import operator
import pathlib
import subprocess
import sys

if len(sys.argv) != 4:
    sys.exit("usage: python3 search.py MODEL FOLDER QUESTION")
model, folder, question = sys.argv[1:]
notes = sorted(pathlib.Path(folder).glob("*.txt"))
texts = [{"text": n.read_text(), "task": "document", "title": n.stem} for n in notes]
lines = "\n".join(json.dumps(t) for t in [{"text": question}] + texts)
out = subprocess.run(["carat", "embed", model, "--truncate", "--jsonl", "-"], input=lines, stdout=subprocess.PIPE, text=True).stdout
query, *vectors = [json.loads(line)["vector"] for line in out.splitlines()]
near = [(sum(map(operator.mul, query, v)), n.name) for v, n in zip(vectors, notes) if v]
for score, name in sorted(near, reverse=True)[:5]:
    print(f"{score:.3f}  {name}")
