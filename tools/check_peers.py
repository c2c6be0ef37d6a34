#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare what `carat convert` writes with what other programs write. Needs the gguf package
(requirements.txt) and llama.cpp's library, built for x86-64 without -march, so that it fuses nothing.

usage: check_peers.py CARAT LIBLLAMA.so MODEL [MODEL ...]

Each MODEL is written as BF16, and that file is quantised by both programs, under every name that both know,
without and with importance, and by the options of both: all tensors must have equal types and bytes. Ends with "N passed,
M failed"; the exit code is 1 when something failed."""
import ctypes
import os
import struct
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
    print("%s %s%s" % ("FAIL" if wrong else "ok  ", what, ": " + "; ".join(wrong[:4]) if wrong else ""),
          flush=True)


def made_up_sums(model):
    """Sums and counts of every matrix but the embedding, which real files lack, too: name -> (sums, counts)."""
    random = np.random.default_rng(31)
    found = {}
    for t in gguf.GGUFReader(model).tensors:
        if len(t.shape) > 1 and "token_embd" not in t.name:
            rows = int(t.shape[2]) if len(t.shape) > 2 else 1
            sums = random.gamma(0.5, 200.0, (rows, int(t.shape[0]))).astype(np.float32)
            found[t.name] = sums, random.integers(1, 1000, (rows, 1)).astype(np.float32)
    return found


def made_up_importance(model):
    return {name: np.ascontiguousarray(sums / counts).reshape(-1)
            for name, (sums, counts) in made_up_sums(model).items()}


def write_imatrix(path, sums):
    w = gguf.GGUFWriter(path, "")
    w.kv_data[0].clear()  # the form has no architecture
    w.add_string("general.type", "imatrix")
    w.add_array("imatrix.datasets", ["words.txt"])
    w.add_uint32("imatrix.chunk_count", 3)
    w.add_uint32("imatrix.chunk_size", 512)
    for name in sorted(sums):
        w.add_tensor(name + ".in_sum2", sums[name][0])
        w.add_tensor(name + ".counts", sums[name][1])
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def write_old_imatrix(path, importance):
    with open(path, "wb") as f:
        f.write(struct.pack("<i", len(importance)))
        for name, values in importance.items():
            f.write(struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", 1, values.size))
            f.write(values.tobytes())
        f.write(struct.pack("<ii", 3, 9) + b"words.txt")


def convert(carat, *words, verb="convert"):
    done = subprocess.run([carat, verb, *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("carat %s %s: %s" % (verb, " ".join(words), done.stderr))


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

    sums, importance = made_up_sums(bf16), made_up_importance(bf16)
    new, old = os.path.join(directory, "new.gguf"), os.path.join(directory, "old.dat")
    write_imatrix(new, sums)
    write_old_imatrix(old, importance)
    for mix in NUMBERS:
        both(mix + " --imatrix", ["--type", mix, "--imatrix", new], mix=mix, importance=importance)
    both("q4_k_s --imatrix old.dat", ["--type", "q4_k_s", "--imatrix", old], mix="q4_k_s", importance=importance)

    def typed(what, ours_say, **theirs_say):
        convert(carat, *ours_say, bf16, ours, theirs_say["mix"].upper(), "2", verb="quantize")
        if quantize(lib, bf16, theirs, **theirs_say):
            check("%s quantize %s" % (name, what), ours, theirs)

    typed("Q4_K_M", [], mix="q4_k_m")
    typed("--pure Q5_K_S", ["--pure"], mix="q5_k_s", pure=True)
    typed("--output-tensor-type", ["--output-tensor-type", "q5_0"], mix="q4_k_m", output="q5_0")
    width = {t.name: int(t.shape[0]) for t in gguf.GGUFReader(bf16).tensors}["token_embd.weight"]
    if width % 32 == 0:  # llama.cpp ends by an assertion where it is not
        typed("--token-embedding-type", ["--token-embedding-type", "q4_0"], mix="q4_k_m",
              embedding="q4_0")
    typed("--tensor-type", ["--tensor-type", r"attn_(q|k)\.=q8_0", "--tensor-type", r"blk\.[02]\.=q5_1"],
          mix="q4_k_m", tensors=[(r"attn_(q|k)\.", "q8_0"), (r"blk\.[02]\.", "q5_1")])
    typed("everything", ["--imatrix", new, "--output-tensor-type", "q8_0", "--tensor-type", "attn_v=q6_k"],
          mix="q4_k_m", importance=importance, output="q8_0", tensors=[("attn_v", "q6_k")])


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
