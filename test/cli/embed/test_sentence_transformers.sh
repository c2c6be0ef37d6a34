#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_sentence_transformers.sh: PyPI's sentence-transformers encodes texts with a directory to the vectors
# that `carat embed` gives. Not checked where python3 does not have it.
. "$CARAT_SOURCE/test/cli/common.bash"
python3 -c 'import sentence_transformers, torch' 2>/dev/null || { echo 'there is no sentence-transformers'; exit 77; }

mkdir E
cp -rL "$CARAT_SOURCE"/test/data/embed/models/embed1/* "$tiny/tokenizer.json" "$tiny/tokenizer_config.json" E
python3 - "$CARAT" 2>log <<'END' || { cat log >&2; die 'vectors differ'; }
import json
import subprocess
import sys

import numpy
import torch
from sentence_transformers import SentenceTransformer

# As a published tokenizer of an embedder does, this one ends a text.
with open("E/tokenizer.json", encoding="utf-8") as f:
    tokenizer = json.load(f)
end = tokenizer["post_processor"]
end["single"].append({"SpecialToken": {"id": "<eos>", "type_id": 0}})
end["special_tokens"]["<eos>"] = {"id": "<eos>", "ids": [1], "tokens": ["<eos>"]}
with open("E/tokenizer.json", "w", encoding="utf-8") as f:
    json.dump(tokenizer, f)
model = SentenceTransformer("E", device="cpu", model_kwargs={"attn_implementation": "eager", "dtype": torch.float32})
for m in model.modules():
    if hasattr(m, "embed_scale"):  # in the type of the stored embedding
        m.embed_scale = torch.tensor(36 ** 0.5).to(torch.bfloat16).float()
texts = ["red apples", "The lights in the kitchen are on.", "one two three " * 40]
for task, sentence in (("query", "task: search result | query: "), ("document", "title: none | text: ")):
    for dim in (36, 12):
        expected = model.encode([sentence + t for t in texts], truncate_dim=dim, normalize_embeddings=True)
        out = subprocess.run([sys.argv[1], "embed", "E", "--exact", "--json", "--task", task, "--dim", str(dim), *texts],
                             check=True, capture_output=True).stdout
        found = numpy.array(json.loads(out)["vectors"], dtype=numpy.float32)
        error = abs(found - expected).max() / abs(expected).max()
        print(task, dim, error, file=sys.stderr)
        if not error < 1e-4:
            sys.exit(1)
END
cat log | grep -e '^query ' -e '^document '
[ "$(grep -c -e '^query ' -e '^document ' log)" = 4 ] || die "log: $(cat log)"
