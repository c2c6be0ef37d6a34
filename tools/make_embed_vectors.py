#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden vectors of embedders: tiny random models in the dialects of EmbeddingGemma 1 and 2, and what transformers makes
of them.

    python3 tools/make_embed_vectors.py [OUT]          (OUT: test/data/embed)

Writes OUT/models/<name>/ (Hugging Face folders; that of EmbeddingGemma 1 as sentence-transformers lays it out),
OUT/gguf/<name>.gguf, and OUT/expect/<family>/ with info.json and for each prompt P.json (ids), P.npy (the vector) and
P.<half>.npy (its first half at length 1). Needs torch, transformers, safetensors, gguf and numpy as in
tools/requirements.txt; nothing here is needed to build or to test carat, the output is committed.

The numbers come from the folder opened with from_pretrained in float32 with eager attention; the embedding scale is
rounded to the type that stores the embedding, as make_vectors.py says. The vocabulary is as large as models/tiny's, whose
tokenizer goes with them in tests of the command.
"""
import json
import os
import shutil
import sys
import zlib

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ["HF_HUB_OFFLINE"] = "1"
import gguf  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

torch.set_num_threads(1)
torch.set_grad_enabled(False)

VOCAB, HIDDEN, LAYERS = 1024, 36, 6
KINDS = ["sliding_attention"] * 5 + ["full_attention"]
COMMON = dict(vocab_size=VOCAB, hidden_size=HIDDEN, num_hidden_layers=LAYERS, head_dim=16, layer_types=KINDS, rms_norm_eps=1e-06)
# Windows are keys on both sides for the first, and for the second on one.
EMBED1 = dict(COMMON, intermediate_size=56, num_attention_heads=3, num_key_value_heads=1, query_pre_attn_scalar=16,
              sliding_window=12, use_bidirectional_attention=True, max_position_embeddings=2048, rope_theta=1000000.0,
              rope_local_base_freq=10000.0)
EMBED2 = dict(COMMON, intermediate_size=72, num_attention_heads=4, num_key_value_heads=2, global_head_dim=32,
              num_global_key_value_heads=1, sliding_window=6, hidden_size_per_layer_input=16, embedding_dim=64,
              max_position_embeddings=8192)
DENSE = 96  # what the first dense module of EmbeddingGemma 1 makes
PROMPTS = {"least": 3, "inside": 7, "edge": 13, "beyond": 14, "far": 70}


def rng(*key):
    return np.random.default_rng([zlib.crc32(str(k).encode()) for k in key])


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=1)
        f.write("\n")


def random_tensors(model, name, plain):
    """A value for every weight, by what it is called; plain: norms are stored as they are used."""
    out = {}
    for key, p in model.state_dict().items():
        x = rng(name, key).standard_normal(tuple(p.shape))
        if key.endswith("layer_scalar"):
            x = 0.8 + 0.1 * x
        elif "norm" in key:
            x = plain + 0.3 * x
        elif key.endswith("embed_tokens.weight"):
            x = 4 * x / np.sqrt(HIDDEN)
        elif p.dim() == 2:
            x = x / np.sqrt(p.shape[-1])
        else:
            continue  # what a model computes for itself
        out[key] = torch.from_numpy(x).to(torch.bfloat16).contiguous()
    return out


def write_folder(path, config, tensors):
    os.makedirs(path, exist_ok=True)
    write_json(os.path.join(path, "config.json"), config)
    save_file(tensors, os.path.join(path, "model.safetensors"), metadata={"format": "pt"})


def write_modules(path):
    """What sentence-transformers puts beside the model."""
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Dense", "Dense"), ("4_Normalize", "Normalize")]
    write_json(os.path.join(path, "modules.json"), [
        {"idx": i, "name": str(i), "path": folder, "type": "sentence_transformers.models." + kind}
        for i, (folder, kind) in enumerate(kinds)])
    write_json(os.path.join(path, "1_Pooling", "config.json"), {
        "word_embedding_dimension": HIDDEN, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": False, "include_prompt": True})
    for folder, rows, cols in (("2_Dense", DENSE, HIDDEN), ("3_Dense", HIDDEN, DENSE)):
        write_json(os.path.join(path, folder, "config.json"), {
            "in_features": cols, "out_features": rows, "bias": False, "activation_function": "torch.nn.modules.linear.Identity"})
        w = torch.from_numpy(rng(folder).standard_normal((rows, cols)) / np.sqrt(cols)).to(torch.bfloat16)
        save_file({"linear.weight": w}, os.path.join(path, folder, "model.safetensors"))


def reference(path):
    """The model of a folder, which gives the mean of its last states; and the matrices behind that."""
    model = transformers.AutoModel.from_pretrained(path, dtype=torch.float32, attn_implementation="eager").eval()
    for m in model.modules():
        if hasattr(m, "embed_scale"):
            m.embed_scale = torch.tensor(HIDDEN ** 0.5).to(torch.bfloat16).float()
    dense = [load_file(os.path.join(path, d, "model.safetensors"))["linear.weight"].float()
             for d in ("2_Dense", "3_Dense") if os.path.exists(os.path.join(path, d))]
    body = model.language_model if hasattr(model, "language_model") else model

    def vector(ids):
        v = body(input_ids=torch.tensor([ids])).last_hidden_state[0].mean(0)
        for w in dense:
            v = w @ v
        return v

    return vector


def write_expected(path, family, source, twins, vector):
    shutil.rmtree(path, ignore_errors=True)
    for name, n in PROMPTS.items():
        ids = [2] + [int(i) for i in rng(family, name).integers(3, VOCAB, n - 2)] + [1]
        v = vector(ids)
        half = len(v) // 2
        write_json(os.path.join(path, name + ".json"), {"ids": ids})
        np.save(os.path.join(path, name + ".npy"), (v / v.norm()).numpy())
        np.save(os.path.join(path, f"{name}.{half}.npy"), (v[:half] / v[:half].norm()).numpy())
    write_json(os.path.join(path, "info.json"), {"source": source, "twins": twins, "prompts": sorted(PROMPTS)})


# ------------------------------------------------------------------------------------------- GGUF

GGUF_NAMES = {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight",
              "embedding_projection.weight": "output.weight",
              "per_layer_model_projection.weight": "per_layer_model_proj.weight",
              "per_layer_projection_norm.weight": "per_layer_proj_norm.weight"}
GGUF_OF_LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
                 "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
                 "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "post_attention_norm",
                 "pre_feedforward_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
                 "mlp.down_proj": "ffn_down", "post_feedforward_layernorm": "post_ffw_norm",
                 "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj",
                 "post_per_layer_input_norm": "post_norm"}


def gguf_name(key):
    parts = key.split(".")
    if parts[0] != "layers":
        return GGUF_NAMES[key]
    if parts[2] == "layer_scalar":
        return f"blk.{parts[1]}.layer_output_scale.weight"
    return f"blk.{parts[1]}.{GGUF_OF_LAYER['.'.join(parts[2:-1])]}.weight"


def write_gguf(path, arch, config, tensors, plus, more):
    """tensors by their plain names; plus: what is added to norms; more: keys and matrices."""
    w = gguf.GGUFWriter(path, arch)
    for key, value in dict(block_count=LAYERS, context_length=config["max_position_embeddings"], embedding_length=HIDDEN,
                           feed_forward_length=config["intermediate_size"], pooling_type=1, **more["keys"]).items():
        w.add_uint32(f"{arch}.{key.replace('__', '.')}", value)
    w.add_uint32(f"{arch}.attention.head_count", config["num_attention_heads"])
    w.add_float32(f"{arch}.attention.layer_norm_rms_epsilon", 1e-06)
    w.add_float32(f"{arch}.rope.freq_base", 1e6)
    for key, value in more.get("arrays", {}).items():
        w.add_array(f"{arch}.{key}", value)
    for key, value in more.get("flags", {}).items():
        w.add_bool(f"{arch}.{key}", value)
    for key, t in tensors.items():
        x = t.float().numpy()
        w.add_tensor(gguf_name(key), x + np.float32(plus) if "norm" in key else x)
    for key, t in more.get("tensors", {}).items():
        w.add_tensor(key, t.float().numpy())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def make_embed1(out):
    model = transformers.Gemma3TextModel(transformers.Gemma3TextConfig(**EMBED1))
    tensors = random_tensors(model, "embed1", 0)
    path = os.path.join(out, "models", "embed1")
    write_folder(path, dict(EMBED1, architectures=["Gemma3TextModel"], model_type="gemma3_text", dtype="bfloat16",
                            hidden_activation="gelu_pytorch_tanh"), tensors)
    write_modules(path)
    dense = {f"dense_{i}.weight": load_file(os.path.join(path, f"{i}_Dense", "model.safetensors"))["linear.weight"] for i in (2, 3)}
    keys = dict(attention__head_count_kv=1, attention__key_length=16, attention__value_length=16, attention__sliding_window=12)
    own = dict(keys, dense_2_feat_in=HIDDEN, dense_2_feat_out=DENSE, dense_3_feat_in=DENSE, dense_3_feat_out=HIDDEN)
    write_gguf(os.path.join(out, "gguf", "embed1.gguf"), "gemma-embedding", EMBED1, tensors, 1, {"keys": own, "tensors": dense})
    write_gguf(os.path.join(out, "gguf", "embed1-gemma3.gguf"), "gemma3", EMBED1, tensors, 1,
               {"keys": keys, "tensors": dense, "flags": {"attention.causal": False}})
    write_expected(os.path.join(out, "expect", "embed1"), "embed1", "models/embed1",
                   ["gguf/embed1.gguf", "gguf/embed1-gemma3.gguf"], reference(path))


def make_embed2(out):
    model = transformers.EmbeddingGemma2TextModel(transformers.EmbeddingGemma2TextConfig(**EMBED2))
    tensors = random_tensors(model, "embed2", 1)
    config = {"architectures": ["EmbeddingGemma2Model"], "model_type": "embedding_gemma2", "dtype": "bfloat16",
              "text_config": dict(EMBED2, model_type="embedding_gemma2_text", hidden_activation="gelu_pytorch_tanh")}
    path = os.path.join(out, "models", "embed2")
    write_folder(path, config, {"language_model." + k: t for k, t in tensors.items()})
    # The other class of transformers has Gemma 4's names, and counts the keys of its window on both sides.
    plain = {k.replace("ple_block.", "").replace("ple.", ""): t for k, t in tensors.items()}
    other = dict(config, text_config=dict(config["text_config"], sliding_window=2 * EMBED2["sliding_window"],
                                          use_bidirectional_attention="all"))
    write_folder(path + "-other", other, {"language_model." + k: t for k, t in plain.items()})
    write_gguf(os.path.join(out, "gguf", "embed2.gguf"), "gemma-embedding2", EMBED2, plain, 0,
               {"keys": dict(attention__key_length=32, attention__value_length=32, attention__key_length_swa=16,
                             attention__value_length_swa=16, attention__sliding_window=2 * EMBED2["sliding_window"],
                             embedding_length_per_layer_input=16, embedding_length_out=64),
                "arrays": {"attention.head_count_kv": [2, 2, 2, 2, 2, 1], "attention.sliding_window_pattern": [True] * 5 + [False]}})
    write_expected(os.path.join(out, "expect", "embed2"), "embed2", "models/embed2",
                   ["models/embed2-other", "gguf/embed2.gguf"], reference(path))


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "test", "data", "embed")
    os.makedirs(os.path.join(out, "gguf"), exist_ok=True)
    make_embed1(out)
    make_embed2(out)


main()
