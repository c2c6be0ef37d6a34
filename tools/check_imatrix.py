#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare `carat imatrix --exact` with hooks on the linear layers and experts of transformers. Needs torch,
transformers and gguf (requirements.txt).

usage: check_imatrix.py CARAT MODEL [TEXT]
       check_imatrix.py CARAT MODEL --write OUT.gguf

MODEL is a Hugging Face directory of Gemma 1 to 4 or 3n. Without TEXT made-up ids are evaluated, for models without a
vocabulary. Sums of squares of every column must agree within 1e-4 of the largest of their matrix, an expert's by
themselves, and counts of rows must be the same; no matrix may be missing or too many. Ends with "N passed, M failed";
the exit code is 1 when something failed. --write writes what transformers gives for one window of made-up ids, which
test/listen/test_column_sums.c expects (test/data/convert/*-sums.gguf)."""
import json
import os
import re
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import gguf
import numpy as np
import torch
from transformers import AutoModelForCausalLM

CONTEXT = 128
MADE_UP, WRITTEN = 400, 96
BOS = 2
NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj",
         "laurel.linear_left": "laurel_l", "laurel.linear_right": "laurel_r", "router.proj": "ffn_gate_inp"}


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def ours(carat, model, text, directory):
    out = os.path.join(directory, "out.gguf")
    run(carat, "imatrix", model, *text, "-o", out, "-c", str(CONTEXT), "--exact", "--no-cache")
    return {t.name: np.array(t.data, np.float64) for t in gguf.GGUFReader(out).tensors}


def in_float32(carat, model, directory):
    """The model as published may see, too; what carat writes of a GGUF file does not. Its embedding's scale is that of
    the type it is stored in."""
    plain = os.path.join(directory, "plain")
    run(carat, "convert", model, plain + ".gguf")
    run(carat, "convert", plain + ".gguf", plain)
    with open(os.path.join(plain, "config.json"), encoding="utf-8") as f:
        dtype = getattr(torch, json.load(f)["torch_dtype"])
    net = AutoModelForCausalLM.from_pretrained(plain, dtype=torch.float32, attn_implementation="eager").eval()
    for module in net.modules():
        if hasattr(module, "scalar_embed_scale"):
            module.embed_scale = torch.tensor(module.scalar_embed_scale).to(dtype).float()
    return net


class Sums:
    """What was heard: of a name the sums of squares of columns and the number of rows, of each matrix."""

    def __init__(self):
        self.squares, self.counts = {}, {}

    def add(self, name, x, matrix=0, of=1):
        x = x.detach().to(torch.float64).reshape(-1, x.shape[-1])
        self.squares.setdefault(name, np.zeros((of, x.shape[-1])))[matrix] += (x * x).sum(0).numpy()
        self.counts.setdefault(name, np.zeros(of))[matrix] += x.shape[0]

    def linear(self, name):
        return lambda _, inputs: self.add(name, inputs[0])

    def experts(self, layer):
        def hear(module, inputs):
            x, chosen = inputs[0], inputs[1]
            of = module.num_experts
            for e in range(of):
                rows = x[(chosen == e).any(-1)]
                gate, up = torch.nn.functional.linear(rows, module.gate_up_proj[e]).chunk(2, dim=-1)
                self.add("blk.%s.ffn_gate_up_exps.weight" % layer, rows, e, of)
                self.add("blk.%s.ffn_down_exps.weight" % layer, module.act_fn(gate) * up, e, of)
        return hear

    def listen(self, net):
        for name, layer in net.named_modules():
            number = re.search(r"layers\.(\d+)\.", name)
            if not number:
                continue
            if name.endswith(".experts"):
                layer.register_forward_pre_hook(self.experts(number[1]))
            for end, part in NAMES.items():
                if isinstance(layer, torch.nn.Linear) and name.endswith("." + end):
                    layer.register_forward_pre_hook(self.linear("blk.%s.%s.weight" % (number[1], part)))


def made_up(n):
    """scattered_ids(n, 300, 5) of test/engine/vector_util.h."""
    x, ids = (5 * 2654435761 + 12345) % 2**32, []
    for i in range(n):
        x = (x * 1664525 + 1013904223) % 2**32
        ids.append(3 + (x >> 8) % 297 if i % CONTEXT else BOS)
    return ids


def ids_of(carat, model, text):
    if text:
        return [int(x) for x in run(carat, "tokenize", model, "-f", text).replace(",", " ").split()]
    return made_up(MADE_UP)


def write(sums, path):
    out = gguf.GGUFWriter(path, "")
    out.add_type("imatrix")
    for name, squares in sorted(sums.squares.items()):
        one = len(squares) == 1
        out.add_tensor(name + ".in_sum2", (squares[0] if one else squares).astype(np.float32))
        out.add_tensor(name + ".counts", sums.counts[name].reshape((1,) if one else (-1, 1)).astype(np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def main():
    if len(sys.argv) not in (3, 4, 5) or (len(sys.argv) == 5) != ("--write" in sys.argv[3:4]):
        sys.exit(__doc__)
    carat, model, text = sys.argv[1], sys.argv[2], (sys.argv[3:] or [None])[0]
    want = Sums()
    if text == "--write":
        with tempfile.TemporaryDirectory() as directory:
            net = in_float32(carat, model, directory)
        want.listen(net)
        with torch.no_grad():
            net(torch.tensor([made_up(WRITTEN)]))
        return write(want, sys.argv[4])
    ids = ids_of(carat, model, text)
    with tempfile.TemporaryDirectory() as directory:
        got = ours(carat, model, ["-f", text] if text else ["--ids", ",".join(map(str, ids))], directory)
        net = in_float32(carat, model, directory)
    want.listen(net)
    with torch.no_grad():
        for at in range(0, len(ids) - CONTEXT + 1, CONTEXT):
            net(torch.tensor([[BOS] + ids[at + 1:at + CONTEXT]]))
    wrong, worst = 0, 0.0
    for name, sums in sorted(want.squares.items()):
        found = got.get(name + ".in_sum2", np.zeros(0)).reshape(-1, sums.shape[-1])
        counts = got.get(name + ".counts", np.zeros(0)).reshape(-1)
        off = np.abs(found - sums).max() / sums.max() if found.shape == sums.shape else np.inf
        worst = max(worst, off)
        if off > 1e-4 or not np.array_equal(counts, want.counts[name]):
            wrong += 1
            print("FAIL %s: %g apart, counts %s, not %s" % (name, off, counts, want.counts[name]))
    more = sorted(set(got) - {n + e for n in want.squares for e in (".in_sum2", ".counts")})
    for name in more:
        print("FAIL %s: nobody reads it" % name)
    print("at most %.2g apart" % worst)
    print("%d passed, %d failed" % (len(want.squares) - wrong, wrong + len(more)))
    sys.exit(wrong + len(more) > 0)


if __name__ == "__main__":
    main()
