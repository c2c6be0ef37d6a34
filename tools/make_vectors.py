#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The project's own golden vectors: tiny random models and what the reference implementation computes from them.

    python3 tools/make_vectors.py [OUT]          (OUT: test/data)

Writes OUT/vectors/: models/<name>/ (Hugging Face folders), gguf/<name>.gguf, and expect/<name>/ with info.json, one
<prompt>.json and <prompt>.npy per prompt, and greedy1.json; and OUT/quant/<TYPE>.bin and .npy: blocks of every GGUF
type that carat reads, scales at their extremes among them, and their values by the gguf package (of Q1_0 and Q2_0,
which it does not read, by the format's rule), and OUT/quant/encode/: values and the blocks that the package makes of
them. Needs torch, transformers, safetensors and numpy as in
tools/requirements.txt, and gguf 0.19.0; nothing here is needed to build or to test carat, the output is committed.

The numbers come from transformers alone: the folder is opened with from_pretrained in float32 with eager attention, and
one pass without a cache goes over the whole prompt. One thing is corrected, because transformers in float32 does not
round it and the published checkpoints were used with it rounded: the embedding scale is sqrt(hidden) in the type that
stores the embedding, and in bf16 for every GGUF. A GGUF is read back and dequantised by the gguf package first.

Sizes are deliberately awkward: no width is a multiple of 32 where the format lets it be otherwise. test_reference.c
compares, test_invariance.c and test_hashes.c use the models for comparisons of carat with itself.
"""
import json
import math
import os
import re
import shutil
import sys
import zlib

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ["HF_HUB_OFFLINE"] = "1"
import gguf  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

torch.set_num_threads(1)
torch.set_grad_enabled(False)

DTYPE = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
STEPS = 24          # length of a greedy continuation
SAFE_MARGIN = 2e-3  # least distance of first and second choice, relative to the largest |logit|

# ------------------------------------------------------------------------------------------------ the folders

EVERY = dict(attention_bias=False, attention_dropout=0.0, bos_token_id=2, eos_token_id=1, pad_token_id=0,
             max_position_embeddings=2048, rms_norm_eps=1e-06, use_cache=True)


def sizes(hidden, ffn, layers, heads, kv_heads, head_dim, vocab):
    return dict(hidden_size=hidden, intermediate_size=ffn, num_hidden_layers=layers, num_attention_heads=heads,
                num_key_value_heads=kv_heads, head_dim=head_dim, vocab_size=vocab)


def kinds(letters):
    return [{"L": "sliding_attention", "G": "full_attention"}[c] for c in letters]


FOLDERS = {
    # The first uploads of Gemma 1 say "gelu" and mean its tanh form. One KV head; heads * head_dim differs
    # from hidden.
    "gemma1-f32": dict(stored="F32", config=dict(
        EVERY, **sizes(44, 70, 2, 3, 1, 18, 131), architectures=["GemmaForCausalLM"], model_type="gemma",
        hidden_act="gelu", rope_theta=10000.0, torch_dtype="float32")),
    # Even layers are local; both caps; a query scale that is not head_dim ** -0.5. Loud, so that the caps
    # matter.
    "gemma2-bf16": dict(stored="BF16", score=3.0, loud=14.0, window=8, config=dict(
        EVERY, **sizes(40, 72, 4, 4, 2, 14, 131), architectures=["Gemma2ForCausalLM"], model_type="gemma2",
        hidden_activation="gelu_pytorch_tanh", attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
        query_pre_attn_scalar=10, rope_theta=10000.0, sliding_window=8, torch_dtype="bfloat16")),
    # The keys of transformers 5; the stack ends with a local layer.
    "gemma3-bf16": dict(stored="BF16", window=8, config=dict(
        EVERY, **sizes(40, 56, 7, 4, 1, 20, 131), architectures=["Gemma3ForCausalLM"], model_type="gemma3_text",
        dtype="bfloat16", hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=12, sliding_window=8,
        layer_types=kinds("LLLLLGL"), tie_word_embeddings=True,
        rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
                         "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})),
    # A multimodal checkpoint with the old names in two files; linear RoPE; ten rows beyond the text
    # vocabulary.
    "gemma3-mm": dict(stored="BF16", window=8, shards=2, text_vocab=131, config=dict(
        architectures=["Gemma3ForConditionalGeneration"], model_type="gemma3", bos_token_id=2, eos_token_id=[1, 106],
        boi_token_index=129, eoi_token_index=130, image_token_index=131, mm_tokens_per_image=4, torch_dtype="bfloat16",
        text_config=dict(sizes(24, 44, 6, 4, 2, 16, 141), model_type="gemma3_text", query_pre_attn_scalar=16,
                         sliding_window=8, rope_scaling={"rope_type": "linear", "factor": 8.0}),
        vision_config=dict(model_type="siglip_vision_model", hidden_size=12, intermediate_size=20, num_attention_heads=2,
                           num_hidden_layers=1, image_size=28, patch_size=14, vision_use_head=False))),
    # F16 with a head of its own, the old Gemma 3 keys and an irregular pattern.
    "gemma3-f16-untied": dict(stored="F16", window=8, config=dict(
        EVERY, **sizes(36, 60, 4, 6, 3, 12, 97), architectures=["Gemma3ForCausalLM"], model_type="gemma3_text",
        hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=12, sliding_window=8, layer_types=kinds("LLGL"),
        rope_theta=1000000.0, rope_local_base_freq=10000.0, tie_word_embeddings=False, torch_dtype="float16")),
}

# Weights for the block-quantised files; rows of a block format are whole blocks, so widths here are multiples
# of 32.
BASES = {
    "blocks": dict(stored="F32", window=8, config=dict(
        EVERY, **sizes(64, 96, 3, 4, 2, 24, 131), architectures=["Gemma3ForCausalLM"], model_type="gemma3_text",
        hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=24, sliding_window=8, layer_types=kinds("LLG"),
        rope_theta=1000000.0, rope_local_base_freq=10000.0, torch_dtype="float32")),
}
# The same for types of 256 weights a block: rows of attn_output and ffn_down are too short for those, as in
# real files.
WIDE = dict(BASES["blocks"]["config"], **sizes(256, 32, 1, 2, 1, 16, 71), layer_types=kinds("L"),
            query_pre_attn_scalar=16)
BASES["wide"] = dict(stored="F32", window=8, post=12.0, config=WIDE)
BASES["wide-untied"] = dict(stored="F32", window=8, config=dict(WIDE, tie_word_embeddings=False))


def layers(q="Q4_0", k="Q4_0", v="Q4_0", o="Q4_0", gate="Q4_0", up="Q4_0", down="Q4_0"):
    return {"attn_q": q, "attn_k": k, "attn_v": v, "attn_output": o, "ffn_gate": gate, "ffn_up": up, "ffn_down": down}


# `types` names exceptions from `type` by the tensor's last name part. Every type but Q1_0 and Q2_0 is an
# embedding or a head once, and the weight of a layer.
GGUFS = {
    "gemma1-f32": dict(source="gemma1-f32", type="F32"),
    "gemma2-bf16": dict(source="gemma2-bf16", type="BF16"),
    "gemma3-f16": dict(source="gemma3-bf16", type="F16"),
    "q8_0": dict(source="blocks", type="Q8_0", period=3),
    "q4_0": dict(source="blocks", type="Q4_0", period=3),
    "mixed": dict(source="blocks", type="Q4_0", types={"token_embd": "Q8_0", "attn_v": "F16", "ffn_down": "Q8_0",
                                                       "ffn_up": "BF16", "attn_output": "F32"}, flags=True),
    "qat-f16": dict(source="blocks", type="Q4_0", types={"token_embd": "F16"}, period=3),
    "qat-q6_k": dict(source="wide", type="Q4_0", types={"token_embd": "Q6_K"}, period=2),
    "q4_k_m": dict(source="wide", type="Q4_K", period=2, types=dict(
        layers("Q4_K", "Q4_K", "Q6_K", "Q5_0", "Q4_K", "Q4_K", "Q8_0"), token_embd="Q6_K")),
    "q2_k": dict(source="wide-untied", type="Q2_K", period=2, types=dict(
        layers("Q2_K", "Q3_K", "Q3_K", "IQ4_NL", "Q2_K", "Q3_K", "Q4_1"), token_embd="Q2_K", output="Q3_K")),
    "q5_k": dict(source="wide-untied", type="Q5_K", period=2, types=dict(
        layers("Q5_K", "Q6_K", "Q5_K", "Q5_1", "Q5_K", "Q6_K", "Q5_1"), token_embd="Q5_K", output="Q4_K")),
    "iq4": dict(source="wide-untied", type="IQ4_XS", period=2, types=dict(
        layers("IQ4_XS", "IQ4_NL", "IQ4_XS", "MXFP4", "IQ4_XS", "IQ4_XS", "IQ4_NL"),
        token_embd="IQ4_XS", output="IQ4_NL")),
    "q5": dict(source="wide-untied", type="Q5_0", period=2, types=dict(
        layers("Q5_1", "Q5_0", "Q5_1", "Q5_0", "Q5_0", "Q5_1", "Q5_0"), token_embd="Q5_0", output="Q5_1")),
    "q4_1": dict(source="wide-untied", type="Q4_1", period=2, types=dict(
        layers("Q4_1", "MXFP4", "Q4_1", "MXFP4", "MXFP4", "Q4_1", "Q4_1"), token_embd="Q4_1", output="MXFP4")),
    "iq2": dict(source="wide-untied", type="IQ2_XXS", period=2, types=dict(
        layers("IQ2_XXS", "IQ2_XS", "IQ2_S", "Q4_0", "IQ2_XS", "IQ2_S", "IQ4_NL"),
        token_embd="IQ2_XXS", output="IQ2_XS")),
    "iq3": dict(source="wide-untied", type="IQ3_S", period=2, types=dict(
        layers("IQ3_XXS", "IQ3_S", "IQ3_XXS", "Q5_0", "IQ3_S", "IQ3_XXS", "Q5_1"),
        token_embd="IQ2_S", output="IQ3_XXS")),
    "iq1": dict(source="wide-untied", type="IQ1_S", period=2, types=dict(
        layers("IQ1_S", "IQ1_M", "IQ1_S", "Q4_1", "IQ1_M", "IQ1_S", "Q4_0"), token_embd="IQ3_S", output="IQ1_S")),
    "tq": dict(source="wide-untied", type="TQ2_0", period=2, types=dict(
        layers("TQ1_0", "TQ2_0", "NVFP4", "Q8_0", "TQ2_0", "TQ1_0", "MXFP4"), token_embd="IQ1_M", output="TQ1_0")),
    "nvfp4": dict(source="wide-untied", type="NVFP4", period=2, types=dict(
        layers("NVFP4", "NVFP4", "Q6_K", "Q4_0", "NVFP4", "Q4_K", "Q8_0"), token_embd="TQ2_0", output="NVFP4")),
}

# ------------------------------------------------------------------------------------------------ weights


def seeded(*what):
    return np.random.default_rng(zlib.crc32("/".join(map(str, what)).encode()))


def draw(name, shape, text, spec, rng):
    """A value for one parameter, so scaled that attention is neither flat nor one-hot and logits have a std near `loud`."""
    generation = {"gemma": 1, "gemma2": 2}.get(text["model_type"], 3)
    noise = rng.standard_normal(shape)
    if len(shape) == 1:  # a norm; the model adds 1
        level = 1.0
        if name.endswith(("q_norm.weight", "k_norm.weight")):
            level = math.sqrt(2.0 * math.sqrt(text["query_pre_attn_scalar"] / text["head_dim"]))
        elif name.endswith("model.norm.weight"):
            level = spec.get("loud", 4.0) / 1.5
        elif generation > 1 and re.search(r"post_(attention|feedforward)_layernorm", name):
            level = spec.get("post", 4.5) / math.sqrt(text["num_hidden_layers"])  # else an id only repeats itself
        return level * (1 + 0.3 * noise) - 1
    if "embed_tokens" in name or "lm_head" in name:
        return noise * 1.5 / math.sqrt(shape[-1])
    gain = 1.0
    if generation < 3 and re.search(r"[qk]_proj", name):
        divisor = text.get("query_pre_attn_scalar", text["head_dim"])
        gain = math.sqrt(spec.get("score", 2.0) * math.sqrt(divisor / text["head_dim"]))
    if generation == 1 and re.search(r"(o|down)_proj", name):
        gain = 2.5
    return noise * gain / math.sqrt(shape[-1])


def text_config(config):
    return config.get("text_config", config)


def weights(name, spec):
    """Names as the published checkpoints have them -> tensor in the stored type."""
    config = spec["config"]
    cls = getattr(transformers, config["architectures"][0])
    model = cls(cls.config_class.from_dict(dict(config)))
    rng, out = seeded("weights", name), {}
    for key, value in model.state_dict().items():
        if key == "lm_head.weight" and config.get("tie_word_embeddings", True):
            continue
        if "text_config" in config:
            key = re.sub(r"^model\.language_model\.", "language_model.model.", key)
            key = re.sub(r"^model\.", "", key)
            if key == "lm_head.weight":
                continue
        shape = tuple(value.shape)
        if "vision" in key or "projector" in key:
            new = 0.3 * rng.standard_normal(shape)
        else:
            new = draw(key, shape, text_config(config), spec, rng)
        out[key] = torch.from_numpy(np.asarray(new, np.float32)).to(DTYPE[spec["stored"]]).contiguous()
    return out


def write_folder(folder, spec, tensors):
    os.makedirs(folder)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(spec["config"], f, indent=1, sort_keys=True)
        f.write("\n")
    shards, keys = spec.get("shards", 1), sorted(tensors)
    if shards == 1:
        save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
        return
    where = {}
    for s in range(shards):
        part = keys[s * len(keys) // shards:(s + 1) * len(keys) // shards]
        file = "model-%05d-of-%05d.safetensors" % (s + 1, shards)
        save_file({k: tensors[k] for k in part}, os.path.join(folder, file), metadata={"format": "pt"})
        where.update({k: file for k in part})
    total = sum(t.numel() * t.element_size() for t in tensors.values())
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {"total_size": total}, "weight_map": where}, f, indent=1)
        f.write("\n")


# ------------------------------------------------------------------------------------------------ GGUF

TENSOR = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
          "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
          "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "post_attention_norm",
          "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
          "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


# The blocks that carat reads: where their f16 factors lie (the second is the minimum's), and for K-quants
# with a minimum the mean integer, which a random block needs as the ratio of the two if it is to be centred.
QUANTS = {"Q8_0": ([0], 0), "Q4_0": ([0], 0), "Q4_1": ([0, 2], 0), "Q5_0": ([0], 0), "Q5_1": ([0, 2], 0),
          "Q2_K": ([80, 82], 1.5), "Q3_K": ([108], 0), "Q4_K": ([0, 2], 7.5), "Q5_K": ([0, 2], 15.5),
          "Q6_K": ([208], 0), "IQ4_NL": ([0], 0), "IQ4_XS": ([0], 0), "MXFP4": ([], 0),
          "IQ2_XXS": ([0], 0), "IQ2_XS": ([0], 0), "IQ2_S": ([0], 0), "IQ3_XXS": ([0], 0), "IQ3_S": ([0], 0),
          "IQ1_S": ([0], 0), "IQ1_M": ([], 0), "TQ1_0": ([52], 0), "TQ2_0": ([64], 0), "NVFP4": ([], 0),
          "Q1_0": ([0], 0), "Q2_0": ([0], 0)}
OF_ONE_BYTE = {"MXFP4": (1, 253),  # 253 and 254 overflow, 255 means nothing
               "NVFP4": (4, 127)}  # 127 means nothing
OWN = {"Q1_0": 128, "Q2_0": 64}    # weights of a block that the package does not read


def put_f16(blocks, at, values):
    blocks[:, at:at + 2] = np.asarray(values, np.float16).reshape(-1, 1).view(np.uint8)


def put_d_of_iq1_m(blocks, values):
    """The bits of d are the upper four of each of the last four 16-bit numbers, the lowest first."""
    d = np.asarray(values, np.float16).view(np.uint16)
    for i in range(4):
        blocks[:, 49 + 2 * i] = blocks[:, 49 + 2 * i] & 15 | (d >> 4 * i & 15) << 4


def values_of(blocks, kind):
    if kind in OWN:
        bits = 128 // OWN[kind]
        codes = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little").reshape(len(blocks), -1, bits)
        codes = (codes << np.arange(bits, dtype=np.uint8)).sum(2).astype(np.float32)
        d = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        return d * (codes - 1 if bits == 2 else 2 * codes - 1)
    kind = gguf.GGMLQuantizationType[kind]
    with np.errstate(over="ignore"):
        return gguf.quants.dequantize(blocks.reshape(1, -1), kind).reshape(len(blocks), -1)


def random_rows(kind, shape, std, rng):
    """Valid random blocks with values of that spread, for types that the gguf package reads but cannot write."""
    n, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    blocks = rng.integers(0, 256, (shape[0] * shape[1] // n, size), dtype=np.uint8)
    if kind == "IQ1_M":
        put_d_of_iq1_m(blocks, np.ones(len(blocks)))
        put_d_of_iq1_m(blocks, std / values_of(blocks, kind).std() * rng.uniform(0.7, 1.3, len(blocks)))
        return blocks.reshape(shape[0], -1)
    if kind == "NVFP4":  # a step of 8 doubles
        blocks[:, :4] = rng.integers(56, 65, (len(blocks), 4))
        blocks[:, :4] += np.uint8(round(8 * math.log2(std / values_of(blocks, kind).std())) % 256)
        return blocks.reshape(shape[0], -1)
    (d, *dmin), ratio = QUANTS[kind]
    if kind == "Q2_K":  # like scales and minimums, so that they cancel on average
        low = rng.integers(2, 16, (len(blocks), 16), dtype=np.uint8)
        blocks[:, :16] = low | low << 4
    elif dmin:
        low = rng.integers(0, 256, (len(blocks), 4), dtype=np.uint8)  # 6-bit scales: 4 whole ones, 4 in nibbles
        blocks[:, 4:8] = blocks[:, 8:12] = low
        blocks[:, 12:16] = (blocks[:, 12:16] & 15) * 17
    put_f16(blocks, d, np.ones(len(blocks)))
    for at in dmin:
        put_f16(blocks, at, np.full(len(blocks), ratio))
    scale = std / values_of(blocks, kind).std() * rng.uniform(0.7, 1.3, len(blocks))
    put_f16(blocks, d, scale)
    for at in dmin:
        put_f16(blocks, at, scale.astype(np.float16).astype(np.float64) * ratio)
    return blocks.reshape(shape[0], -1)


def hard_values():
    """Blocks of 32 values for the encoders: at every scale, at ties, of equal magnitude, of no number."""
    rng = np.random.default_rng(20)
    x = [rng.standard_normal(32) * 2.0 ** e for e in (0, 0, 0, -5, -5, 5, -24, -60, -126, -135, 60, 125)]
    x += [rng.uniform(-1, 1, 32) * m for m in (65504 * 127, 65504 * 127.3, 65520 * 8, 2.0 ** -24 * 64, 2.0 ** -18)]
    x += [rng.integers(-2 * m, 2 * m + 1, 32) / 2 for m in (127, 16, 8, 8)]  # ties, where the scale is 1
    for block, m in zip(x[-4:], (127, 16, 8, -8)):
        block[rng.integers(32)] = m
    for first in (1, -1):  # the largest with both signs
        block = rng.uniform(-1, 1, 32)
        block[7], block[20] = 1.5 * first, -1.5 * first
        x.append(block)
    x += [np.zeros(32), np.full(32, 3.0), np.full(32, -2.0 ** -149), np.r_[np.zeros(31), 2.0 ** -149],
          np.r_[0.0, np.full(31, -0.0)], rng.integers(-9, 10, 32) * 2.0 ** -149, np.full(32, 2.0 ** -128 * 8)]
    for value in (np.inf, -np.inf, np.nan, np.finfo(np.float32).max):
        block = rng.standard_normal(32)
        block[rng.integers(32)] = value
        x.append(block)
    x.append(np.r_[np.nan, np.inf, -np.inf, np.zeros(29)])
    return np.array(x, np.float32)


def write_encoded(folder):
    os.makedirs(folder)
    values = hard_values()
    np.save(os.path.join(folder, "values.npy"), values)
    for kind in ("Q8_0", "Q5_0", "Q4_0"):
        with np.errstate(all="ignore"):
            blocks = gguf.quants.quantize(values, gguf.GGMLQuantizationType[kind])
        blocks.tofile(os.path.join(folder, kind + ".bin"))


def write_blocks(folder):
    """Random blocks; in the first ones a factor is extreme, in the last ones the payload."""
    os.makedirs(folder)
    extremes = [0.0, -0.0, 2.0 ** -24, -2.0 ** -24, 2.0 ** -14, 65504.0, -65504.0, 1.0]
    for kind, (factors, _) in QUANTS.items():
        rng = seeded("blocks", kind)
        n, size = (OWN[kind], 18) if kind in OWN else gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
        count = 24 if n == 256 and kind[0] == "Q" or kind == "IQ4_XS" else 64
        blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
        blocks[-4:] = np.array([0x00, 0xff, 0x0f, 0xf0], np.uint8).reshape(4, 1)
        for f, at in enumerate(factors):
            put_f16(blocks, at, rng.uniform(-0.2, 0.2, count))
            put_f16(blocks[8 * f:8 * f + 8], at, extremes)
        if kind == "IQ1_M":
            put_d_of_iq1_m(blocks, np.r_[extremes, rng.uniform(-0.2, 0.2, count - 8)])
        if kind in OF_ONE_BYTE:
            scales, end = OF_ONE_BYTE[kind]
            blocks[:, :scales] = rng.integers(0, end, (count, scales))
            blocks[:8, 0] = [0, 1, 2, 3, 127, 128, 251, 252] if end == 253 else [0, 1, 7, 8, 9, 64, 125, 126]
        values = values_of(blocks, kind)
        assert np.isfinite(values).all(), kind
        blocks.tofile(os.path.join(folder, kind + ".bin"))
        np.save(os.path.join(folder, kind + ".npy"), values)


def gguf_name(key, generation):
    if key == "model.embed_tokens.weight":
        return "token_embd.weight"
    if key == "model.norm.weight":
        return "output_norm.weight"
    if key == "lm_head.weight":
        return "output.weight"
    layer, rest = re.fullmatch(r"model\.layers\.(\d+)\.(.*)\.weight", key).groups()
    if generation == 1 and rest == "post_attention_layernorm":  # Gemma 1 has one norm before each half
        rest = "pre_feedforward_layernorm"
    return "blk.%s.%s.weight" % (layer, TENSOR[rest])


def generation_of(config):
    return {"gemma": 1, "gemma2": 2, "gemma3_text": 3}[config["model_type"]]


def write_gguf(path, spec, config, tensors):
    generation = generation_of(config)
    arch = {1: "gemma", 2: "gemma2", 3: "gemma3"}[generation]
    w = gguf.GGUFWriter(path, arch)
    w.add_context_length(config["max_position_embeddings"])
    w.add_embedding_length(config["hidden_size"])
    w.add_block_count(config["num_hidden_layers"])
    w.add_feed_forward_length(config["intermediate_size"])
    w.add_head_count(config["num_attention_heads"])
    w.add_head_count_kv(config["num_key_value_heads"])
    w.add_key_length(config["head_dim"])
    w.add_value_length(config["head_dim"])
    w.add_layer_norm_rms_eps(config["rms_norm_eps"])
    if generation > 1:
        w.add_sliding_window(config["sliding_window"])
    if generation == 2:
        w.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        w.add_final_logit_softcapping(config["final_logit_softcapping"])
    if generation == 3:
        w.add_rope_freq_base(1000000.0)
    if spec.get("period"):
        w.add_uint32(arch + ".attention.sliding_window_pattern", spec["period"])
    if spec.get("flags"):
        w.add_array(arch + ".attention.sliding_window_pattern", [k == "sliding_attention" for k in config["layer_types"]])
    for key, tensor in tensors.items():
        name = gguf_name(key, generation)
        value = tensor.to(torch.float32).numpy()
        kind = spec.get("types", {}).get(name.split(".")[-2], spec["type"])
        if value.ndim == 1:
            w.add_tensor(name, value + np.float32(1))  # the converter folds the 1 of Gemma's norms in
            continue
        number = gguf.GGMLQuantizationType[kind]
        if kind == "F32":
            w.add_tensor(name, value)
            continue
        try:
            data = gguf.quants.quantize(value, number)
        except NotImplementedError:
            data = random_rows(kind, value.shape, value.std(), seeded("blocks", os.path.basename(path), name))
        w.add_tensor(name, data, raw_dtype=number)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def model_from_gguf(path, config):
    """The reference model with the values a GGUF holds; what a GGUF cannot say follows the converter's rules."""
    generation = generation_of(config)
    values = {}
    for t in gguf.GGUFReader(path).tensors:
        values[t.name] = np.array(gguf.quants.dequantize(t.data, t.tensor_type), np.float32)
    c = {k: v for k, v in config.items() if k not in ("torch_dtype", "dtype")}
    if generation > 1:
        c["query_pre_attn_scalar"] = config["head_dim"]  # 46 and 62 layers would differ; none here has as many
    cls = getattr(transformers, config["architectures"][0])
    c = cls.config_class.from_dict(c)
    c._attn_implementation = "eager"
    model = cls(c).eval().float()
    state = {}
    for key, old in model.state_dict().items():
        if key == "lm_head.weight" and config.get("tie_word_embeddings", True):
            continue
        v = values.pop(gguf_name(key, generation))
        if v.ndim == 1:
            v = v - np.float32(1)
        state[key] = torch.from_numpy(v.reshape(tuple(old.shape)))
    assert not values, list(values)
    missing, unexpected = model.load_state_dict(state, strict=False)
    tied = config.get("tie_word_embeddings", True)
    assert not unexpected and missing == (["lm_head.weight"] if tied else []), (missing, unexpected)
    if tied:
        model.tie_weights()
    return model


# ------------------------------------------------------------------------------------------------
# expectations


def set_embedding_scale(model, hidden, stored):
    scale = torch.tensor(math.sqrt(hidden), dtype=torch.float64).to(DTYPE[stored]).to(torch.float32)
    found = [m for n, m in model.named_modules() if n.endswith("embed_tokens")]
    assert len(found) == 1 and hasattr(found[0], "embed_scale")
    found[0].embed_scale = scale
    return float(scale)


def logits(model, ids):
    out = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
    assert out.dtype == torch.float32
    return out.numpy()


def greedy(model, name, length, text_vocab):
    """A prompt whose continuation no error below the tolerance can change, and that is not one token repeated."""
    for attempt in range(500):
        rng = seeded("greedy", name, attempt)
        prompt = [2] + rng.integers(3, text_vocab, length - 1).tolist()
        ids, margin, top = list(prompt), math.inf, 0.0
        for _ in range(STEPS):
            row = logits(model, ids)[-1]
            top = max(top, float(np.abs(row).max()))
            second, first = np.sort(row[:text_vocab])[-2:]
            margin = min(margin, float(first - second))
            if margin < SAFE_MARGIN * top:
                break
            ids.append(int(row[:text_vocab].argmax()))
        continuation = ids[length:]
        if len(continuation) == STEPS and len(set(continuation)) >= 6:
            return dict(prompt_ids=prompt, continuation=continuation, min_margin=margin, max_abs_logit=top,
                        text_vocab=text_vocab)
    sys.exit("make_vectors.py: %s: no prompt with a safe continuation" % name)


def write_expectation(out, name, source, model, spec, scale, files=None):
    folder = os.path.join(out, "expect", name)
    os.makedirs(folder)
    text = text_config(spec["config"])
    text_vocab = spec.get("text_vocab", text["vocab_size"])
    window = spec.get("window", 8)
    lengths = {"p5": 5, "wm1": window - 1, "w": window, "wp1": window + 1, "w2p1": 2 * window + 1}
    for prompt, n in lengths.items():
        ids = [2] + seeded("prompt", name, prompt).integers(3, text_vocab, n - 1).tolist()
        value = logits(model, ids)
        np.save(os.path.join(folder, prompt + ".npy"), value)
        with open(os.path.join(folder, prompt + ".json"), "w") as f:
            json.dump(dict(ids=ids, n=n, positions="all", vocab=value.shape[1], text_vocab=text_vocab,
                           max_abs_logit=float(np.abs(value).max()), description="%d ids" % n), f)
            f.write("\n")
    g = greedy(model, name, window + 3, text_vocab)
    info = dict(source=source, prompts=list(lengths), greedy=["greedy1"], embed_scale=scale, text_vocab=text_vocab,
                reference="transformers %s, eager attention, float32" % transformers.__version__)
    if files:
        info["files"] = files
    for file, content in (("greedy1", g), ("info", info)):
        with open(os.path.join(folder, file + ".json"), "w") as f:
            json.dump(content, f)
            f.write("\n")
    print("%-24s scale %-10.7g largest logit %5.1f  margin %.3f  distinct %d" %
          (name, scale, g["max_abs_logit"], g["min_margin"], len(set(g["continuation"]))), flush=True)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    data = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "test", "data")
    out = os.path.join(data, "vectors")
    shutil.rmtree(os.path.join(data, "quant"), ignore_errors=True)
    write_blocks(os.path.join(data, "quant"))
    write_encoded(os.path.join(data, "quant", "encode"))
    for part in ("models", "gguf", "expect"):
        shutil.rmtree(os.path.join(out, part), ignore_errors=True)
    os.makedirs(os.path.join(out, "gguf"))
    made = {name: weights(name, spec) for name, spec in list(FOLDERS.items()) + list(BASES.items())}
    for name, spec in FOLDERS.items():
        folder = os.path.join(out, "models", name)
        write_folder(folder, spec, made[name])
        cls = getattr(transformers, spec["config"]["architectures"][0])
        model, report = cls.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager",
                                            output_loading_info=True)
        assert not [k for k in report["missing_keys"] if "lm_head" not in k] and not report["unexpected_keys"], report
        scale = set_embedding_scale(model, text_config(spec["config"])["hidden_size"], spec["stored"])
        write_expectation(out, name, "models/" + name, model.eval(), spec, scale)
    for name, g in GGUFS.items():
        spec = FOLDERS.get(g["source"]) or BASES[g["source"]]
        path = os.path.join(out, "gguf", name + ".gguf")
        write_gguf(path, g, spec["config"], made[g["source"]])
        model = model_from_gguf(path, spec["config"])
        scale = set_embedding_scale(model, spec["config"]["hidden_size"], "BF16")
        write_expectation(out, "gguf-" + name, "gguf/" + name, model, spec, scale, ["gguf/%s.gguf" % name])


if __name__ == "__main__":
    main()
