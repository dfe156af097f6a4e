#!/usr/bin/env python3
"""Makes what the tests of GGUF's rarer block types compare with: tests/golden/gguf_types, blocks and what Python's package gguf unpacks of
them, and two tiny Llamas: one with a matrix of each of these types, and a mixture of experts with stacks of six of them.

Run by hand (needs numpy, safetensors and gguf 0.19 or newer); the results are committed. gguf_types holds TYPE.bin, blocks one behind the
other, and sha256.txt with a line "type digest" each: SHA-256 of the f32 values, every NaN as 0x7fc00000. The package does not unpack Q1_0 and
Q2_0; those two are computed here, from llama.cpp's definition. The logits of the models are computed in float64 from what their blocks unpack to.
"""

import hashlib
import json
import pathlib

import gguf
import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize
from safetensors.numpy import save_file

from make_values import EPS, TOKENS, attention, in_pairs, mlp, norm

ROOT = pathlib.Path(__file__).parent
HIDDEN = FFN = VOCABULARY = 256
HEADS, KV_HEADS, HEAD_DIM, EXPERTS, CHOSEN = 16, 16, 16, 3, 2
Q2_0 = 42  # not in gguf 0.19
GGML_QUANT_SIZES[Q2_0] = (64, 18)

# The offset of the f16 scale in a block; None: it is spread over four words, or there is none.
TYPES = {"IQ1_S": 0, "IQ1_M": None, "IQ2_XXS": 0, "IQ2_XS": 0, "IQ2_S": 0, "IQ3_XXS": 0, "IQ3_S": 0, "IQ4_XS": 0, "TQ1_0": 52, "TQ2_0": 64,
         "NVFP4": None, "Q1_0": 0, "Q2_0": 0}
BYTES = 16384  # of a type's blocks
PATTERNS = (0x00, 0x01, 0x55, 0x7F, 0x80, 0xAA, 0xFE, 0xFF)


def type_id(name):
    return Q2_0 if name == "Q2_0" else GGMLQuantizationType[name]


def unpack(blocks, name):
    """[..., bytes] -> [..., values] of f32."""
    with np.errstate(all="ignore"):
        if name not in ("Q1_0", "Q2_0"):
            return dequantize(blocks, type_id(name)).astype(np.float32)
        parts = blocks.reshape(*blocks.shape[:-1], -1, 18)
        d = np.ascontiguousarray(parts[..., :2]).view(np.float16).astype(np.float32)
        if name == "Q1_0":
            codes = 2 * np.unpackbits(parts[..., 2:], axis=-1, bitorder="little").astype(np.float32) - 1
        else:
            codes = (parts[..., 2:, None] >> np.array([0, 2, 4, 6], np.uint8) & 3).reshape(*parts.shape[:-1], 64).astype(np.float32) - 1
        return (d * codes).reshape(*blocks.shape[:-1], -1)


def set_scale(blocks, name, d):
    """Gives blocks [n, bytes] the scale d; it is the middle one of those of NVFP4."""
    bits = np.array(d, np.float16).view(np.uint16)
    if name == "IQ1_M":
        words = np.ascontiguousarray(blocks[:, 48:]).view(np.uint16) & 0x0FFF
        words |= np.array([(int(bits) >> 4 * i & 15) << 12 for i in range(4)], np.uint16)
        blocks[:, 48:] = words.view(np.uint8)
    elif name == "NVFP4":
        blocks[:, :4] = 0x30 + blocks[:, :4] % 16
    else:
        at = TYPES[name]
        blocks[:, at : at + 2] = np.frombuffer(bits.tobytes(), np.uint8)


