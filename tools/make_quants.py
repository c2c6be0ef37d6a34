#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes test/data/quant/rows: what ggml's quantisers make of values that are hard for them.

    python3 tools/make_quants.py LIBGGML_BASE.so           # writes the folder
    python3 tools/make_quants.py LIBGGML_BASE.so --check   # compares it with what the library gives

LIBGGML_BASE.so is libggml-base of llama.cpp, built for plain x86-64: llama-cpp-python 0.3.36 has its source.  A library
that fuses a multiplication and an addition writes other bytes; a block that shows it is tried first.
values.npy: [rows][256] float32; importance.npy: [256] float32, some 0.  TYPE.bin: the rows as that type, without
importance and then with it.  Q4_0 and Q5_0 without it are those of test/data/quant/encode, from another source.
"""
import argparse
import ctypes
import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLS = 256
TYPES = {"Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34),
         "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176),
         "Q6_K": (14, 256, 210), "IQ4_NL": (20, 32, 18), "IQ4_XS": (23, 256, 136), "MXFP4": (39, 32, 17)}


def values():
    """rows of each kind, two of each; the second has its block at another place"""
    r = np.random.default_rng(29)
    n = 2 * COLS
    normal = r.standard_normal(n)
    spike, few = np.zeros(n), np.zeros(n)
    spike[37::COLS + 3] = -65504
    few[5::101], few[8::97] = 3, -3
    bf16 = ((normal * 0.02).astype(np.float32).view(np.uint32) & 0xffff0000).view(np.float32)
    below_powers = np.nextafter(np.ldexp(np.ones(n, np.float32), r.integers(-20, 12, n)), np.float32(0))
    kinds = [normal * 0.02, r.standard_t(2, n) * 0.02, bf16, np.zeros(n), -np.zeros(n), np.full(n, 0.37),
             np.full(n, -0.37), spike, few, normal * 1e-41, normal * 1e-16, np.abs(normal), -np.abs(normal),
             r.integers(-8, 8, n) * 0.125, r.integers(-2, 3, n) * 0.5, normal * 13000.0,
             normal * np.exp(r.standard_normal(n) * 4) * 0.01, below_powers * r.choice([-1, 1], n)]
    return np.concatenate([k.astype(np.float32).reshape(2, COLS) for k in kinds])


def importance():
    r = np.random.default_rng(30)
    w = (r.random(COLS) ** 4 * 100).astype(np.float32)
    w[r.random(COLS) < 0.2] = 0
    return w


def quantised(library, number, block, size, x, w):
    out = np.zeros(x.size // block * size, np.uint8)
    library.ggml_quantize_chunk(number, x.ctypes.data, out.ctypes.data, 0, len(x), x.shape[1],
                                None if w is None else w.ctypes.data)
    return out


def fuses(library):
    """x * (1 / d) + 8.5 of Q4_0: where the product's rounding decides the code, a fused one decides otherwise"""
    r = np.random.default_rng(31)
    x = (r.standard_normal((4096, 32)) * 0.02).astype(np.float32)
    x = (x.view(np.uint32) & 0xffff0000).view(np.float32)
    largest = x[np.arange(len(x)), np.abs(x).argmax(1)]
    inverse = (np.float32(1) / (largest / np.float32(-8)))[:, None]
    once = (x.astype(np.float64) * inverse + 8.5).astype(np.float32).astype(np.int8)
    twice = (x * inverse + np.float32(8.5)).astype(np.int8)
    got = quantised(library, *TYPES["Q4_0"], x, None).reshape(-1, 18)[:, 2:]
    got = np.concatenate([got & 15, got >> 4], 1)
    assert (once != twice).any(), "no block tells them apart"
    return not (got == np.minimum(twice, 15)).all()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("library")
    p.add_argument("--out", default=os.path.join(ROOT, "test", "data", "quant", "rows"))
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    library = ctypes.CDLL(os.path.abspath(a.library))
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    library.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_int64] * 3 + \
        [ctypes.c_void_p]
    if fuses(library):
        sys.exit(f"{a.library} fuses multiplications with additions: build it for plain x86-64")
    os.makedirs(a.out, exist_ok=True)
    files = {"values.npy": values(), "importance.npy": importance()}
    for name, (number, block, size) in TYPES.items():
        rows = [quantised(library, number, block, size, files["values.npy"], w) for w in (None, files["importance.npy"])]
        files[name + ".bin"] = np.concatenate(rows)
    for name, data in files.items():
        path = os.path.join(a.out, name)
        if not a.check:
            np.save(path, data) if name.endswith("npy") else data.tofile(path)
        elif not np.array_equal(np.load(path) if name.endswith("npy") else np.fromfile(path, np.uint8), data, equal_nan=False):
            sys.exit(f"{path} differs from what the library gives")


if __name__ == "__main__":
    main()
