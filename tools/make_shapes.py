#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a GGUF of a published member of Gemma 4 in its true shape with random weights: for measuring speed and memory.

    python3 tools/make_shapes.py e2b OUT.gguf          # or e4b

Needs PyPI numpy and gguf.  Matrices are Q4_0, the embedding Q8_0, the projection of layer inputs BF16, all else F32, as in
the published Q4_0 files.  Blocks are cut at random places out of one pool, so the file says nothing about text.  The
vocabulary is a stub: the model works by ids.
"""
import sys

import gguf
import numpy as np

SHAPES = {  # layers, hidden, ffn, wide from, heads, KV heads, period, owners of K and V
    "e2b": (35, 1536, 6144, 15, 8, 1, 5, 15),
    "e4b": (42, 2560, 10240, 42, 8, 2, 6, 24),
}
VOCAB, PLE, WINDOW, LOCAL, GLOBAL = 262144, 256, 512, 256, 512
POOL = 1 << 24                                     # values


def q4_0(values):
    blocks = values.reshape(-1, 32)
    d = np.abs(blocks).max(1) / 8
    q = np.clip(np.round(blocks / d[:, None]) + 8, 0, 15).astype(np.uint8)
    out = np.empty((len(blocks), 18), np.uint8)
    out[:, :2] = d.astype(np.float16).view(np.uint8).reshape(-1, 2)
    out[:, 2:] = q[:, :16] | q[:, 16:] << 4
    return out.reshape(-1)


def q8_0(values):
    blocks = values.reshape(-1, 32)
    d = np.abs(blocks).max(1) / 127
    out = np.empty((len(blocks), 34), np.uint8)
    out[:, :2] = d.astype(np.float16).view(np.uint8).reshape(-1, 2)
    out[:, 2:] = np.round(blocks / d[:, None]).astype(np.int8).view(np.uint8)
    return out.reshape(-1)


class Pools:
    """Encoded random values, cut at places of whole blocks."""

    def __init__(self):
        self.rng = np.random.default_rng(4)
        v = self.rng.standard_normal(POOL, np.float32) * 0.02
        bf16 = (v.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        self.of = {"Q4_0": (q4_0(v), 32, 18), "Q8_0": (q8_0(v), 32, 34), "BF16": (bf16, 1, 2)}

    def cut(self, kind, rows, cols):
        pool, values, size = self.of[kind]
        need = rows * cols // values * size
        start = int(self.rng.integers(0, len(pool) // size)) * size
        return np.resize(np.concatenate([pool[start:], pool[:start]]), need).reshape(rows, -1)


def main():
    name, path = sys.argv[1:3]
    layers, hidden, ffn, wide, heads, kv_heads, period, owners = SHAPES[name]
    pools, w = Pools(), gguf.GGUFWriter(path, "gemma4")
    kinds = {"Q4_0": gguf.GGMLQuantizationType.Q4_0, "Q8_0": gguf.GGMLQuantizationType.Q8_0,
             "BF16": gguf.GGMLQuantizationType.BF16}
    is_global = [(i + 1) % period == 0 or i == layers - 1 for i in range(layers)]

    w.add_block_count(layers)
    w.add_context_length(131072)
    w.add_embedding_length(hidden)
    w.add_feed_forward_length([ffn * (1 + (i >= wide)) for i in range(layers)])
    w.add_head_count(heads)
    w.add_head_count_kv([kv_heads] * layers)
    w.add_key_length(GLOBAL)
    w.add_value_length(GLOBAL)
    w.add_uint32("gemma4.attention.key_length_swa", LOCAL)
    w.add_uint32("gemma4.attention.value_length_swa", LOCAL)
    w.add_layer_norm_rms_eps(1e-6)
    w.add_sliding_window(WINDOW)
    w.add_array("gemma4.attention.sliding_window_pattern", [not g for g in is_global])
    w.add_uint32("gemma4.attention.shared_kv_layers", layers - owners)
    w.add_uint32("gemma4.embedding_length_per_layer_input", PLE)
    w.add_rope_freq_base(1e6)
    w.add_float32("gemma4.rope.freq_base_swa", 1e4)
    w.add_rope_dimension_count(GLOBAL)
    w.add_uint32("gemma4.rope.dimension_count_swa", LOCAL)
    w.add_final_logit_softcapping(30.0)
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    names = special + [f"<0x{i:02X}>" for i in range(256)]
    w.add_tokenizer_model("llama")
    w.add_token_list(names + [f"word{i}" for i in range(len(names), VOCAB)])
    w.add_token_scores([0.0] * VOCAB)
    w.add_token_types([3, 3, 3, 2] + [6] * 256 + [1] * (VOCAB - len(names)))

    def matrix(tensor, kind, rows, cols):
        w.add_tensor(tensor, pools.cut(kind, rows, cols), raw_dtype=kinds[kind])

    def ones(tensor, n):
        w.add_tensor(tensor, np.ones(n, np.float32))

    matrix("token_embd.weight", "Q8_0", VOCAB, hidden)
    matrix("per_layer_token_embd.weight", "Q4_0", VOCAB, layers * PLE)
    matrix("per_layer_model_proj.weight", "BF16", layers * PLE, hidden)
    ones("per_layer_proj_norm.weight", PLE)
    ones("output_norm.weight", hidden)
    w.add_tensor("rope_freqs.weight", np.array([1.0] * 64 + [1e30] * 192, np.float32))
    for i in range(layers):
        at, dim, f = f"blk.{i}.", GLOBAL if is_global[i] else LOCAL, ffn * (1 + (i >= wide))
        for norm, n in (("attn_norm", hidden), ("attn_q_norm", dim), ("post_attention_norm", hidden),
                        ("ffn_norm", hidden), ("post_ffw_norm", hidden), ("post_norm", hidden)):
            ones(f"{at}{norm}.weight", n)
        matrix(f"{at}attn_q.weight", "Q4_0", heads * dim, hidden)
        if i < owners:
            ones(f"{at}attn_k_norm.weight", dim)
            matrix(f"{at}attn_k.weight", "Q4_0", kv_heads * dim, hidden)
            matrix(f"{at}attn_v.weight", "Q4_0", kv_heads * dim, hidden)
        matrix(f"{at}attn_output.weight", "Q4_0", hidden, heads * dim)
        matrix(f"{at}ffn_gate.weight", "Q4_0", f, hidden)
        matrix(f"{at}ffn_up.weight", "Q4_0", f, hidden)
        matrix(f"{at}ffn_down.weight", "Q4_0", hidden, f)
        matrix(f"{at}inp_gate.weight", "Q4_0", PLE, hidden)
        matrix(f"{at}proj.weight", "Q4_0", hidden, PLE)
        ones(f"{at}layer_output_scale.weight", 1)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


if __name__ == "__main__":
    main()
