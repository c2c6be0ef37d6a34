#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a GGUF of a published member in its true shape with random weights: for measuring speed and memory.

    python3 tools/make_shapes.py e2b OUT.gguf               # Gemma 4: e2b e4b 12b 26b 31b; Gemma 3n: 3n-e2b 3n-e4b
    python3 tools/make_shapes.py embed1 OUT.gguf            # EmbeddingGemma 300M, in Q8_0
    python3 tools/make_shapes.py 26b OUT.gguf --layers 6    # its first layers only

Needs PyPI numpy and gguf.  Types are those of published Q4_0 files: matrices are Q4_0, the embedding Q8_0, what llama.cpp
does not quantise BF16 or F32.  Blocks are cut at random places out of one pool, so the file says nothing about text.  The
vocabulary is a stub: the model works by ids.  One tensor is in memory at a time.
"""
import argparse
from dataclasses import dataclass

import gguf
import numpy as np


@dataclass
class Shape:
    """Pairs are of local and global layers."""
    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: tuple
    period: int                                    # every so many layers one is global
    owners: int = 0                                # layers that own K and V, the first ones; 0: all
    wide: int = 1 << 16                            # from this layer on the feed-forward is twice as wide
    v_is_k: bool = False                           # on global layers
    ple: int = 0                                   # width of a layer's input
    window: int = 1024
    context: int = 262144
    experts: int = 0
    used: int = 0
    expert_ffn: int = 0
    arch: str = "gemma4"
    head: tuple = (256, 512)
    turning: int = 64                              # pairs of a global head; -1: all, and no tensor says so
    vocab: int = 262144
    padding: int = 0                               # rows of zeros behind the table of inputs
    sparse: int = 0                                # layers, the first ones
    laurel: int = 0
    dense: int = 0                                 # what the first matrix behind the mean of an embedder makes
    matrix: str = "Q4_0"


E_SHAPE = dict(ple=256, window=512, context=131072)
THREE_N = dict(E_SHAPE, hidden=2048, heads=8, kv_heads=(2, 2), period=5, owners=20, context=32768, arch="gemma3n",
               head=(256, 256), turning=-1, vocab=262400, padding=256, sparse=10, laurel=64)
SHAPES = {
    "e2b": Shape(35, 1536, 6144, 8, (1, 1), 5, owners=15, wide=15, **E_SHAPE),
    "e4b": Shape(42, 2560, 10240, 8, (2, 2), 6, owners=24, **E_SHAPE),
    "12b": Shape(48, 3840, 15360, 16, (8, 1), 6, v_is_k=True),
    "26b": Shape(30, 2816, 2112, 16, (8, 2), 6, v_is_k=True, experts=128, used=8, expert_ffn=704),
    "31b": Shape(60, 5376, 21504, 32, (16, 4), 6, v_is_k=True),
    "3n-e2b": Shape(layers=30, ffn=8192, **THREE_N),
    "3n-e4b": Shape(layers=35, ffn=16384, **THREE_N),
    "embed1": Shape(24, 768, 1152, 3, (1, 1), 6, window=512, context=2048, arch="gemma-embedding", head=(256, 256), turning=-1,
                    dense=3072, matrix="Q8_0"),
}
CUTOFF = 1.6448535919189453                        # standard deviations above the mean: 0.95 are below
STREAMS = 4

MODEL = [  # name, type, dimensions, the models that have it
    ("token_embd", "Q8_0", "vocab hidden", "all"),
    ("per_layer_token_embd", "Q4_0", "vocab inputs", "ple"),
    ("per_layer_model_proj", "BF16", "inputs hidden", "ple"),
    ("per_layer_proj_norm", "ones", "ple", "ple"),
    ("altup_proj", "BF16", "others hidden hidden", "laurel"),
    ("altup_unembd_proj", "BF16", "others hidden hidden", "laurel"),
    ("output_norm", "ones", "hidden", "all"),
    ("rope_freqs", "divisors", "pairs", "rope_freqs"),
    ("dense_2", "Q8_0", "dense hidden", "dense"),
    ("dense_3", "Q8_0", "hidden dense", "dense"),
]
LAYER = [  # the same, for layers
    ("attn_norm", "ones", "hidden", "all"),
    ("attn_q_norm", "ones", "head", "all"),
    ("post_attention_norm", "ones", "hidden", "all"),
    ("ffn_norm", "ones", "hidden", "all"),
    ("post_ffw_norm", "ones", "hidden", "all"),
    ("post_norm", "ones", "hidden", "ple"),
    ("attn_q", "Q4_0", "q hidden", "all"),
    ("attn_k_norm", "ones", "head", "k"),
    ("attn_k", "Q4_0", "kv hidden", "k"),
    ("attn_v", "Q4_0", "kv hidden", "v"),
    ("attn_output", "Q4_0", "hidden q", "all"),
    ("ffn_gate", "Q4_0", "ffn hidden", "all"),
    ("ffn_up", "Q4_0", "ffn hidden", "all"),
    ("ffn_down", "Q4_0", "hidden ffn", "all"),
    ("inp_gate", "Q4_0", "ple hidden", "ple"),
    ("proj", "Q4_0", "hidden ple", "ple"),
    ("layer_output_scale", "ones", "one", "out_scale"),
    ("post_ffw_norm_1", "ones", "hidden", "experts"),
    ("post_ffw_norm_2", "ones", "hidden", "experts"),
    ("pre_ffw_norm_2", "ones", "hidden", "experts"),
    ("ffn_gate_inp", "F32", "experts hidden", "experts"),
    ("ffn_gate_inp.scale", "ones", "hidden", "experts"),
    ("ffn_gate_up_exps", "Q4_0", "experts gate_up hidden", "experts"),
    ("ffn_down_exps", "Q4_0", "experts hidden expert_ffn", "experts"),
    ("ffn_down_exps.scale", "ones", "experts", "experts"),
    ("altup_router_norm", "ones", "hidden", "laurel"),
    ("altup_router", "BF16", "streams hidden", "laurel"),
    ("altup_predict_coef", "F32", "coefficients streams", "laurel"),
    ("altup_correct_coef", "F32", "streams streams", "laurel"),
    ("altup_correct_scale", "ones", "hidden", "laurel"),
    ("laurel_l", "BF16", "laurel hidden", "laurel"),
    ("laurel_r", "BF16", "hidden laurel", "laurel"),
    ("laurel_post_norm", "ones", "hidden", "laurel"),
]
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

    def __init__(self, turning):
        self.rng = np.random.default_rng(4)
        self.turning = turning
        v = self.rng.standard_normal(POOL, np.float32) * 0.02
        bf16 = (v.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        self.of = {"Q4_0": (q4_0(v), 32, 18), "Q8_0": (q8_0(v), 32, 34), "BF16": (bf16, 1, 2),
                   "F32": (v.view(np.uint8), 1, 4)}

    def cut(self, kind, dims):
        if kind not in self.of:
            still = dims[0] - self.turning if kind == "divisors" else 0
            return np.array([1.0] * (dims[0] - still) + [1e30] * still, np.float32).view(np.uint8)
        pool, values, size = self.of[kind]
        need = int(np.prod(dims)) // values * size
        start = int(self.rng.integers(0, len(pool) // size)) * size
        return np.resize(np.concatenate([pool[start:], pool[:start]]), need).reshape(*dims[:-1], -1)


def is_global(s, i):
    return (i + 1) % s.period == 0 or (s.arch == "gemma4" and i == s.layers - 1)


def tensors(s):
    """Name, type and dimensions of each."""
    dim = dict(vars(s), one=1, inputs=s.layers * s.ple, others=STREAMS - 1, streams=STREAMS, coefficients=STREAMS ** 2,
               pairs=s.head[1] // 2, gate_up=2 * s.expert_ffn)
    has = {"all": True, "ple": s.ple, "laurel": s.laurel, "experts": s.experts, "rope_freqs": s.turning >= 0,
           "out_scale": s.arch == "gemma4", "dense": s.dense}
    for name, kind, dims, when in MODEL:
        if has[when]:
            yield f"{name}.weight", kind, [dim[d] for d in dims.split()]
    for i in range(s.layers):
        head, kv_heads = s.head[is_global(s, i)], s.kv_heads[is_global(s, i)]
        dim.update(head=head, q=s.heads * head, kv=kv_heads * head, ffn=s.ffn * (1 + (i >= s.wide)))
        has["k"] = i < (s.owners or s.layers) or s.laurel     # llama.cpp asks for those of Gemma 3n that nothing reads
        has["v"] = has["k"] and not (s.v_is_k and is_global(s, i))
        for name, kind, dims, when in LAYER:
            if has[when]:
                kind = s.matrix if kind == "Q4_0" else kind
                yield f"blk.{i}.{name}" + ".weight" * (not name.endswith(".scale")), kind, [dim[d] for d in dims.split()]


def describe(w, s):
    """Metadata as llama.cpp's converter writes it."""
    layers, key = range(s.layers), s.arch + "."
    w.add_block_count(s.layers)
    w.add_context_length(s.context)
    w.add_embedding_length(s.hidden)
    w.add_feed_forward_length([s.ffn * (1 + (i >= s.wide)) for i in layers])
    w.add_head_count(s.heads)
    w.add_head_count_kv([s.kv_heads[is_global(s, i)] for i in layers])
    for name, at in (("", 1), ("_swa", 0)):
        w.add_uint32(f"{key}attention.key_length{name}", s.head[at])
        w.add_uint32(f"{key}attention.value_length{name}", s.head[at])
        w.add_uint32(f"{key}rope.dimension_count{name}", s.head[at])
    w.add_layer_norm_rms_eps(1e-6)
    w.add_sliding_window(s.window)
    w.add_array(f"{key}attention.sliding_window_pattern", [not is_global(s, i) for i in layers])
    w.add_uint32(f"{key}attention.shared_kv_layers", max(0, s.layers - s.owners) if s.owners else 0)
    w.add_uint32(f"{key}embedding_length_per_layer_input", s.ple)
    w.add_rope_freq_base(1e6)
    w.add_float32(f"{key}rope.freq_base_swa", 1e4)
    if s.dense:
        w.add_uint32(f"{key}pooling_type", 1)
        for name, n in (("2_feat_in", s.hidden), ("2_feat_out", s.dense), ("3_feat_in", s.dense), ("3_feat_out", s.hidden)):
            w.add_uint32(f"{key}dense_{name}", n)
    else:
        w.add_final_logit_softcapping(30.0)
    if s.experts:
        w.add_expert_count(s.experts)
        w.add_expert_used_count(s.used)
        w.add_expert_feed_forward_length(s.expert_ffn)
    if s.laurel:
        w.add_uint32(f"{key}altup.active_idx", 0)
        w.add_uint32(f"{key}altup.num_inputs", STREAMS)
        w.add_array(f"{key}activation_sparsity_scale", [CUTOFF if i < s.sparse else float("-inf") for i in layers])
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    names = special + [f"<0x{i:02X}>" for i in range(256)]
    w.add_tokenizer_model("llama")
    w.add_token_list(names + [f"word{i}" for i in range(len(names), s.vocab)])
    w.add_token_scores([0.0] * s.vocab)
    w.add_token_types([3, 3, 3, 2] + [6] * 256 + [1] * (s.vocab - len(names)))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("name", choices=SHAPES)
    p.add_argument("path", metavar="OUT.gguf")
    p.add_argument("--layers", type=int, help="write the first LAYERS only")
    a = p.parse_args()
    s = SHAPES[a.name]
    s.layers = min(s.layers, a.layers or s.layers)
    pools, w = Pools(s.turning), gguf.GGUFWriter(a.path, s.arch)
    describe(w, s)
    for name, kind, dims in tensors(s):
        raw = gguf.GGMLQuantizationType[kind if kind in pools.of else "F32"]
        block, size = gguf.GGML_QUANT_SIZES[raw]
        row = dims[-1] // block * size
        w.add_tensor_info(name, [*dims[:-1], row], np.dtype(np.uint8), int(np.prod(dims[:-1])) * row, raw)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_ti_data_to_file()
    for name, kind, dims in tensors(s):
        data = pools.cut(kind, dims)
        if s.padding and name == "per_layer_token_embd.weight":
            data[-s.padding:] = 0
        w.write_tensor_data(data)
    w.close()


if __name__ == "__main__":
    main()