def make_blocks(random):
    """Uniform bytes, so that every scale occurs, infinite and NaN ones too; patterns; and large, small and odd scales."""
    folder = ROOT / "gguf_types"
    folder.mkdir(exist_ok=True)
    lines = []
    for name in TYPES:
        size = GGML_QUANT_SIZES[type_id(name)][1]
        blocks = random.integers(0, 256, (BYTES // size, size), dtype=np.uint8)
        for i, pattern in enumerate(PATTERNS):
            blocks[i] = pattern
        for i, d in enumerate((0.0, -0.0, 65504.0, -65504.0, 6e-8, -6e-8, 6.1e-5, np.inf, -np.inf, np.nan), len(PATTERNS)):
            set_scale(blocks[i : i + 1], name, d)
        if name == "NVFP4":
            for i in range(64):  # every byte of a scale
                blocks[64 + i, :4] = range(4 * i, 4 * i + 4)
        values = unpack(blocks, name).ravel()
        bits = values.view(np.uint32).copy()
        bits[np.isnan(values)] = 0x7FC00000
        (folder / f"{name.lower()}.bin").write_bytes(blocks.tobytes())
        lines.append(f"{name.lower()} {hashlib.sha256(bits.astype('<u4').tobytes()).hexdigest()}\n")
    (folder / "sha256.txt").write_text("".join(lines))


class Matrix:
    """Random blocks of a type, [..., rows, bytes], whose values have a root mean square of 1.2 / sqrt(columns)."""

    def __init__(self, random, name, *shape):
        values, size = GGML_QUANT_SIZES[type_id(name)]
        self.name, self.factors = name, None
        blocks = random.integers(0, 256, (int(np.prod(shape)) // values, size), dtype=np.uint8)
        set_scale(blocks, name, 1.0)
        scale = 1.2 / (shape[-1] ** 0.5 * float(np.sqrt(np.mean(unpack(blocks, name) ** 2))))
        if name == "NVFP4":  # one factor for each matrix
            self.factors = (scale * random.uniform(0.7, 1.4, shape[0] if len(shape) == 3 else 1)).astype(np.float32)
        else:
            set_scale(blocks, name, scale)
        self.blocks = blocks.reshape(*shape[:-1], -1)

    def values(self):
        values = unpack(self.blocks, self.name)
        return values if self.factors is None else values * self.factors.reshape(-1, *[1] * (values.ndim - 1 if values.ndim == 3 else 1))

    def write(self, writer, name, heads=0):
        blocks = in_pairs(self.blocks, heads) if heads else self.blocks
        writer.add_tensor(name + ".weight", np.ascontiguousarray(blocks), raw_dtype=type_id(self.name))
        if self.factors is not None:
            writer.add_tensor(name + ".scale", self.factors)


def experts(x, matrices, router):
    logits = x @ router.T.astype(np.float64)
    out = np.zeros_like(x)
    for row, scores in enumerate(logits):
        chosen = np.argsort(-scores)[:CHOSEN]
        weights = np.exp(scores[chosen] - scores[chosen].max())
        for expert, weight in zip(chosen, weights / weights.sum()):
            gate, up, down = (m.values()[expert].astype(np.float64) for m in matrices)
            hidden = gate @ x[row]
            out[row] += weight * (down @ (hidden / (1 + np.exp(-hidden)) * (up @ x[row])))
    return out


def write_model(name, random, mixture):
    """Two layers of seven matrices: as many as there are types, and one more."""
    folder = ROOT / "gguf_types" / name
    folder.mkdir(exist_ok=True)
    writer = gguf.GGUFWriter(str(folder / "model.gguf"), "llama")
    writer.add_name(name)
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(2)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(EPS)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(VOCABULARY)
    if mixture:
        writer.add_expert_count(EXPERTS)
        writer.add_expert_used_count(CHOSEN)
    turn = ["NVFP4", "IQ2_XXS", "IQ3_S", "IQ1_M", "IQ4_XS", "Q1_0"] if mixture else [*TYPES, "NVFP4"]
    take = lambda *shape: Matrix(random, turn.pop(0), *shape)
    vector = lambda: (1 + 0.2 * random.normal(size=HIDDEN)).astype(np.float32)
    tokens = random.integers(3, VOCABULARY, TOKENS)
    embedding = Matrix(random, "IQ4_XS" if mixture else "NVFP4", VOCABULARY, HIDDEN)
    embedding.write(writer, "token_embd")
    x = embedding.values().astype(np.float64)[tokens]
    for layer in range(2):
        norms = [vector(), vector()]
        prefix = f"blk.{layer}."
        if mixture:
            parts = {f"self_attn.{p}_proj": Matrix(random, "TQ2_0", HIDDEN, HIDDEN) for p in "qkvo"}
            shape = (EXPERTS, FFN, HIDDEN)
        else:
            parts = {f"self_attn.{p}_proj": take(HIDDEN, HIDDEN) for p in "qkvo"}
            shape = (FFN, HIDDEN)
        wide = [take(*shape) for _ in range(3)]
        for part, matrix in parts.items():
            matrix.write(writer, prefix + {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output"}[part[10]],
                         heads=HEADS if part[10] in "qk" else 0)
        suffix = "_exps" if mixture else ""
        for part, matrix in zip(("ffn_gate", "ffn_up", "ffn_down"), wide):
            matrix.write(writer, prefix + part + suffix)
        writer.add_tensor(prefix + "attn_norm.weight", norms[0])
        writer.add_tensor(prefix + "ffn_norm.weight", norms[1])
        weights = {"." + part + ".weight": matrix.values().astype(np.float64) for part, matrix in parts.items()}
        x = x + attention(norm(x, norms[0]), weights, ".", HEADS, KV_HEADS)
        if mixture:
            router = (random.normal(size=(EXPERTS, HIDDEN)) / HIDDEN**0.5).astype(np.float32)
            writer.add_tensor(prefix + "ffn_gate_inp.weight", router)
            x = x + experts(norm(x, norms[1]), wide, router)
        else:
            for part, matrix in zip(("gate", "up", "down"), wide):
                weights[f".mlp.{part}_proj.weight"] = matrix.values().astype(np.float64)
            x = x + mlp(norm(x, norms[1]), weights, ".")
    last = vector()
    writer.add_tensor("output_norm.weight", last)
    head = Matrix(random, "NVFP4" if mixture else "IQ3_S", VOCABULARY, HIDDEN)
    head.write(writer, "output")
    logits = norm(x, last) @ head.values().astype(np.float64).T
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (folder / "expected.json").write_text(json.dumps({"tokens": tokens.tolist()}) + "\n")
    save_file({"logits": logits.astype(np.float32)}, folder / "expected.safetensors")
    print(name, "logits std", float(logits.std()), "bytes", (folder / "model.gguf").stat().st_size)


def main():
    make_blocks(np.random.default_rng(1))
    write_model("llama", np.random.default_rng(2), mixture=False)
    write_model("experts", np.random.default_rng(3), mixture=True)


if __name__ == "__main__":
    main()
