#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write test/data/convert/mixes.txt: which types llama.cpp's quantiser gives the tensors of models of several
shapes, and the CRC-32 of what it makes of the models in models/ and test/fixtures.

usage: make_mixes.py CARAT LIBLLAMA.so

A line of types: layers, heads, KV heads, experts, 1 with importance, the mix; then for each part a letter for
the type of each layer's tensor (a is F32, in the order of enum ct_type), with a count before it. A line of
bytes: the model, the mix, the CRC-32 of all tensors in the order of their names; weighted: with the
importance of tiny-imatrix.gguf, which is written here, too, and once more in the older form."""
import os
import sys
import tempfile
import zlib

import gguf
import numpy as np

import check_peers as peers

DATA = "test/data/convert"
ORDER = ("F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4").split()
PARTS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_down")
SHAPES = ((18, 4, 1, 0), (26, 8, 4, 0), (34, 8, 2, 0), (62, 32, 16, 0), (30, 16, 8, 4), (10, 16, 2, 8))


def write_model(path, layers, heads, kv_heads, experts):
    w = gguf.GGUFWriter(path, "gemma3")
    w.add_block_count(layers)
    w.add_context_length(1024)
    w.add_embedding_length(256)
    w.add_feed_forward_length(256)
    w.add_head_count(heads)
    w.add_head_count_kv(kv_heads)
    w.add_key_length(32)
    w.add_value_length(32)
    w.add_layer_norm_rms_eps(1e-6)
    w.add_sliding_window(512)
    if experts:
        w.add_expert_count(experts)
        w.add_expert_used_count(2)

    def add(name, *shape):
        size = (*shape[:-1], shape[-1] * 2)
        w.add_tensor(name, np.zeros(size, np.uint8), raw_shape=size,
                     raw_dtype=gguf.GGMLQuantizationType.BF16)

    add("token_embd.weight", 32, 256)
    for i in range(layers):
        for part in PARTS:
            add("blk.%d.%s.weight" % (i, part), 32, 256)
        if experts:
            add("blk.%d.ffn_gate_up_exps.weight" % i, experts, 32, 256)
            add("blk.%d.ffn_down_exps.weight" % i, experts, 32, 256)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def counted(letters):
    text, i = "", 0
    while i < len(letters):
        n = 1
        while i + n < len(letters) and letters[i + n] == letters[i]:
            n += 1
        text += "%d%s" % (n, letters[i])
        i += n
    return text


def types_line(out, shape, mix, weighted):
    found = peers.tensors_of(out)
    parts = PARTS + (("ffn_gate_up_exps", "ffn_down_exps") if shape[3] else ())
    letter = {name: chr(ord("a") + ORDER.index(t.name)) for name, (t, _) in found.items()}
    words = ["token_embd=%s" % letter["token_embd.weight"]]
    for part in parts:
        letters = [letter["blk.%d.%s.weight" % (i, part)] for i in range(shape[0])]
        words.append("%s=%s" % (part, counted(letters)))
    return "types %d %d %d %d %d %s %s" % (*shape, weighted, mix, " ".join(words))


def bytes_lines(lib, model, out, name, importance):
    lines = []
    for mix in peers.NUMBERS:
        if mix == "q2_k_s" and not importance:
            continue
        if not peers.quantize(lib, model, out, mix, importance):
            sys.exit("llama.cpp does not make %s of %s" % (mix, name))
        crc = 0
        for _, (_, data) in sorted(peers.tensors_of(out).items()):
            crc = zlib.crc32(data.tobytes(), crc)
        lines.append("%s %s %s %08x" % ("weighted" if importance else "bytes", name, mix, crc))
    return lines


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    carat, lib = sys.argv[1], peers.load(sys.argv[2])
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        model, out = os.path.join(directory, "model.gguf"), os.path.join(directory, "out.gguf")
        for shape in SHAPES:
            write_model(model, *shape)
            for weighted in (0, 1):
                importance = peers.made_up_importance(model) if weighted else None
                for mix in peers.NUMBERS:
                    if mix == "q2_k_s" and not weighted:
                        continue
                    if not peers.quantize(lib, model, out, mix, importance):
                        sys.exit("llama.cpp does not make %s of %s" % (mix, shape))
                    lines.append(types_line(out, shape, mix, weighted))
        for name in ("models/tiny", "test/fixtures/tiny4"):
            peers.convert(carat, os.path.join(root, name), model, "--type", "bf16")
            lines += bytes_lines(lib, model, out, name, None)
            if name == "models/tiny":
                peers.write_imatrix(os.path.join(root, DATA, "tiny-imatrix.gguf"), peers.made_up_sums(model))
                peers.write_old_imatrix(os.path.join(root, DATA, "tiny-imatrix.dat"),
                                        peers.made_up_importance(model))
                lines += bytes_lines(lib, model, out, name, peers.made_up_importance(model))
    with open(os.path.join(root, DATA, "mixes.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
