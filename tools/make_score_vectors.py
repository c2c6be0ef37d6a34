#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `carat perplexity` and `carat eval` must find for models/tiny, from the logits of transformers in float32:
test/data/score/expected.txt.

    python3 tools/make_score_vectors.py >test/data/score/expected.txt

Text, templates, cutting and counting are done here once more (QUALITY.md says how), with the tokenizer and the template
of transformers; log-probabilities are in float64. Lines: "KIND NUMBER...", which test/cli/quality/test_score_vectors.sh compares
to 1e-5 of the value. Nothing here is needed to build or to test carat, the output is committed.
"""
import json
import pathlib

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

ROOT = pathlib.Path(__file__).parent.parent
DATA = ROOT / "test/data/score"
BOS, STOP = 2, 106

tokenizer = AutoTokenizer.from_pretrained(ROOT / "models/tiny")
model = AutoModelForCausalLM.from_pretrained(ROOT / "models/tiny", dtype=torch.float32, attn_implementation="eager").eval()


def logprobs(ids, first):
    """Log-probability of ids[first] and of each behind it."""
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].double()
    every = torch.log_softmax(logits, -1)
    return [every[i - 1, ids[i]].item() for i in range(first, len(ids))]


def text_ids(text, bos=True):
    # control tokens in a text are text
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids
    return [BOS] * bos + ids


def chat_ids(messages, open_turn):
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=open_turn)
    return tokenizer(text, add_special_tokens=False).input_ids


def tell(kind, values):
    print(kind, *(f"{v:.12g}" for v in values))


def mean(values):
    return -sum(values) / len(values)


def windows(ids, size):
    for at in range(0, len(ids) - size + 1, size):
        yield [BOS] + ids[at + 1:at + size], size // 2 + 1


def strided(ids, size, stride):
    for first in range(1, len(ids), stride):
        begin = max(0, first + stride - size)
        yield [BOS] + ids[begin + 1:first + stride], first - begin


def common(a, b):
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


text = (DATA / "text.txt").read_text().removesuffix("\n")
for size in (64, 100):
    for ids, first in windows(text_ids(text), size):
        tell(f"window{size}", [mean(logprobs(ids, first))])
for ids, first in strided(text_ids(text), 64, 24):
    tell("stride", [mean(logprobs(ids, first))])
for line in (DATA / "talks.jsonl").read_text().splitlines():
    messages, every = json.loads(line)["messages"], []
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            before, ids = chat_ids(messages[:i], True), chat_ids(messages[:i + 1], False)
            ids = ids[:len(ids) - ids[::-1].index(STOP)]
            every += logprobs(ids, common(before, ids))
    tell("talk", [mean(every)])


def score(prompt, ids):
    first = common(prompt, ids)
    return sum(logprobs(ids, first))


for chat in (False, True):
    for line in (DATA / "items.jsonl").read_text().splitlines():
        item = json.loads(line)
        begin = (item["context"] + "\n\n" if "context" in item else "") + item["question"]
        listed = begin + "".join(f"\n{chr(65 + i)}. {c}" for i, c in enumerate(item["choices"])) + "\nAnswer:"
        letters = [chr(65 + i) for i in range(len(item["choices"]))]
        for kind, prompt, choices in (("letter", listed, letters),
                                      ("likelihood", begin + ("" if chat else "\nAnswer:"), item["choices"])):
            if chat:
                ids = chat_ids([{"role": "user", "content": prompt}], True)
                tell(f"chat-{kind}", [score(ids, ids + text_ids(c, False)) for c in choices])
            else:
                ids = text_ids(prompt)
                tell(kind, [score(ids, text_ids(f"{prompt} {c}")) for c in choices])
