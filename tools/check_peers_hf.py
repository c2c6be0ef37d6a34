#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the directories that `carat convert` writes with transformers, and their vocabularies with sentencepiece and
tokenizers. Needs torch, transformers, sentencepiece and numpy.

usage: check_peers_hf.py CARAT SHARED [MODEL ...]

Each MODEL, tiny and tiny4 by default, is written as GGUF and from that as directories. transformers' logits in float32
must lie within 1e-4 of the largest of `carat logits --exact`, of the directory in F32 and of one in the model's type,
which is loaded so that its embedding scale follows that. So must those of the members in SHARED/family, of which the
expected numbers are known. Vocabularies must give carat's ids. Ends with "N passed, M failed"; the exit code is 1 when
something failed. So are models with another residual scale, the vectors of embedders, and drafters' tensors."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import sentencepiece
import tokenizers
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

PROMPT = "Is the crow black?\n\n<b>Yes</b>,  it   is: \u00e9\u4e2d\U0001f600 \t100%"
passed = failed = 0


def check(what, good, found=""):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print(f"FAILED: {what} {found}", flush=True)


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def of_carat(carat, model, ids, out):
    run(carat, "logits", model, "--ids", ",".join(map(str, ids)), "--all", "--exact", "--no-cache", "-o", out)
    return np.load(out)


def of_transformers(directory, ids, dtype, what):
    model, info = AutoModelForCausalLM.from_pretrained(directory, dtype=dtype, attn_implementation="eager",
                                                       output_loading_info=True)
    left = {k: sorted(v) for k, v in info.items() if v}
    check(f"{what}: transformers finds what it looks for", not left, left)
    with torch.no_grad():
        return model.float()(torch.tensor([ids])).logits[0].numpy()


def near(what, found, expected):
    distance = np.abs(found - expected).max() / np.abs(expected).max()
    check(what, found.shape == expected.shape and distance <= 1e-4, f"{distance:.2g} of the largest")


def vocabulary(carat, directory, what):
    texts = [PROMPT, *open(os.path.join(os.path.dirname(__file__), "..", "NUMERICS.md"), encoding="utf-8")]
    peers = []  # name, what of the directory carat reads, how, ids
    if os.path.exists(directory + "/tokenizer.model"):
        path = directory + "/tokenizer.model"
        peers.append(("sentencepiece", path, [], sentencepiece.SentencePieceProcessor(model_file=path).encode))
    if os.path.exists(directory + "/tokenizer.json"):
        alone = tokenizers.Tokenizer.from_file(directory + "/tokenizer.json")
        auto = AutoTokenizer.from_pretrained(directory)
        peers.append(("tokenizers", directory, ["--special"], lambda text: alone.encode(text).ids[1:]))
        peers.append(("AutoTokenizer", directory, ["--special"], lambda text: auto(text)["input_ids"][1:]))
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        lines.writelines(json.dumps({"text": t}) + "\n" for t in texts)
        lines.flush()
        for name, path, how, encode in peers:
            ours = run(carat, "tokenize", path, "--jsonl", lines.name, "--no-bos", *how).splitlines()
            other = [t for t, line in zip(texts, ours) if encode(t) != json.loads(line)["ids"]]
            good = not other and len(ours) == len(texts)
            check(f"{what}: {name} gives the ids of {len(texts)} texts", good, other[:1])


def written(carat, source, directory, kind=None):
    run(carat, "convert", source, directory, *(["--type", kind] if kind else []))
    return directory


def one_model(carat, model, work):
    name = os.path.basename(model.rstrip("/"))
    gguf, out = os.path.join(work, name + ".gguf"), os.path.join(work, "logits.npy")
    run(carat, "convert", model, gguf)
    ids = json.loads(run(carat, "tokenize", model, "-p", PROMPT, "--json"))["ids"]
    for kind in (None, "f32", "f16"):
        d = written(carat, gguf, os.path.join(work, f"{name}-{kind}"), kind)
        what = f"{name}, {kind or 'its type'}"
        dtype = {"f32": torch.float32, "f16": torch.float16}.get(kind, torch.bfloat16)
        near(f"{what}: logits", of_transformers(d, ids, dtype, what), of_carat(carat, d, ids, out))
    vocabulary(carat, d, name)


def member(carat, family, name, work):
    gguf = os.path.join(work, name + ".gguf")
    run(carat, "convert", f"{family}/models/{name}", gguf)
    stored = written(carat, gguf, os.path.join(work, name))
    wide = written(carat, gguf, os.path.join(work, name + ".wide"), "f32")
    for path in sorted(glob.glob(f"{family}/expect/{name}/*.json")):
        if not os.path.exists(path[:-4] + "npy"):
            continue
        ids, expected = json.load(open(path, encoding="utf-8"))["ids"], np.load(path[:-4] + "npy")
        what = f"{name}, {os.path.basename(path)[:-5]}"
        config = json.load(open(stored + "/config.json", encoding="utf-8"))
        dtype = getattr(torch, config["torch_dtype"])
        near(f"{what}: transformers, as expected", of_transformers(stored, ids, dtype, what), expected)
        out = os.path.join(work, "logits.npy")
        near(f"{what}: carat, as expected", of_carat(carat, stored, ids, out), expected)
        near(f"{what}: in F32", of_transformers(wide, ids, torch.float32, what), of_carat(carat, wide, ids, out))


