#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare `carat imatrix --exact` with hooks on the linear layers of transformers. Needs torch, transformers and
gguf (requirements.txt).

usage: check_imatrix.py CARAT MODEL TEXT

MODEL is a Hugging Face directory of Gemma 1 to 3. Sums of squares of every column must agree within 1e-4 of the
largest of their matrix. Ends with "N passed, M failed"; the exit code is 1 when something failed."""
import os
import subprocess
import sys
import tempfile

import gguf
import numpy as np
import torch
from transformers import AutoModelForCausalLM

CONTEXT = 128
NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down"}


def ours(carat, model, text):
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out.gguf")
        subprocess.run([carat, "imatrix", model, "-f", text, "-o", out, "-c", str(CONTEXT), "--exact"], check=True)
        return {t.name: np.array(t.data, np.float64).reshape(-1) for t in gguf.GGUFReader(out).tensors}


def theirs(carat, model, text):
    ids = subprocess.run([carat, "tokenize", model, "-f", text], check=True, capture_output=True, text=True).stdout
    ids = [int(x) for x in ids.replace(",", " ").split()]
    net = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    sums = {}

    def hook(name):
        def add(_, inputs):
            x = inputs[0].detach().to(torch.float64).reshape(-1, inputs[0].shape[-1])
            sums[name] = sums.get(name, 0) + (x * x).sum(0).numpy()
        return add

    for name, layer in net.named_modules():
        for end, part in NAMES.items():
            if isinstance(layer, torch.nn.Linear) and name.endswith(end):
                number = name.split("layers.")[1].split(".")[0]
                layer.register_forward_pre_hook(hook("blk.%s.%s.weight" % (number, part)))
    rows = 0
    with torch.no_grad():
        for at in range(0, len(ids) - CONTEXT + 1, CONTEXT):
            window = [net.config.bos_token_id] + ids[at + 1:at + CONTEXT]
            net(torch.tensor([window]))
            rows += CONTEXT
    return sums, rows


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    got = ours(*sys.argv[1:])
    want, rows = theirs(*sys.argv[1:])
    wrong = []
    worst = 0.0
    for name, sums in sorted(want.items()):
        off = np.abs(got[name + ".in_sum2"] - sums).max() / sums.max()
        worst = max(worst, off)
        if off > 1e-4 or got[name + ".counts"][0] != rows:
            wrong.append(name)
            print("FAIL %s: %g apart, %g rows, not %d" % (name, off, got[name + ".counts"][0], rows))
    print("%d rows, at most %.2g apart" % (rows, worst))
    print("%d passed, %d failed" % (len(want) - len(wrong), len(wrong)))
    sys.exit(len(wrong) > 0 or len(got) != 2 * len(want))


if __name__ == "__main__":
    main()
