#!/usr/bin/env python3
"""How much a model loses when it is rounded while it loads, beside llama.cpp's files of the same types; --docs puts the table into docs/quality.md.

    bench/peers/setup llama.cpp && bench/rounding/compare.py --docs

The model is the default model's twin off the grid (twin.py), in bf16; the reference of every divergence is that twin, computed in f32. Files of
llama.cpp's types are written with its library, tensor by tensor, as `llama-quantize --pure` does: the embedding, which is the head too, in q8_0."""
import argparse
import json
import os
import pathlib
import subprocess

import gguf
import numpy as np

from ggml_rounding import ROOT, Ggml, find_library
from imatrix import read_imatrix, write_imatrix
from twin import make_twin, read_tensors, write_like

TYPES = ("q8_0", "q6_k", "q5_k", "q4_k", "q4_0", "q4_1")
OURS_ONLY = ("int4-g64", "nf4", "mxfp4")
TEXT = "tests/data/licenses.txt"
BEGIN = "## Rounding at load\n"
OUTER = "token_embd.weight"


def default_model():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    return str(cache / "millrace/models/SmolLM2-135M-Instruct.Q4_1.gguf")


class Comparison:
    def __init__(self, options):
        self.source, self.tokens, self.window = default_model(), options.tokens, options.window
        self.folder = ROOT / "build/rounding"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ggml = Ggml(options.ggml or find_library())
        self.twin = self.folder / "twin.gguf"
        if not self.twin.exists():
            make_twin(self.source, self.twin)
        self.tensors = read_tensors(self.twin)
        self.imatrix = self.folder / "twin.imatrix.gguf"
        if options.weighed and not self.imatrix.exists():
            write_imatrix(self.tensors, self.twin, self.imatrix)
        self.importance = read_imatrix(self.imatrix) if options.weighed else {}

    def divergence(self, model, *flags):
        command = [ROOT / "build/release/bin/millrace", "eval", model, "--reference", self.twin, "-f", ROOT / TEXT, "--json", "--weights",
                   "--limit", str(self.tokens), "--window", str(self.window), "--matmul-precision", "f32", "--kv-cache-dtype", "f32", *flags]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def write(self, name, pack):
        """A file whose matrices are what `pack(name of a tensor, values)` makes of them; vectors stay, the embedding is q8_0."""
        packed = {}
        for tensor, values in self.tensors.items():
            if values.ndim == 1:
                packed[tensor] = (values, gguf.GGMLQuantizationType.F32)
            else:
                packed[tensor] = self.ggml.pack("q8_0", values) if tensor == OUTER else pack(tensor, values)
        path = self.folder / f"{name}.gguf"
        write_like(self.source, path, packed)
        return path

    def theirs(self, kind, weighed):
        importance = self.importance if weighed else {}
        path = self.write(kind, lambda tensor, values: self.ggml.pack(kind, values, importance.get(tensor)))
        figures = self.divergence(path)
        path.unlink()
        return figures

    def ours(self, kind, weighed):
        return self.divergence(self.twin, "--quantization", kind, *(("--imatrix", self.imatrix) if weighed else ()))

    def whole_rows(self):
        """4 bits with one scale for a whole row, from its largest magnitude."""
        def pack(_, values):
            scale = np.abs(values).max(axis=1, keepdims=True) / 7
            return (np.round(values / scale) * scale).astype(np.float16), gguf.GGMLQuantizationType.F16

        path = self.write("rows", pack)
        figures = self.divergence(path)
        path.unlink()
        return figures


def error_of(figures):
    """The relative error of all matrices but the embedding, each counting by its values: what rounding did to the blocks."""
    blocks = [one for one in figures["weights"] if "blk." in one["name"]]
    return np.sqrt(sum(one["relative"] ** 2 * one["values"] for one in blocks) / sum(one["values"] for one in blocks))


def cell(figures):
    return "" if figures is None else f"{figures['kld']['mean']:.4f} ± {figures['kld']['error']:.4f} | {100 * error_of(figures):.2f} %"


def row(name, theirs, ours):
    line = f"| {name} | {cell(theirs) or ' | '} | {cell(ours) or ' | '} |"
    print(line, flush=True)
    return line


def table(comparison, options):
    lines = ["| | llama.cpp: KLD | error of weights | millrace: KLD | error of weights |", "|---|---|---|---|---|"]
    for kind in options.types:
        lines.append(row(kind, comparison.theirs(kind, False), comparison.ours(kind, False)))
    for kind in options.ours:
        lines.append(row(kind, None, comparison.ours(kind, False)))
    for kind in options.weighed:
        theirs = comparison.theirs(kind, True) if kind in TYPES else None
        lines.append(row(f"{kind}, importance matrix", theirs, comparison.ours(kind, True)))
    lines.append(row("4 bits, one scale a row, the largest magnitude", None, comparison.whole_rows()))
    return lines


def section(lines, options):
    return "\n".join([
        BEGIN, "`bench/rounding/compare.py --docs`: the default model's twin off its grid, rounded while it loads (`--quantization`) and as",
        f"llama.cpp rounds the same tensors to the same types; the mean divergence from the twin on {options.tokens} tokens of {TEXT} in windows of",
        f"{options.window}, computed in f32. K-quants are what their columns allow: of 576 columns q4_k is q5_0, q5_k q5_1, q6_k q8_0.",
        "The error of weights is relative and counts all alike; an importance matrix, made from other text, moves it to where inputs are small.",
        "The last line is what 4 bits are without groups.", "", *lines, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ggml", help="libggml-base.so of llama.cpp; by default that of bench/peers/setup llama.cpp")
    parser.add_argument("--tokens", type=int, default=1024, help="tokens of the text")
    parser.add_argument("--window", type=int, default=256, help="tokens of a window")
    names = lambda text: [name for name in text.split(",") if name]
    parser.add_argument("--types", type=names, default=list(TYPES), help="types that both have")
    parser.add_argument("--ours", type=names, default=list(OURS_ONLY), help="types of loading alone")
    parser.add_argument("--weighed", type=names, default=["q4_k", "q4_0", "int4-g64"], help="types that are rounded with an importance matrix too")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/quality.md")
    options = parser.parse_args()
    lines = table(Comparison(options), options)
    if options.docs:
        page = ROOT / "docs/quality.md"
        page.write_text(page.read_text().split(BEGIN)[0] + section(lines, options))


if __name__ == "__main__":
    main()
