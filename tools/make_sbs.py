#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A writer and a reader of gemma.cpp's SBS files, and the fixtures of test/data/sbs made with them.

    python3 tools/make_sbs.py [OUT]          (OUT: test/data/sbs)

Written from a description of the format, without gemma.cpp. Each fixture is written from random weights in the types and
forms that FIXTURES names; then the file is read back by a decoder that shares nothing with the encoder but the
numbers of the types, its values go into the model of transformers (float32, eager attention), and what that computes
is the expectation. Needs what tools/make_vectors.py needs; the output is committed. Run with the tokenizer of
test/data/text in place.

Layout of OUT as in test/data/vectors: expect/<name>/ with info.json, p11.json, p11.npy and greedy1.json; the files lie
beside it. hf/ holds the weights of "g2-f32" once more as a Hugging Face folder.
"""
import json
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make_vectors as mv  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

TYPES = {"F32": 1, "BF16": 2, "SFP": 3, "NUQ": 4, "I8": 8}
BITS = {"F32": 32, "BF16": 16, "SFP": 8, "NUQ": 4, "I8": 8}
ALIGN, END = 256, 65536
SFP_MAX = 1.875
WINDOW = 4

# ------------------------------------------------------------------------------------------------ encoders


def to_bf16(x):
    u = np.asarray(x, np.float32).view(np.uint32)
    return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)


def sfp_encode(x):
    w = (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.int64)  # upper half, not rounded
    hi, lo = w >> 8, w & 255
    e = ((hi << 1) & 0xFF) | (lo >> 7)
    assert (e < 128).all()
    m6 = ((lo << 1) & 0xFF) >> 2
    big0 = (e > 119) | ((e == 119) & (m6 > 0x3B))
    m = np.where(big0, m6 << 1, m6)
    r = m + ((m >> 4) & 1) + 7
    c = r & ~np.where(big0, 0x80, 0x40)
    e = e + (c != r)
    k = c >> 4
    k = np.where(e == 104, np.maximum(k, 1), k)
    big = e > 119
    code = (hi & 0x80) | k | np.where(big, (e - 112) << 3, (e - 104) << 2)
    return np.where(e < 104, 0, code).astype(np.uint8)


def nuq_encode(x):
    """Groups of 256; 16 ascending centres (Lloyd's iteration from quantiles), then indices."""
    out = bytearray()
    for at in range(0, len(x), 256):
        v = np.asarray(x[at:at + 256], np.float64)
        centre = np.quantile(v, (np.arange(16) + 0.5) / 16)
        for _ in range(20):
            nearest = np.abs(v[:, None] - centre[None]).argmin(1)
            centre = np.array([v[nearest == i].mean() if (nearest == i).any() else centre[i] for i in range(16)])
        centre = np.sort(centre)
        codes = sfp_encode(centre)
        index = np.abs(v[:, None] - sfp_decode(codes)[None]).argmin(1)
        if len(index) % 2:
            index = np.append(index, 0)
        out += codes.tobytes() + (index[0::2] | index[1::2] << 4).astype(np.uint8).tobytes()
    return bytes(out)


def i8_encode(x):
    """Groups of 128: bf16 inverse scale, bf16 zero point, integers."""
    f, out = np.float32, bytearray()
    for at in range(0, len(x), 128):
        v = np.asarray(x[at:at + 128], np.float32)
        spread = f(v.max() - v.min()) or f(1)
        scale = f(255) / spread
        inverse = to_bf16(f(1) / scale)
        zero = to_bf16(f(np.trunc(-scale * v.min() - f(128))))
        wide = np.float64(from_bf16(to_bf16(scale))) * v + np.float64(from_bf16(zero))
        out += struct.pack("<HH", int(inverse), int(zero)) + np.clip(np.rint(wide), -128, 127).astype(np.int8).tobytes()
    return bytes(out)


def encode(kind, value):
    """Bytes and scale of a tensor."""
    x = np.asarray(value, np.float32).reshape(-1)
    if kind == "F32":
        return x.tobytes(), 1.0
    if kind == "BF16":
        return to_bf16(x).tobytes(), 1.0
    if kind == "I8":
        return i8_encode(x), 1.0
    largest, scale = float(np.abs(x).max()), 1.0
    if largest > SFP_MAX:
        scale = float(np.float32(largest / SFP_MAX))
        x = np.clip(x * np.float32(1.0 / scale), -SFP_MAX, SFP_MAX).astype(np.float32)
    return (sfp_encode(x).tobytes() if kind == "SFP" else nuq_encode(x)), scale


# ------------------------------------------------------------------------------------------------ decoders


def from_bf16(h):
    return (np.asarray(h, np.uint16).astype(np.uint32) << 16).view(np.float32)


def sfp_decode(codes):
    b = np.asarray(codes, np.uint8).astype(np.uint32)
    m = b & 0x7F
    bits = np.where(m & 0x40, (0x38 + (m >> 4)) << 8 | (m << 4) & 0xF0, (0x34 + (m >> 3)) << 8 | (m << 5) & 0xE0)
    return from_bf16(np.where(m == 0, 0, bits | (b & 0x80) << 8).astype(np.uint16))


def decode(kind, data, n, scale):
    raw = np.frombuffer(data, np.uint8)
    if kind == TYPES["F32"]:
        x = np.frombuffer(data, "<f4")
    elif kind == TYPES["BF16"]:
        x = from_bf16(np.frombuffer(data, "<u2"))
    elif kind == TYPES["SFP"]:
        x = sfp_decode(raw)
    elif kind == TYPES["NUQ"]:
        parts = []
        for g in range((n + 255) // 256):
            here = min(256, n - 256 * g)
            group = raw[144 * g:144 * g + 16 + (here + 1) // 2]
            index = np.stack([group[16:] & 15, group[16:] >> 4], 1).reshape(-1)[:here]
            parts.append(sfp_decode(group[:16])[index])
        x = np.concatenate(parts)
    else:
        parts = []
        for g in range((n + 127) // 128):
            inverse, zero = from_bf16(np.frombuffer(data[132 * g:132 * g + 4], "<u2"))
            q = raw[132 * g + 4:132 * g + 132].view(np.int8).astype(np.float64)
            parts.append((inverse.astype(np.float64) * q - np.float64(zero) * np.float64(inverse)).astype(np.float32))
        x = np.concatenate(parts)
    assert len(x) == n, (len(x), n)
    return x * np.float32(scale)


# ------------------------------------------------------------------------------------------------ container


def pad(data, to):
    return data + bytes(-len(data) % to)


def write_store(path, blobs, version, end=True):
    """blobs: name -> bytes, in order. end: V1 files are padded to 64 KiB, older ones are not."""
    n = len(blobs)
    at = 256 if version == 2 else -(-(16 + 32 * n) // ALIGN) * ALIGN
    keys, ranges, body = b"", b"", b""
    for name, data in blobs.items():
        assert 1 <= len(name) <= 16
        keys += name.encode().ljust(16, b"\0")
        ranges += struct.pack("<QQ", at + len(body), len(data))
        body += pad(data, ALIGN)
    if version == 1:
        size = at + len(body)
        size = -(-size // END) * END if end else size
        out = pad(struct.pack("<IIQ", 0x0A534253, n, size) + keys + ranges, ALIGN) + body
        out += bytes(size - len(out))
    else:
        size = 256 + len(body) + -(-(16 + 32 * n) // ALIGN) * ALIGN
        size = -(-size // END) * END
        out = pad(struct.pack("<IIQ", 0x0A534253, 0, END), ALIGN) + body
        tail = keys + ranges + struct.pack("<IIQ", 0x0A534253, n, size)
        out += bytes(size - len(out) - len(tail)) + tail
    with open(path, "wb") as f:
        f.write(out)


def read_store(path):
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack_from("<I", data, 4)[0]
    at = 16
    if n == 0:
        n = struct.unpack_from("<I", data, len(data) - 12)[0]
        at = len(data) - 16 - 32 * n
    blobs = {}
    for i in range(n):
        offset, size = struct.unpack_from("<QQ", data, at + 16 * n + 16 * i)
        blobs[data[at + 16 * i:at + 16 * i + 16].rstrip(b"\0").decode()] = data[offset:offset + size]
    return blobs


# ------------------------------------------------------------------------------------------------ fields


def words(*values):
    out = []
    for v in values:
        if isinstance(v, str):
            raw = pad(v.encode(), 4)
            out += [len(raw) // 4] + list(struct.unpack("<%dI" % (len(raw) // 4), raw))
        elif isinstance(v, float):
            out += struct.unpack("<I", struct.pack("<f", v))
        elif isinstance(v, list):
            out += v
        else:
            out.append(int(v) & 0xFFFFFFFF)
    return out


def record(*values):
    inner = words(*values)
    return [len(inner)] + inner


def vector(items):
    return [len(items)] + [w for i in items for w in (i if isinstance(i, list) else [i])]


def config_words(spec, weight):
    c = spec["config"]
    generation = mv.generation_of(c)
    layers, top = c["num_hidden_layers"], c["max_position_embeddings"]
    layer = record(c["hidden_size"], 0, c["intermediate_size"], c["num_attention_heads"], c["num_key_value_heads"],
                   c["head_dim"], 0, False, False, generation == 3, generation > 1, 0, 0, 0, generation == 3)
    kinds = c.get("layer_types", ["full_attention"] * layers)
    vit_layer = record(12, 0, 20, 2, 2, 6, 0, True, False, False, 0, 1, 0, 0, False)
    vit = record(12, 4, 8, 14, 28, vector([vit_layer]), 1) if spec.get("vision") else record(0, 0, 0, 14, 224, [0], 1)
    return record(generation, spec["display"], spec["model"], spec["wrapping"], TYPES[weight], layers, c["hidden_size"],
                  c["vocab_size"], top, 0, float(c.get("attn_logit_softcapping") or 0),
                  float(c.get("final_logit_softcapping") or 0), False, False, spec.get("query_scale", 0),
                  vector([layer] * layers),
                  vector([WINDOW if k == "sliding_attention" else top for k in kinds]), 1, vit, 1, 1,
                  spec.get("eos2", 107 if generation < 3 else 106), vector([]))


def tensors_of(spec, hf):
    """name -> (type, matrix) in gemma.cpp's names and forms."""
    c, form, kind = spec["config"], spec["form"], spec["type"]
    heads, kv, dim = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
    value = {k: v.to(torch.float32).numpy() for k, v in hf.items()}
    generation = mv.generation_of(c)
    out = {"c_embedding": (spec.get("embedding", "BF16"), value["model.embed_tokens.weight"]),
           "c_final_norm": (spec.get("norm", "BF16"), value["model.norm.weight"])}
    for i in range(c["num_hidden_layers"]):
        at = "model.layers.%d." % i
        get = lambda name: value[at + name + ".weight"] * np.float32(spec.get("loud_by", {}).get(name, 1))  # noqa: E731
        norms = {"pre_att_ns": "input_layernorm"}
        if generation == 1:
            norms["pre_ff_ns"] = "post_attention_layernorm"
        else:
            norms.update(post_att_ns="post_attention_layernorm", pre_ff_ns="pre_feedforward_layernorm",
                         post_ff_ns="post_feedforward_layernorm")
        if generation == 3:
            norms.update(key_norm="self_attn.k_norm", query_norm="self_attn.q_norm")
        for name, source in norms.items():
            out["%s_%d" % (name, i)] = (spec.get("norm", "BF16"), get(source))
        q, o = get("self_attn.q_proj"), get("self_attn.o_proj")
        k, v = (get("self_attn.%s_proj" % x).reshape(kv, 1, dim, -1) for x in "kv")
        both = np.concatenate([k, v], 1).reshape(2 * kv * dim, -1)
        gate, up = get("mlp.gate_proj"), get("mlp.up_proj")
        add = lambda name, m: out.__setitem__("%s_%d" % (name, i), (kind, m))  # noqa: E731
        if "each" in form:  # as many KV heads as heads: q, K and V of each head side by side, no qkv2_w
            each = [m.reshape(heads, 1, dim, -1) for m in (q, k, v)]
            add("qkv1_w", np.concatenate(each, 1).reshape(3 * heads * dim, -1))
        elif "qkv" in form:
            add("qkv_ein", np.concatenate([q, both]))
        else:
            add("qkv1_w", q)
            add("qkv2_w", both)
        if "att" in form:
            add("att_ein", o.reshape(-1, heads, dim).transpose(1, 0, 2).reshape(-1, dim))
        else:
            add("att_w", o)
        if "gating" in form:
            add("gating_ein", np.concatenate([gate, up]))
        else:
            add("gating1_w", gate)
            add("gating2_w", up)
        add("linear_w", get("mlp.down_proj"))
    if spec.get("vision"):
        out["img_emb_kernel"] = ("BF16", np.ones((12, 6), np.float32))
    return out


def write_sbs(path, spec, hf, tokenizer):
    blobs, entries, kinds = {}, [], set()
    for name, (kind, m) in tensors_of(spec, hf).items():
        m = m.reshape(-1, m.shape[-1])
        blobs[name], scale = encode(kind, m)
        unit = max(1, BITS[kind] // 8)
        entries += record(name, TYPES[kind], unit, len(blobs[name]) // unit, m.shape[0], m.shape[1], scale, m.shape[1])
        kinds.add(kind)
    config = config_words(spec, min(kinds, key=lambda k: (BITS[k], k != spec["type"])))
    blobs["config"] = struct.pack("<%dI" % len(config), *config)
    if spec["version"] == 2:
        blobs["tokenizer"] = tokenizer if spec.get("tokenizer") else b"unavailable"
    blobs["toc"] = struct.pack("<%dI" % len(entries), *entries)
    write_store(path, blobs, spec["version"], spec.get("end", True))


def read_toc(data):
    """name -> (type, rows, cols, scale)"""
    w, at, out = np.frombuffer(data, "<u4"), 0, {}
    while at < len(w):
        n, k = int(w[at]), int(w[at + 1])
        name = w[at + 2:at + 2 + k].tobytes().rstrip(b"\0").decode()
        kind, _, _, rows, cols, scale, stride = w[at + 2 + k:at + 9 + k]
        assert stride == cols
        out[name] = (int(kind), int(rows), int(cols), float(np.uint32(scale).view(np.float32)))
        at += 1 + n
    return out


def model_from_sbs(path, spec):
    """The reference model with the values that the file holds."""
    blobs = read_store(path)
    toc = read_toc(blobs["toc"])
    value = {}
    for name, (kind, rows, cols, scale) in toc.items():
        value[name] = decode(kind, blobs[name], rows * cols, scale).reshape(rows, cols)
    c = spec["config"]
    heads, kv, dim, hidden = (c[k] for k in ("num_attention_heads", "num_key_value_heads", "head_dim", "hidden_size"))
    state = {"model.embed_tokens.weight": value["c_embedding"], "model.norm.weight": value["c_final_norm"][0]}
    generation = mv.generation_of(c)
    for i in range(c["num_hidden_layers"]):
        at = "model.layers.%d." % i
        get = lambda name: value.get("%s_%d" % (name, i))  # noqa: E731
        put = lambda name, m: state.__setitem__(at + name + ".weight", m)  # noqa: E731
        fused, rows = get("qkv_ein"), get("qkv1_w")
        if fused is None and get("qkv2_w") is None:
            pick = lambda j: np.concatenate([rows[(3 * h + j) * dim:(3 * h + j + 1) * dim] for h in range(heads)])  # noqa: E731
            rest = [rows[(3 * h + j) * dim:(3 * h + j + 1) * dim] for h in range(heads) for j in (1, 2)]
            fused = np.concatenate([pick(0)] + rest)
        q, both = (fused[:heads * dim], fused[heads * dim:]) if fused is not None else (get("qkv1_w"), get("qkv2_w"))
        put("self_attn.q_proj", q)
        put("self_attn.k_proj", np.concatenate([both[2 * j * dim:(2 * j + 1) * dim] for j in range(kv)]))
        put("self_attn.v_proj", np.concatenate([both[(2 * j + 1) * dim:(2 * j + 2) * dim] for j in range(kv)]))
        o = get("att_w")
        if o is None:
            o = np.concatenate([get("att_ein")[h * hidden:(h + 1) * hidden] for h in range(heads)], 1)
        put("self_attn.o_proj", o)
        gating, ff = get("gating_ein"), c["intermediate_size"]
        put("mlp.gate_proj", get("gating1_w") if gating is None else gating[:ff])
        put("mlp.up_proj", get("gating2_w") if gating is None else gating[ff:])
        put("mlp.down_proj", get("linear_w"))
        put("input_layernorm", get("pre_att_ns")[0])
        if generation == 1:
            put("post_attention_layernorm", get("pre_ff_ns")[0])
        else:
            put("post_attention_layernorm", get("post_att_ns")[0])
            put("pre_feedforward_layernorm", get("pre_ff_ns")[0])
            put("post_feedforward_layernorm", get("post_ff_ns")[0])
        if generation == 3:
            put("self_attn.q_norm", get("query_norm")[0])
            put("self_attn.k_norm", get("key_norm")[0])
    config = {k: v for k, v in c.items() if k not in ("torch_dtype", "dtype")}
    cls = getattr(transformers, c["architectures"][0])
    config = cls.config_class.from_dict(config)
    config._attn_implementation = "eager"
    model = cls(config).eval().float()
    state = {k: torch.from_numpy(np.array(v, np.float32)) for k, v in state.items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and missing == ["lm_head.weight"], (missing, unexpected)
    model.tie_weights()
    return model


# ------------------------------------------------------------------------------------------------ fixtures

EVERY = mv.EVERY


def gemma1(**more):
    return dict(EVERY, architectures=["GemmaForCausalLM"], model_type="gemma", hidden_act="gelu", rope_theta=10000.0,
                torch_dtype="float32", **more)


def gemma2(letters, **more):
    return dict(EVERY, architectures=["Gemma2ForCausalLM"], model_type="gemma2", hidden_activation="gelu_pytorch_tanh",
                attn_logit_softcapping=50.0, final_logit_softcapping=30.0, query_pre_attn_scalar=more["head_dim"],
                rope_theta=10000.0, sliding_window=WINDOW, layer_types=mv.kinds(letters), torch_dtype="float32", **more)


def gemma3(letters, factor=None, **more):
    scaling = {"rope_type": "linear", "factor": factor} if factor else {"rope_type": "default"}
    return dict(EVERY, architectures=["Gemma3ForCausalLM"], model_type="gemma3_text",
                hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=more["head_dim"], sliding_window=WINDOW,
                layer_types=mv.kinds(letters), tie_word_embeddings=True, dtype="float32",
                rope_parameters={"full_attention": dict(scaling, rope_theta=1000000.0),
                                 "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}, **more)


IT, PT, VLM = 0, 1, 2
ALL = ("qkv", "att", "gating")
FIXTURES = {
    # The same weights are written as a folder: sqrt(16) is the same in every type.
    "g2-f32": dict(type="F32", version=2, form=(), norm="F32", embedding="F32", model=7, wrapping=IT, display="Gemma2 tiny",
                   loud=10.0, config=gemma2("LG", **mv.sizes(16, 24, 2, 4, 2, 10, 131))),
    # The first kind of file: no tokenizer inside, nothing behind the last blob.
    "g2-bf16": dict(type="BF16", version=1, end=False, form=ALL, model=7, wrapping=IT, display="Gemma2 tiny", loud=10.0,
                    query_scale=1, config=dict(gemma2("LG", **mv.sizes(24, 40, 2, 4, 2, 10, 600)),
                                               query_pre_attn_scalar=24 // 4)),
    # Self-contained; gate and up are so large that the file scales them.
    "g3-sfp": dict(type="SFP", version=2, form=ALL, tokenizer=True, model=18, wrapping=IT, display="Gemma3 tiny",
                   embedding="SFP", loud_by={"mlp.gate_proj": 2.6}, config=gemma3("LLG", **mv.sizes(24, 40, 3, 6, 3, 12, 600))),
    # Rows of 36 are never whole groups of 256. A vision tower is there; linear RoPE as in 4B.
    "g3-nuq": dict(type="NUQ", version=2, form=ALL, model=14, wrapping=VLM, vision=True, display="Gemma3 tiny VLM",
                   config=gemma3("LLG", factor=8.0, **mv.sizes(36, 56, 3, 6, 3, 12, 131))),
    # linear_w and the heads of att_ein are whole groups of 128, the rows of the others are not.
    "g3-i8": dict(type="I8", version=2, form=ALL, model=15, wrapping=VLM, display="Gemma3 tiny",
                  config=gemma3("LG", **mv.sizes(20, 128, 2, 2, 1, 128, 131))),
    # Norms without a second one behind, one KV head, every matrix scaled.
    "g1-sfp": dict(type="SFP", version=1, form=("gating",), model=0, wrapping=PT, display="Gemma tiny",
                   loud_by={"self_attn.o_proj": 1.6, "mlp.down_proj": 1.6, "self_attn.v_proj": 2.5},
                   config=gemma1(**mv.sizes(44, 70, 2, 3, 1, 18, 131))),
    # As many KV heads as heads, as Gemma 1 7B has; its heads are wider than the model, too.
    "g1-each": dict(type="BF16", version=1, form=("each", "att"), model=1, wrapping=IT, display="Gemma 7B tiny",
                    config=gemma1(**mv.sizes(36, 64, 2, 4, 4, 12, 131))),
}


def write_expectation(out, name, path, spec):
    c = spec["config"]
    model = model_from_sbs(path, spec)
    scale = mv.set_embedding_scale(model, c["hidden_size"], "BF16")
    folder = os.path.join(out, "expect", name)
    os.makedirs(folder)
    vocab = c["vocab_size"]
    ids = [2] + mv.seeded("prompt", name).integers(3, vocab, 2 * WINDOW + 2).tolist()
    value = mv.logits(model, ids)
    np.save(os.path.join(folder, "p11.npy"), value)
    g = mv.greedy(model, name, WINDOW + 3, vocab)
    info = dict(source=os.path.relpath(path, out), prompts=["p11"], greedy=["greedy1"], embed_scale=scale, text_vocab=vocab,
                reference="transformers %s, eager attention, float32" % transformers.__version__)
    p11 = dict(ids=ids, n=len(ids), positions="all", vocab=vocab, text_vocab=vocab,
               max_abs_logit=float(np.abs(value).max()), description="%d ids" % len(ids))
    for file, content in (("p11", p11), ("greedy1", g), ("info", info)):
        with open(os.path.join(folder, file + ".json"), "w") as f:
            json.dump(content, f)
            f.write("\n")
    print("%-12s %7d bytes, largest logit %5.1f, margin %.3f" % (name, os.path.getsize(path), g["max_abs_logit"],
                                                                g["min_margin"]), flush=True)


def check_codecs():
    codes = np.array([c for c in range(256) if c != 0x80], np.uint8)
    assert (sfp_encode(sfp_decode(codes)) == codes).all()
    assert sfp_decode([0x7F])[0] == SFP_MAX and sfp_decode([1])[0] == 1.25 * 2 ** -23
    x = mv.seeded("codec").standard_normal(1000).astype(np.float32) / 4
    for kind, limit in (("F32", 0), ("BF16", 0.01), ("SFP", 0.04), ("NUQ", 0.3), ("I8", 0.01)):
        data, scale = encode(kind, x)
        error = np.abs(decode(TYPES[kind], data, 1000, scale) - x).max()
        assert error <= limit, (kind, error)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "test", "data", "sbs")
    check_codecs()
    shutil.rmtree(out, ignore_errors=True)
    with open(os.path.join(here, "..", "test", "data", "text", "tokenizer.model"), "rb") as f:
        tokenizer = f.read()
    for name, spec in FIXTURES.items():
        folder = os.path.join(out, "v1" if name == "g2-bf16" else "")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name + ".sbs")
        hf = mv.weights("sbs-" + name, dict(spec, stored="F32"))
        write_sbs(path, spec, hf, tokenizer)
        write_expectation(out, name, path, spec)
        if name == "g2-f32":
            mv.write_folder(os.path.join(out, "hf"), spec, hf)
    with open(os.path.join(out, "v1", "tokenizer.spm"), "wb") as f:
        f.write(tokenizer)


if __name__ == "__main__":
    main()