def scaled(carat, family, name, work):
    """Both ways to a directory with half the residual stream: transformers gives what it gives without. (Of a
    directory that also sees, that is not what is expected where ids stand for pictures.)"""
    gguf = os.path.join(work, name + ".gguf")
    for source in (f"{family}/models/{name}", gguf):
        plain, half = os.path.join(work, name + ".plain"), os.path.join(work, name + ".scaled")
        for directory in (plain, half):
            shutil.rmtree(directory, ignore_errors=True)
        run(carat, "convert", source, plain)
        run(carat, "convert", source, half, "--residual-scale", "0.5")
        for path in sorted(glob.glob(f"{family}/expect/{name}/*.json")):
            if not os.path.exists(path[:-4] + "npy"):
                continue
            ids = json.load(open(path, encoding="utf-8"))["ids"]
            what = f"{name} at 1/2 from {os.path.basename(source)}, {os.path.basename(path)[:-5]}"
            near(what, of_transformers(half, ids, torch.bfloat16, what), of_transformers(plain, ids, torch.bfloat16, what))


def vector_of(directory, ids):
    model = AutoModel.from_pretrained(directory, dtype=torch.bfloat16, attn_implementation="eager").float()
    model = getattr(model, "language_model", model)
    with torch.no_grad():
        v = model(input_ids=torch.tensor([ids])).last_hidden_state[0].mean(0)
    for folder in ("2_Dense", "3_Dense"):
        if os.path.isdir(f"{directory}/{folder}"):
            v = load_file(f"{directory}/{folder}/model.safetensors")["linear.weight"].float() @ v
    return (v / v.norm()).numpy()


def embedder(carat, family, name, work):
    source, gguf = f"{family}/models/{name}", os.path.join(work, name + ".gguf")
    run(carat, "convert", source, gguf)
    for kind, origin in (("copied", source), ("written", gguf)):
        directory = written(carat, origin, os.path.join(work, f"{name}.{kind}"))
        for path in sorted(glob.glob(f"{family}/expect/{name}/*.json")):
            if os.path.exists(path[:-4] + "npy"):
                ids, expected = json.load(open(path, encoding="utf-8"))["ids"], np.load(path[:-4] + "npy")
                near(f"{name} {kind}, {os.path.basename(path)[:-5]}", vector_of(directory, ids), expected)


def drafter(carat, family, name, work):
    """transformers 5.23 raises for a drafter's configuration; its tensors and what config.json says are compared."""
    source, gguf = f"{family}/models/{name}", os.path.join(work, name + ".gguf")
    run(carat, "convert", source, gguf)
    wanted = json.load(open(source + "/config.json", encoding="utf-8"))
    for kind, origin in (("copied", source), ("written", gguf)):
        directory = written(carat, origin, os.path.join(work, f"{name}.{kind}"))
        a, b = load_file(source + "/model.safetensors"), load_file(directory + "/model.safetensors")
        other = [k for k in a.keys() | b.keys() if k not in a or k not in b or not torch.equal(a[k].float(), b[k].float())]
        check(f"{name} {kind}: the tensors are the source's", not other, other)
        check(f"{name} {kind}: ids are integers of 64 bits",
              all(v.dtype == torch.int64 for k, v in b.items() if "ordering" in k))
        config = json.load(open(directory + "/config.json", encoding="utf-8"))
        keys = [k for k in wanted if k not in ("dtype", "text_config")]
        if not wanted["use_ordered_embeddings"]:
            keys = [k for k in keys if "centroid" not in k]
        text = [k for k in wanted["text_config"] if k != "vocab_size_per_layer_input"]
        other = [k for k in keys if config.get(k) != wanted[k]]
        other += [k for k in text if config["text_config"].get(k) != wanted["text_config"][k]]
        left = [k for k in other if k not in ("num_global_key_value_heads", "tie_word_embeddings", "attention_k_eq_v")]
        check(f"{name} {kind}: config.json says the same", not left, left)


def main():
    carat, shared, *models = sys.argv[1:]
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    with tempfile.TemporaryDirectory() as work:
        for model in models or [root + "/models/tiny", root + "/test/fixtures/tiny4"]:
            one_model(carat, model, work)
        for name in ("g4-dense", "g4-e", "g4-e-f32", "g4-moe", "g4-unified", "g3n"):
            member(carat, shared + "/family", name, work)
        for name in ("g4-e", "g4-dense"):
            scaled(carat, shared + "/family", name, work)
        for name in ("embed1", "embed2"):
            embedder(carat, shared + "/family", name, work)
        for name in ("g4-e-assistant", "g4-dense-assistant"):
            drafter(carat, shared + "/family", name, work)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
