#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forms of config.json laid over the models of test/data/vectors, and what transformers makes of each: logits, or its
refusal. For test/engine/test_config_forms.c.

    pip install torch==2.15.0 transformers==5.24.0 safetensors numpy
    tools/make_config_forms.py >test/data/config_forms.jsonl

A line is a form: "base" (the model), "set" and "drop" (keys of the object with the layers), "around" (keys of the root),
then "logits" (every n_vocab/24th of the last position) or "refused". "here": carat refuses by name what the reference
runs, and why that is right. The numbers are those of float32 with eager attention, one pass without a cache; the scale of
the embedding is rounded to the stored type, as make_vectors.py says."""

import json
import os
import shutil
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

BASE = os.path.join(os.path.dirname(__file__), "..", "test", "data", "vectors", "models")
ONE, TWO, THREE, UNTIED, SEEING, NESTED3N, DENSE, E = (
    "gemma1-f32 gemma2-bf16 gemma3-bf16 gemma3-f16-untied gemma3-mm gemma3n gemma4-dense gemma4-e").split()
ALL = [ONE, TWO, THREE, SEEING, NESTED3N, DENSE, E]
KINDS = {"full_attention": {"rope_type": "default", "rope_theta": 500000.0},
         "sliding_attention": {"rope_type": "default", "rope_theta": 20000.0}}
LINEAR = {"rope_type": "linear", "factor": 4.0}
OLDER = {"type": "linear", "factor": 4.0}
PART = {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 30000.0, "factor": 3.0}
OURS = "refused by name here"


def ids(n_vocab):
    return [2] + [3 + i * 37 % (min(n_vocab, 130) - 4) for i in range(1, 40)]


def kinds(**more):
    return {**KINDS, "full_attention": {**KINDS["full_attention"], **more}}


def angles():
    """Of every class: one way of saying angles beside another."""
    for base in ALL:
        for form in (
                {"rope_scaling": LINEAR}, {"rope_scaling": OLDER}, {"rope_scaling": {}}, {"rope_scaling": None},
                {"rope_scaling": {"rope_theta": 50000.0}}, {"rope_scaling": KINDS},
                {"rope_parameters": {"rope_type": "default", "rope_theta": 50000.0}},
                {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 50000.0}, "rope_scaling": LINEAR},
                {"rope_parameters": KINDS}, {"rope_parameters": kinds(rope_type="linear", factor=3.0)},
                {"rope_parameters": KINDS, "rope_scaling": LINEAR}, {"rope_parameters": KINDS, "rope_scaling": OLDER},
                {"rope_parameters": {"full_attention": {"type": "linear", "factor": 3.0, "rope_theta": 5e5},
                                     "sliding_attention": {"rope_theta": 1e4}}},
                {"rope_parameters": {"full_attention": {"rope_theta": 5e5}, "sliding_attention": {"rope_theta": 1e4}},
                 "rope_scaling": OLDER},
                {"rope_parameters": {"full_attention": KINDS["full_attention"]}},
                {"rope_parameters": {"sliding_attention": KINDS["sliding_attention"]}},
                {"rope_parameters": {"sliding_attention": KINDS["sliding_attention"]}, "rope_scaling": LINEAR},
                {"rope_parameters": {**KINDS, "full_attention": None}},
                {"rope_parameters": {"full_attention": {"rope_type": "default"},
                                     "sliding_attention": {"rope_type": "default"}}},
                {"rope_parameters": kinds(rope_theta=None)}, {"rope_parameters": kinds(rope_type=None)},
                {"rope_parameters": {**KINDS, "full_attention": PART}}, {"rope_parameters": PART},
                {"rope_parameters": {**KINDS, "sliding_attention": PART}},
                {"rope_parameters": {**KINDS, "sliding_attention": {**LINEAR, "rope_theta": 3e4}}},
                {"rope_parameters": kinds(rope_type="linear", factor=3.0, partial_rotary_factor=0.5)},
                {"rope_parameters": kinds(rope_type="linear")}, {"rope_parameters": kinds(factor=3.0)},
                {"rope_parameters": kinds(partial_rotary_factor=0.5)}, {"rope_parameters": [1]}):
            yield base, form, []
        for form in ({"rope_theta": 77777.0}, {"rope_theta": None}, {"rope_local_base_freq": 7777.0}):
            yield base, form, ["rope_parameters", "rope_scaling"]


def layers():
    """Of every class: which layers are global, windows, caps and what else has a meaning in one class only."""
    for base in ALL:
        n = text_of(base)["num_hidden_layers"]
        for form in ({"sliding_window_pattern": 3}, {"_sliding_window_pattern": 3}, {"sliding_window_pattern": None}, {}):
            yield base, form, ["layer_types", "sliding_window_pattern", "_sliding_window_pattern"]
        for form in (
                {"sliding_window": None}, {"sliding_window": 5},
                {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}, {"final_logit_softcapping": None},
                {"query_pre_attn_scalar": 100}, {"query_pre_attn_scalar": 100.0}, {"hidden_act": "gelu"},
                {"hidden_activation": None}, {"use_bidirectional_attention": None},
                {"use_bidirectional_attention": "vision"}, {"num_kv_shared_layers": 2}, {"use_double_wide_mlp": True},
                {"attention_k_eq_v": True}, {"altup_correct_scale": False}, {"hidden_size": None}, {"rms_norm_eps": None},
                {"attention_bias": None}, {"tie_word_embeddings": None}, {"num_kv_shared_layers": None},
                {"hidden_size_per_layer_input": None}, {"enable_moe_block": None}, {"head_dim": None},
                {"layer_types": None}, {"global_head_dim": None}, {"num_global_key_value_heads": 2}, {"key_of_later": 3},
                {"layer_types": ["full_attention"] * n, "sliding_window": None},
                {"layer_types": ["attention" if i % 3 == 2 else "sliding_attention" for i in range(n)]}):
            if base != DENSE or not form.get("num_kv_shared_layers"):
                yield base, form, []  # without inputs of layers the reference fails where some share
        yield base, {"hidden_act": "silu"}, [], OURS if base == ONE else ""
        yield base, {"hidden_activation": "silu"}, [], "" if base == ONE else OURS


def own():
    """per_layer_config, of every class."""
    for base in ALL:
        text = text_of(base)
        n, heads = text["num_hidden_layers"], {}
        if base in (DENSE, E):
            heads = {"head_dim": text["global_head_dim"]}
            if text.get("attention_k_eq_v"):
                heads["num_key_value_heads"] = text["num_global_key_value_heads"]
        globals_ = [i for i, kind in enumerate(text.get("layer_types") or []) if kind == "full_attention"] if heads else []

        def said(spelled="%d", **more):
            return {spelled % i: {**heads, **more} for i in globals_}

        same = {key: text[key] for key in ("intermediate_size", "rms_norm_eps", "head_dim", "num_key_value_heads",
                                           "hidden_size", "layer_types") if text.get(key) is not None}
        for form in (
                said(), said("%02d"), said("%05d"), None, {}, [], {**said(), str(n): {}}, {**said(), "9" * 20: {}},
                {**said(), "-1": {}}, {**said(), "x": {}}, {**said(), "": {}}, {**said(), "1.0": {}}, {**said(), "0": None},
                {**said(), "0": {}}, {**said(), "00": []}, {**said(), "0": same},
                {**said(), "0": {"initializer_range": 0.02, "attention_bias": False, "pad_token_id": 0}},
                {**said(), "0": {"sliding_window": 3}}, {**said(), "0": {"num_attention_heads": 2}},
                {**said(), "0": {"head_dim": 8}}, {**said(), "0": {"num_key_value_heads": 2}},
                {**said(), "0": {"head_dim": None}}, {**said(), "0": {"of_later": 2}}, {**said(), "0": {"skip": []}},
                {**said(), "0": {"skip": None}}, {**said(), "0": {"layer_types": ["full_attention"]}}):
            yield base, {"per_layer_config": form}, ["global_head_dim"]
        yield base, {"per_layer_config": {**said(), "0": {"of_later": 2}}, "of_later": 2}, ["global_head_dim"]
        yield base, {"per_layer_config": {**said(), "0": {"skip": ["mlp"]}}}, ["global_head_dim"], OURS
        yield base, {"per_layer_config": {**said(), "0": {"use_cache": False}}}, ["global_head_dim"], OURS
        if heads:
            yield base, {"per_layer_config": {**said(), **said("%03d")}}, ["global_head_dim"], OURS
            yield base, {"per_layer_config": said(), "global_head_dim": 64}, []
            yield base, {"per_layer_config": {}, "global_head_dim": 32}, []
            yield base, {"per_layer_config": dict(list(said().items())[:-1])}, ["global_head_dim"]
            yield base, {"per_layer_config": {**said(), str(globals_[0]): {**heads, "num_key_value_heads": 4}}}, []


def heads():
    """Whether head and embedding are one, with a head in the file and without."""
    for said in (True, False):
        for base in (UNTIED, ONE, TWO, THREE):
            yield base, {"tie_word_embeddings": said}, []
    for base in (SEEING, E):
        for text in (True, None):
            for around in (True, False):
                yield base, {} if text is None else {"tie_word_embeddings": text}, ["tie_word_embeddings"], "", {
                    "tie_word_embeddings": around}
        yield base, {"tie_word_embeddings": False}, [], "", {"tie_word_embeddings": True}
        yield base, {}, ["tie_word_embeddings"], "", {"tie_word_embeddings": None}
        for layer in ({}, {"0": {}}, None):
            yield base, {}, [], "", {"per_layer_config": layer}


def config_of(base):
    with open(os.path.join(BASE, base, "config.json"), encoding="utf-8") as f:
        return json.load(f)


def text_of(base):
    config = config_of(base)
    return config.get("text_config", config)


def weights_of(base, into):
    """Into a folder; Gemma 3n without its encoders, which need other packages."""
    for name in os.listdir(os.path.join(BASE, base)):
        path = os.path.join(BASE, base, name)
        if name.endswith(".safetensors") and base == NESTED3N:
            t = {k.replace("model.language_model.", "model."): v for k, v in load_file(path).items()}
            save_file(t, os.path.join(into, name), metadata={"format": "pt"})
        elif "safetensors" in name:
            shutil.copy(path, into)


def round_scale(model):
    types = {torch.bfloat16: torch.bfloat16, torch.float16: torch.float16}
    stored = model.stored
    for module in model.modules():
        if hasattr(module, "embed_scale") and stored in types:
            module.embed_scale = module.embed_scale.to(stored).float()


def stored_type(folder):
    for name in os.listdir(folder):
        if name.endswith(".safetensors"):
            for key, value in load_file(os.path.join(folder, name)).items():
                if key.endswith("embed_tokens.weight"):
                    return value.dtype
    raise ValueError(folder)


def reference(folder, config):
    name = config["architectures"][0]
    try:
        model, info = getattr(transformers, name).from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
        lost = [k for k in info["missing_keys"] if not any(w in k for w in ("vision", "audio", "multi_modal"))]
        if lost:
            return None, f"{sorted(lost)[0]} is missing"
        model.stored = stored_type(folder)
        round_scale(model)
        text = config.get("text_config", config)
        with torch.no_grad():
            out = model(input_ids=torch.tensor([ids(text["vocab_size"])]), use_cache=False)
        return out.logits[0, -1].float().tolist(), ""
    except Exception as e:  # pylint: disable=broad-except
        return None, type(e).__name__


def main():
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for form in [*angles(), *layers(), *own(), *heads()]:
        base, put, drop, here, around = (*form, *("", {})[len(form) - 3:])
        config = config_of(base)
        text = config.get("text_config", config)
        for key in drop:
            text.pop(key, None)
        text.update(put)
        config.update(around)
        if base == NESTED3N:
            config = {**text, "architectures": ["Gemma3nForCausalLM"], "model_type": "gemma3n_text"}
        with tempfile.TemporaryDirectory() as folder:
            weights_of(base, folder)
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
                json.dump(config, f)
            logits, why = reference(folder, config)
        line = {"base": base, "set": put}
        if drop:
            line["drop"] = drop
        if around:
            line["around"] = around
        if here:
            line["here"] = here
        elif logits is None:
            line["refused"] = why
        else:
            line["largest"] = float(f"{max(map(abs, logits)):.6g}")
            line["logits"] = [float(f"{v:.6g}") for v in logits[::max(1, len(logits) // 24)]]
        print(json.dumps(line, separators=(",", ":")), flush=True)
        print(base, why or "runs", file=sys.stderr)


if __name__ == "__main__":
    main()
