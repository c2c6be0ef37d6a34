#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes test/data/quant/palettes.txt: the least squared errors of clusterings, as PyPI's kmeans1d 0.5.0 finds them.

    python3 tools/make_palettes.py            # writes the file
    python3 tools/make_palettes.py --check    # compares it

A line: kind of values, their number, clusters, error.  Values follow from the first two (values below, and in
test/quant/test_palette.c): all are f16 numbers.
"""
import math
import os
import sys

import kmeans1d
import numpy as np

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "test/data/quant/palettes.txt")
CASES = [(kind, n, k) for kind in range(4) for n, k in [(7, 3), (100, 4), (100, 8), (640, 16), (2560, 4), (2560, 16),
                                                        (2560, 64), (20000, 256)]]


def values(kind, n):
    """0: a bell, 1: one side of it, 2: few values many times, 3: heavy tails"""
    state, out = 1, []
    for _ in range(n):
        u = 0
        for _ in range(4):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            u += state >> 40
        u = u / 2**25 - 1                        # -1 to 1, exactly
        out.append([u, abs(u), math.floor(u * 8) / 8, u * u * u * 1000][kind])
    return np.array(out, np.float64).astype(np.float32).astype(np.float16).astype(np.float64)


def error(kind, n, k):
    x = values(kind, n)
    k = min(k, len(set(x)))
    clusters, _ = kmeans1d.cluster(x, k)
    clusters = np.array(clusters)
    total = []
    for c in range(k):
        part = x[clusters == c]
        mean = math.fsum(part) / len(part)
        total += [(v - mean) ** 2 for v in part]
    return math.fsum(total)


def main():
    text = "".join(f"{kind} {n} {k} {error(kind, n, k):.17g}\n" for kind, n, k in CASES)
    if "--check" in sys.argv:
        sys.exit(0 if open(PATH, encoding="ascii").read() == text else f"{PATH} is not what kmeans1d gives")
    with open(PATH, "w", encoding="ascii") as f:
        f.write(text)


main()
