#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What other programs' samplers leave of recorded distributions: test/data/sampling/links.bin.

    python3 tools/make_sampling_vectors.py [OUT]          (OUT: test/data/sampling/links.bin)

200 distributions, each with tokens that came before it, go through the samplers of llama.cpp (the C functions that
llama-cpp-python 0.3.36 binds) and the processors of transformers (tools/requirements.txt). What is left, and its
probabilities in float64, is written; test/kernel/test_chain_vectors.c has carat's links do the same. Nothing here is
needed to build or to test carat, the output is committed.

The file, little-endian: int32 number of distributions; for each int32 n, int32 n_held, float32 logits[n], uint8
held[n_held], the parameters as float32 (PARAMETERS), and for each chain (CHAINS) int32 n_kept, uint8 ids[n_kept]
ascending and float32 probabilities[n_kept]. Links are numbered as carat_link.
"""
import ctypes
import struct
import sys

import llama_cpp.llama_cpp as llama
import numpy as np
import torch
from transformers import generation as hf

PENALTIES, DRY, TOP_K, TEMPERATURE, TYPICAL, TOP_P, MIN_P, XTC = range(8)
PARAMETERS = ("temperature", "top_k", "top_p", "min_p", "repeat", "frequency", "presence", "last_n", "multiplier",
              "base", "allowed", "typical", "threshold")
LLAMA = [
    [PENALTIES], [DRY], [TEMPERATURE, TYPICAL], [TOP_K, TEMPERATURE, TOP_P, MIN_P], [TEMPERATURE, XTC],
    [PENALTIES, DRY, TOP_K, TEMPERATURE, TYPICAL, TOP_P, MIN_P, XTC], [TOP_P, TEMPERATURE, XTC, TYPICAL],
    [TOP_K, PENALTIES, MIN_P, TEMPERATURE, TOP_P],
]
TRANSFORMERS = [[PENALTIES, TOP_K, TEMPERATURE, TYPICAL], [TEMPERATURE, TOP_K, TOP_P], [TEMPERATURE, MIN_P]]
CHAINS = LLAMA + TRANSFORMERS  # those of transformers have a repeat penalty alone


def softmax(logits):
    e = np.exp(logits.astype(np.float64) - logits.max())
    return e / e.sum()


def llama_sampler(link, p, n):
    f = ctypes.c_float
    return {
        PENALTIES: lambda: llama.llama_sampler_init_penalties(n, int(p["last_n"]), f(p["repeat"]),
                                                              f(p["frequency"]), f(p["presence"])),
        DRY: lambda: llama.llama_sampler_init_dry(None, f(p["multiplier"]), f(p["base"]), int(p["allowed"]), 4096, None,
                                                  0),
        TOP_K: lambda: llama.llama_sampler_init_top_k(int(p["top_k"])),
        TEMPERATURE: lambda: llama.llama_sampler_init_temp(f(p["temperature"])),
        TYPICAL: lambda: llama.llama_sampler_init_typical(f(p["typical"]), 1),
        TOP_P: lambda: llama.llama_sampler_init_top_p(f(p["top_p"]), 1),
        MIN_P: lambda: llama.llama_sampler_init_min_p(f(p["min_p"]), 1),
        XTC: lambda: llama.llama_sampler_init_xtc(f(1.0), f(p["threshold"]), 1, 1),
    }[link]()


def by_llama(links, p, logits, held):
    data = (llama.llama_token_data * len(logits))(*[(i, float(x), 0.0) for i, x in enumerate(logits)])
    array = llama.llama_token_data_array(data, len(logits), -1, False)
    for link in links:
        sampler = llama_sampler(link, p, len(logits))
        for token in held:
            llama.llama_sampler_accept(sampler, int(token))
        llama.llama_sampler_apply(sampler, ctypes.byref(array))
        llama.llama_sampler_free(sampler)
    left = sorted((array.data[i].id, array.data[i].logit) for i in range(array.size))
    return [i for i, _ in left], softmax(np.array([x for _, x in left], np.float32))


def by_transformers(links, p, logits, held):
    scores = torch.tensor(logits)[None]
    ids = torch.tensor([[int(t) for t in held]])
    for link in links:
        scores = {
            PENALTIES: lambda: hf.RepetitionPenaltyLogitsProcessor(float(p["repeat"])),
            TOP_K: lambda: hf.TopKLogitsWarper(int(p["top_k"])),
            TEMPERATURE: lambda: hf.TemperatureLogitsWarper(float(p["temperature"])),
            TYPICAL: lambda: hf.TypicalLogitsWarper(float(p["typical"])),
            TOP_P: lambda: hf.TopPLogitsWarper(float(p["top_p"])),
            MIN_P: lambda: hf.MinPLogitsWarper(float(p["min_p"])),
        }[link]()(ids, scores)
    left = [i for i in range(len(logits)) if scores[0, i] > -float("inf")]
    return left, softmax(scores[0, left].numpy())


def main(path):
    random = np.random.default_rng(7)
    out = struct.pack("<i", 200)
    for _ in range(200):
        n = int(random.integers(12, 41))
        logits = (random.normal(size=n) * random.uniform(0.5, 5)).astype(np.float32)
        held = random.integers(0, n, random.integers(10, 50))
        for _ in range(2):  # something that comes again, so that it could go on
            at, length = random.integers(0, len(held)), random.integers(2, 8)
            held = np.concatenate([held, held[at:at + length]])
        p = dict(temperature=random.uniform(0.5, 2), top_k=random.integers(2, n + 5), top_p=random.uniform(0.3, 0.99),
                 min_p=random.uniform(0.005, 0.3), repeat=random.uniform(0.8, 1.6), frequency=random.uniform(-0.3, 1),
                 presence=random.uniform(-0.3, 1), last_n=random.integers(5, 80), multiplier=random.uniform(0.2, 1.5),
                 base=random.uniform(1.1, 2), allowed=random.integers(1, 4), typical=random.uniform(0.3, 0.99),
                 threshold=random.uniform(0.02, 0.4))
        p = {k: np.float32(v) for k, v in p.items()}
        out += struct.pack("<ii", n, len(held)) + logits.tobytes() + bytes(int(t) for t in held)
        out += struct.pack(f"<{len(PARAMETERS)}f", *[p[k] for k in PARAMETERS])
        for links in CHAINS:
            ids, probabilities = (by_llama if any(links is c for c in LLAMA) else by_transformers)(links, p, logits, held)
            out += struct.pack("<i", len(ids)) + bytes(ids) + probabilities.astype("<f4").tobytes()
    with open(path, "wb") as f:
        f.write(out)
    print(f"{path}: {len(out)} bytes")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "test/data/sampling/links.bin")
