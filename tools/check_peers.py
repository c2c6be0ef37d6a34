#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare what `carat convert` writes with what other programs write. Needs the gguf package
(requirements.txt) and llama.cpp's library, built for x86-64 without -march, so that it fuses nothing.

usage: check_peers.py CARAT LIBLLAMA.so MODEL [MODEL ...]

Each MODEL is written as BF16, and that file is quantised by both programs, under every name that both know,
without and with importance, and by options: all tensors must have equal types and bytes. Ends with "N passed,
M failed"; the exit code is 1 when something failed."""
import ctypes
import os
import subprocess
import sys
import tempfile

import gguf
import numpy as np

NUMBERS = {"q4_0": 2, "q4_1": 3, "q8_0": 7, "q5_0": 8, "q5_1": 9, "q2_k": 10, "q3_k_s": 11,
           "q3_k_m": 12, "q3_k_l": 13, "q4_k_s": 14, "q4_k_m": 15, "q5_k_s": 16, "q5_k_m": 17, "q6_k": 18,
           "q2_k_s": 21, "iq4_nl": 25, "iq4_xs": 30, "mxfp4_moe": 38}
TYPES = {t.name.lower(): int(t) for t in gguf.GGMLQuantizationType}
NO_TYPE = 43  # GGML_TYPE_COUNT
passed = failed = 0


class Imatrix(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.POINTER(ctypes.c_float)),
                ("size", ctypes.c_size_t)]


class Override(ctypes.Structure):
    _fields_ = [("pattern", ctypes.c_char_p), ("type", ctypes.c_int)]


class Params(ctypes.Structure):
    _fields_ = ([("nthread", ctypes.c_int32), ("ftype", ctypes.c_int), ("output_tensor_type", ctypes.c_int),
                 ("token_embedding_type", ctypes.c_int)] +
                [(name, ctypes.c_bool) for name in ("allow_requantize", "quantize_output_tensor", "only_copy",
                                                    "pure", "keep_split", "dry_run")] +
                [("imatrix", ctypes.POINTER(Imatrix)), ("kv_overrides", ctypes.c_void_p),
                 ("tt_overrides", ctypes.POINTER(Override)), ("prune_layers", ctypes.c_void_p),
                 ("max_buf_size", ctypes.c_size_t)])


def load(path):
    lib = ctypes.CDLL(path)
    lib.llama_model_quantize_default_params.restype = Params
    lib.llama_model_quantize.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Params)]
    quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
    lib.llama_log_set(quiet, None)
    lib.quiet = quiet  # lives as long
    return lib


def quantize(lib, model, out, mix, importance=None, pure=False, output=None, embedding=None, tensors=()):
    p = lib.llama_model_quantize_default_params()
    p.nthread, p.ftype, p.pure = 2, NUMBERS[mix], pure
    p.output_tensor_type = TYPES[output] if output else NO_TYPE
    p.token_embedding_type = TYPES[embedding] if embedding else NO_TYPE
    if importance:
        rows = (Imatrix * (len(importance) + 1))()
        for i, (name, v) in enumerate(importance.items()):
            rows[i] = Imatrix(name.encode(), v.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), v.size)
        p.imatrix = rows
    if tensors:
        rows = (Override * (len(tensors) + 1))()
        for i, (pattern, kind) in enumerate(tensors):
            rows[i] = Override(pattern.encode(), TYPES[kind])
        p.tt_overrides = rows
    return lib.llama_model_quantize(model.encode(), out.encode(), ctypes.byref(p)) == 0


def tensors_of(path):
    return {t.name: (t.tensor_type, t.data) for t in gguf.GGUFReader(path).tensors}


def check(what, ours, theirs):
    global passed, failed
    a, b = tensors_of(ours), tensors_of(theirs)
    wrong = ["tensors %s are in one file alone" % sorted(set(a) ^ set(b))] if set(a) != set(b) else []
    for name in sorted(set(a) & set(b)):
        if a[name][0] != b[name][0]:
            wrong.append("%s is %s, not %s" % (name, a[name][0].name, b[name][0].name))
        elif not np.array_equal(a[name][1].view(np.uint8), b[name][1].view(np.uint8)):
            wrong.append("%s has other bytes" % name)
    passed, failed = passed + (not wrong), failed + bool(wrong)
    print("%s %s%s" % ("FAIL" if wrong else "ok  ", what, ": " + "; ".join(wrong[:4]) if wrong else ""))


def made_up_importance(model):
    """A row for every matrix but the embedding, which real files lack, too."""
    random = np.random.default_rng(31)
    found = {}
    for t in gguf.GGUFReader(model).tensors:
        if len(t.shape) > 1 and "token_embd" not in t.name:
            n = int(t.shape[0]) * (int(t.shape[2]) if len(t.shape) > 2 else 1)
            found[t.name] = np.ascontiguousarray(random.gamma(0.5, 2.0, n).astype(np.float32))
    return found


def convert(carat, *words):
    done = subprocess.run([carat, "convert", *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("carat convert %s: %s" % (" ".join(words), done.stderr))


def check_model(carat, lib, model, directory):
    bf16, ours, theirs = (os.path.join(directory, n) for n in ("bf16.gguf", "ours.gguf", "theirs.gguf"))
    name = os.path.basename(model.rstrip("/"))

    def both(what, ours_say, **theirs_say):
        convert(carat, bf16, ours, *ours_say)
        if quantize(lib, bf16, theirs, **theirs_say):
            check("%s %s" % (name, what), ours, theirs)
        else:
            print("skip %s %s: llama.cpp does not quantise it" % (name, what))

    convert(carat, model, bf16, "--type", "bf16")
    for mix in NUMBERS:
        if mix != "q2_k_s":
            both(mix, ["--type", mix], mix=mix)
    both("q4_k_m --pure", ["--type", "q4_k_m", "--pure"], mix="q4_k_m", pure=True)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    lib = load(sys.argv[2])
    for model in sys.argv[3:]:
        with tempfile.TemporaryDirectory() as directory:
            check_model(sys.argv[1], lib, model, directory)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
