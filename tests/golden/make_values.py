#!/usr/bin/env python3
"""Makes tiny random Llama checkpoints whose values have another size than their keys, in tests/golden/tiny, and their logits.

Transformers has no such Llama, and config.json no field for one, so there is only a GGUF, and the logits are computed here, in float64. That
this forward pass is Llama's is checked first against what Transformers computed for the checkpoint `llama` (make_tiny.py).

Run by hand (needs numpy, gguf, safetensors); the results are committed. Each folder holds model.gguf, expected.json {"tokens": [...]} and
expected.safetensors with "logits" [T, V].
"""

import json
import pathlib

import gguf
import numpy as np
from safetensors.numpy import load_file, save_file

OUT = pathlib.Path(__file__).parent / "tiny"
TOKENS, VOCABULARY, EPS, THETA = 48, 64, 1e-6, 10000.0
# Layers, query heads, key/value heads, sizes of a key and of a value: values smaller and larger than keys, with their padding, and as
# large models have them.
VARIANTS = {"llama_k20_v12": (2, 4, 2, 20, 12), "llama_k16_v24": (2, 4, 2, 16, 24), "llama_k192_v128": (1, 2, 1, 192, 128)}
HIDDEN, FFN = 32, 64


def norm(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * weight


def rotate(x):
    """Of x [heads, T, Dk] with dimensions in halves."""
    half = x.shape[-1] // 2
    angles = np.arange(x.shape[1])[:, None] * THETA ** (-np.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], -1)


def attention(x, weights, prefix, heads, kv_heads):
    project = lambda name, n: (x @ weights[prefix + f"self_attn.{name}_proj.weight"].T).reshape(len(x), n, -1).swapaxes(0, 1)
    q, k, v = rotate(project("q", heads)), rotate(project("k", kv_heads)), project("v", kv_heads)
    k, v = (part.repeat(heads // kv_heads, axis=0) for part in (k, v))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
    scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    out = (p / p.sum(-1, keepdims=True)) @ v  # [heads, T, Dv]
    return out.swapaxes(0, 1).reshape(len(x), -1) @ weights[prefix + "self_attn.o_proj.weight"].T


def mlp(x, weights, prefix):
    gate, up = (x @ weights[prefix + f"mlp.{name}_proj.weight"].T for name in ("gate", "up"))
    return (gate / (1 + np.exp(-gate)) * up) @ weights[prefix + "mlp.down_proj.weight"].T


def forward(weights, tokens, layers, heads, kv_heads):
    weights = {name: tensor.astype(np.float64) for name, tensor in weights.items()}
    x = weights["model.embed_tokens.weight"][tokens]
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        x = x + attention(norm(x, weights[prefix + "input_layernorm.weight"]), weights, prefix, heads, kv_heads)
        x = x + mlp(norm(x, weights[prefix + "post_attention_layernorm.weight"]), weights, prefix)
    return norm(x, weights["model.norm.weight"]) @ weights["lm_head.weight"].T


def check_against_transformers():
    config = json.loads((OUT / "llama/config.json").read_text())
    assert config["rms_norm_eps"] == EPS and config["rope_parameters"]["rope_theta"] == THETA
    tokens = json.loads((OUT / "llama/expected.json").read_text())["tokens"]
    logits = forward(load_file(OUT / "llama/model.safetensors"), tokens, config["num_hidden_layers"], config["num_attention_heads"],
                     config["num_key_value_heads"])
    error = np.abs(logits - load_file(OUT / "llama/expected.safetensors")["logits"]).max()
    print(f"llama, against Transformers in float32: max error {error:.1e}")
    assert error < 2e-5


def random_weights(random, layers, heads, kv_heads, key_dim, value_dim):
    shapes = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN), "model.norm.weight": (HIDDEN,), "lm_head.weight": (VOCABULARY, HIDDEN)}
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        shapes |= {prefix + "input_layernorm.weight": (HIDDEN,), prefix + "post_attention_layernorm.weight": (HIDDEN,),
                   prefix + "self_attn.q_proj.weight": (heads * key_dim, HIDDEN),
                   prefix + "self_attn.k_proj.weight": (kv_heads * key_dim, HIDDEN),
                   prefix + "self_attn.v_proj.weight": (kv_heads * value_dim, HIDDEN),
                   prefix + "self_attn.o_proj.weight": (HIDDEN, heads * value_dim),
                   prefix + "mlp.gate_proj.weight": (FFN, HIDDEN), prefix + "mlp.up_proj.weight": (FFN, HIDDEN),
                   prefix + "mlp.down_proj.weight": (HIDDEN, FFN)}
    normal = lambda shape: 1 + 0.2 * random.normal(size=shape) if len(shape) == 1 else random.normal(size=shape) * 1.5 / shape[-1] ** 0.5
    return {name: normal(shape).astype(np.float32) for name, shape in shapes.items()}


def in_pairs(weight, heads):
    """GGUF keeps Q and K of llama in rotary pairs."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_gguf(path, weights, layers, heads, kv_heads, key_dim, value_dim):
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name(path.parent.name)
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(key_dim)
    writer.add_value_length(value_dim)
    writer.add_rope_dimension_count(key_dim)
    writer.add_layer_norm_rms_eps(EPS)
    writer.add_rope_freq_base(THETA)
    writer.add_vocab_size(VOCABULARY)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, layers)
    for name, tensor in weights.items():
        if ".q_proj." in name or ".k_proj." in name:
            tensor = in_pairs(tensor, heads if ".q_proj." in name else kv_heads)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    check_against_transformers()
    for seed, (name, (layers, heads, kv_heads, key_dim, value_dim)) in enumerate(VARIANTS.items()):
        random = np.random.default_rng(seed)
        weights = random_weights(random, layers, heads, kv_heads, key_dim, value_dim)
        tokens = random.integers(3, VOCABULARY, TOKENS)
        logits = forward(weights, tokens, layers, heads, kv_heads)
        folder = OUT / name
        folder.mkdir(exist_ok=True)
        write_gguf(folder / "model.gguf", weights, layers, heads, kv_heads, key_dim, value_dim)
        (folder / "expected.json").write_text(json.dumps({"tokens": tokens.tolist()}) + "\n")
        save_file({"logits": logits.astype(np.float32)}, folder / "expected.safetensors")
        print(name, "logits std", float(logits.std()))


if __name__ == "__main__":
    main()
