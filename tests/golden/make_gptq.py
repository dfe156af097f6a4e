#!/usr/bin/env python3
"""Makes the GPTQ checkpoints of tests/golden/gptq from tests/golden/tiny/llama, and the float32 logits of their dequantized twins.

Run by hand when a case is added (needs numpy and safetensors); the results are committed. Weights are rounded to the nearest, as the
error feedback of GPTQ does not matter to who reads them; how they lie in the file is what AutoGPTQ and GPTQModel write:
  qweight i32 [in * bits / 32, out], qzeros i32 [groups, out * bits / 32], scales f16 [groups, out], g_idx i32 [in]
The twin's logits come from the forward pass below, which first has to give the logits that Transformers gave for tiny/llama.
"""

import json
import pathlib

import numpy as np
from safetensors.numpy import load_file, save_file

HERE = pathlib.Path(__file__).parent
BASE = HERE / "tiny" / "llama"
CASES = {  # bits, group size (-1: one), desc_act, sym, checkpoint_format, what is added to the zero points of the format
    "v1_sym4": (4, 32, False, True, "gptq", 0),
    "v1_asym4": (4, 32, False, False, "gptq", 0),
    "v2_asym4_order": (4, 32, True, False, "gptq_v2", 0),
    "v1_sym4_order": (4, 32, True, True, "gptq", 0),
    "v2_sym8": (8, 32, False, True, "gptq_v2", 0),
    "v1_asym8_order": (8, 32, True, False, "gptq", 0),
    "v1_sym4_whole": (4, -1, False, True, "gptq", 0),
    "v1_sym4_zeros_of_v2": (4, 32, False, True, "gptq", 1),  # files that say gptq and hold 8
    "v1_asym4_orders": (4, 32, True, False, "gptq", 0),
}
ORDERS_APART = {"v1_asym4_orders"}  # an order for each matrix, also of those that have the same inputs


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def forward(weights, config, tokens):
    """Llama in float64: logits [T, V]."""
    w = {name: tensor.astype(np.float64) for name, tensor in weights.items()}
    heads, kv_heads, dim = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    n = len(tokens)

    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + config["rms_norm_eps"]) * w[name + ".weight"]

    angles = np.outer(np.arange(n), config["rope_parameters"]["rope_theta"] ** (-np.arange(0, dim, 2) / dim))
    cos, sin = (np.concatenate([f(angles)] * 2, -1)[:, None] for f in (np.cos, np.sin))

    def rotate(x):
        return x * cos + np.concatenate([-x[..., dim // 2:], x[..., :dim // 2]], -1) * sin

    x = w["model.embed_tokens.weight"][tokens]
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        h = norm(x, at + "input_layernorm")
        q, k, v = (h @ w[f"{at}self_attn.{p}_proj.weight"].T for p in "qkv")
        q, k, v = rotate(q.reshape(n, heads, dim)), rotate(k.reshape(n, kv_heads, dim)), v.reshape(n, kv_heads, dim)
        k, v = (np.repeat(t, heads // kv_heads, 1) for t in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(dim) + np.triu(np.full((n, n), -np.inf), 1)
        x = x + np.einsum("hqk,khd->qhd", softmax(scores), v).reshape(n, -1) @ w[at + "self_attn.o_proj.weight"].T
        h = norm(x, at + "post_attention_layernorm")
        gate = h @ w[at + "mlp.gate_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w[at + "mlp.up_proj.weight"].T)) @ w[at + "mlp.down_proj.weight"].T
    return norm(x, "model.norm") @ w["lm_head.weight"].T


def pack(codes, bits):
    """[n * 32 / bits, m] -> i32 [n, m], the first code in the lowest bits."""
    per_word = 32 // bits
    words = codes.astype(np.uint32).reshape(-1, per_word, codes.shape[1])
    return np.bitwise_or.reduce(words << (np.arange(per_word, dtype=np.uint32) * bits)[None, :, None], 1).view(np.int32)


def quantize(weight, bits, group_size, g_idx, symmetric):
    """weight [out, in] -> codes [in, out], zero points [groups, out], scales f16 [groups, out], and what they mean [out, in]."""
    out, inputs = weight.shape
    groups = inputs // group_size
    top = 2**bits - 1
    codes, zeros = np.zeros((inputs, out), np.int64), np.zeros((groups, out), np.int64)
    scales = np.zeros((groups, out), np.float16)
    for g in range(groups):
        part = weight[:, g_idx == g]
        low, high = np.minimum(part.min(1), 0), np.maximum(part.max(1), 0)
        if symmetric:
            high = np.maximum(-low, high)
            low = -high
        scales[g] = ((high - low) / top).astype(np.float16)
        scale = scales[g].astype(np.float32)
        zeros[g] = 2**(bits - 1) if symmetric else np.clip(np.round(-low / scale), 1, top)  # v1 cannot say 0
        codes[g_idx == g] = np.clip(np.round(part / scale[:, None]) + zeros[g][:, None], 0, top).T
    means = (codes - zeros[g_idx]).astype(np.float32) * scales[g_idx].astype(np.float32)
    return codes, zeros, scales, means.T


def make(name, weights, config, tokens):
    bits, group_size, ordered, symmetric, checkpoint_format, beside = CASES[name]
    random = np.random.default_rng(sum(map(ord, name)))
    tensors, twin, orders = {}, {}, {}
    for key, weight in weights.items():
        if not key.endswith("_proj.weight"):
            tensors[key] = twin[key] = weight
            continue
        stem = key.removesuffix(".weight")
        inputs = weight.shape[1]
        size = inputs if group_size == -1 else group_size
        # The order follows from the inputs, so it is one for all matrices that have the same.
        source = stem.replace("q_proj", "*").replace("k_proj", "*").replace("v_proj", "*").replace("gate_proj", "+").replace("up_proj", "+")
        if name in ORDERS_APART:
            source = stem
        if source not in orders:
            order = random.permutation(inputs) if ordered else np.arange(inputs)
            orders[source] = np.argsort(order) // size
        g_idx = orders[source]
        codes, zeros, scales, twin[key] = quantize(weight, bits, size, g_idx, symmetric)
        stored = zeros - (1 if checkpoint_format == "gptq" else 0) + beside
        tensors |= {stem + ".qweight": pack(codes, bits), stem + ".qzeros": pack(stored.T, bits).T.copy(),
                    stem + ".scales": scales, stem + ".g_idx": g_idx.astype(np.int32)}
    folder = HERE / "gptq" / name
    folder.mkdir(parents=True, exist_ok=True)
    quantization = dict(bits=bits, group_size=group_size, desc_act=ordered, sym=symmetric, quant_method="gptq",
                        checkpoint_format=checkpoint_format, lm_head=False, damp_percent=0.01, true_sequential=True)
    (folder / "config.json").write_text(json.dumps(config | dict(quantization_config=quantization), indent=2) + "\n")
    save_file({key: np.ascontiguousarray(t) for key, t in tensors.items()}, folder / "model.safetensors", metadata={"format": "pt"})
    logits = forward(twin, config, tokens)
    save_file({"logits": logits.astype(np.float32)}, folder / "expected.safetensors")
    (folder / "expected.json").write_text(json.dumps({"tokens": tokens}) + "\n")
    print(name, "moved by", float(np.abs(logits - forward(weights, config, tokens)).max()))


def widened(weights, config):
    """The hidden size is one group; of two, an order says something."""
    random = np.random.default_rng(3)
    hidden, ffn = 64, 96
    shapes = {"q_proj": (64, hidden), "k_proj": (32, hidden), "v_proj": (32, hidden), "o_proj": (hidden, 64),
              "gate_proj": (ffn, hidden), "up_proj": (ffn, hidden), "down_proj": (hidden, ffn)}
    wide = {}
    for key, weight in weights.items():
        shape = next((s for part, s in shapes.items() if part in key), (hidden,) if weight.ndim == 1 else (weight.shape[0], hidden))
        values = 1 + 0.2 * random.standard_normal(shape) if len(shape) == 1 else 1.5 * random.standard_normal(shape) / shape[-1]**0.5
        wide[key] = values.astype(np.float32)
    return wide, config | dict(hidden_size=hidden, intermediate_size=ffn, num_hidden_layers=2)


def main():
    weights, config = load_file(BASE / "model.safetensors"), json.loads((BASE / "config.json").read_text())
    tokens = json.loads((BASE / "expected.json").read_text())["tokens"]
    expected = load_file(BASE / "expected.safetensors")["logits"]
    assert np.abs(forward(weights, config, tokens) - expected).max() < 1e-4, "the forward pass is not Llama's"
    weights, config = widened(weights, config)
    for name in CASES:
        make(name, weights, config, tokens)


if __name__ == "__main__":
    main()
