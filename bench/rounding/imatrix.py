"""An importance matrix of the twin, in llama.cpp's GGUF form: a plain forward pass over text that no comparison uses."""
import json
import subprocess

import gguf
import numpy as np

from ggml_rounding import ROOT

TEXTS = ("docs/guide/start.md", "docs/guide/models.md", "docs/guide/chat.md", "docs/guide/tune.md", "docs/guide/structured.md")
TOKENS, WINDOW = 4096, 256


def calibration_tokens(model):
    text = "\n".join((ROOT / name).read_text() for name in TEXTS)
    command = [ROOT / "build/release/bin/millrace", "tokenize", model, "--json"]
    tokens = json.loads(subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout)["ids"]
    return [tokens[at : at + WINDOW] for at in range(0, min(TOKENS, len(tokens)) - WINDOW + 1, WINDOW)]


def rms_norm(x, weights, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weights


def rotate(x, base):
    """[T, heads, D] with rotary pairs side by side, as GGUF files of llama have them."""
    pairs = x.shape[-1] // 2
    angles = np.arange(len(x))[:, None] * base ** (-np.arange(pairs) / pairs)
    turned = np.ascontiguousarray(x, np.float32).reshape(*x.shape[:-1], pairs, 2).view(np.complex64)[..., 0] * np.exp(1j * angles)[:, None].astype(np.complex64)
    return np.stack([turned.real, turned.imag], -1).reshape(x.shape).astype(np.float32)


class Llama:
    def __init__(self, tensors, path):
        field = lambda key: gguf.GGUFReader(path).fields[f"llama.{key}"].contents()
        self.tensors, self.layers = tensors, int(field("block_count"))
        self.heads, self.kv_heads = int(field("attention.head_count")), int(field("attention.head_count_kv"))
        self.eps, self.base = float(field("attention.layer_norm_rms_epsilon")), float(field("rope.freq_base"))
        self.squares, self.counts = {}, {}

    def product(self, x, name):
        self.squares[name] = self.squares.get(name, 0.0) + (x.astype(np.float64) ** 2).sum(0)
        self.counts[name] = self.counts.get(name, 0) + len(x)
        return x @ self.tensors[name].T

    def attention(self, x, at):
        heads = {"attn_q": self.heads, "attn_k": self.kv_heads, "attn_v": self.kv_heads}
        q, k, v = (self.product(x, at(name)).reshape(len(x), n, -1) for name, n in heads.items())
        q, k = rotate(q, self.base), rotate(k, self.base)
        k, v = (np.repeat(one, self.heads // self.kv_heads, axis=1) for one in (k, v))
        scores = np.einsum("thd,shd->hts", q, k) * np.float32(q.shape[-1] ** -0.5)
        scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return self.product(np.einsum("hts,shd->thd", weights, v).reshape(len(x), -1), at("attn_output"))

    def run(self, tokens):
        x = self.tensors["token_embd.weight"][tokens]
        for layer in range(self.layers):
            at = lambda name: f"blk.{layer}.{name}.weight"
            x = x + self.attention(rms_norm(x, self.tensors[at("attn_norm")], self.eps), at)
            h = rms_norm(x, self.tensors[at("ffn_norm")], self.eps)
            gate, up = self.product(h, at("ffn_gate")), self.product(h, at("ffn_up"))
            x = x + self.product(gate / (1 + np.exp(-gate)) * up, at("ffn_down"))
        return x


def write_imatrix(tensors, model, path):
    llama = Llama(tensors, model)
    for window in calibration_tokens(model):
        llama.run(window)
    writer = gguf.GGUFWriter(path, "")
    writer.add_type("imatrix")
    writer.add_array("imatrix.datasets", list(TEXTS))
    writer.add_uint32("imatrix.chunk_count", TOKENS // WINDOW)
    writer.add_uint32("imatrix.chunk_size", WINDOW)
    for name, squares in sorted(llama.squares.items()):
        writer.add_tensor(f"{name}.in_sum2", squares.astype(np.float32)[None])
        writer.add_tensor(f"{name}.counts", np.array([[llama.counts[name]]], np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_imatrix(path):
    """The mean square of each column's input, by tensor."""
    values = {tensor.name: tensor.data for tensor in gguf.GGUFReader(path).tensors}
    return {name.removesuffix(".in_sum2"): (sums / values[name.replace(".in_sum2", ".counts")])[0] for name, sums in values.items() if name.endswith(".in_sum2")}
