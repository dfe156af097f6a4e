#!/usr/bin/env python3
"""Makes the checkpoints of tests/golden/quantized with the Python packages of the formats: a tiny model is quantized, packed and saved as
the tool does it, and the tool's own unpacking says what its weights mean.

Run by hand when a case is added; the results are committed. Each module of quantized_maker says which packages it needs, their versions, how
the tensors lie that they write, and what a reader may trip over. All of them run on a processor, with torch 2.13.0, transformers 5.24.0,
accelerate 1.15.0, safetensors 0.8.0 and numpy 2.4.6; a second run writes the same bytes:
  python tests/golden/make_quantized.py [CASE or the beginning of names...]
A case is a folder as the tool wrote it (config.json, model.safetensors or shards), and beside that:
  expected.json         tokens; of each quantized matrix
                          weights  the SHA-256 of the values that the tool unpacks, widened to float32: little-endian [out, in], in a row,
                                   zeros as +0
                          dtype    the type in which the tool computed them, where that is not float32
                          exact    there: the SHA-256 of the same computed in float32 from the stored tensors, which the maker compares:
                                   rounded to the tool's type it is the tool's value, or its neighbour
  expected.safetensors  the logits that Transformers gives in float32 for the twin: the same model with the values of exact, else weights
The experts of a mixture have names of their own there (mlp.experts.2.up_proj.weight), also where the tool stacks them (MLX).
The case "bad" writes quantized_bad.json: recipes of spoilt checkpoints, in the language of quantized_maker/spoil.py.
"""

import importlib
import sys

PACKAGES = ["awq", "ct", "fp8", "modelopt", "quark", "bnb", "mlx", "torchao", "autoround", "bitnet", "gemma", "gptqmodel_awq", "bad"]


def main():
    wanted = sys.argv[1:] or [""]
    for package in PACKAGES:
        cases = importlib.import_module("quantized_maker." + package).CASES if any_of(package, wanted) else {}
        for name, make in cases.items():
            if any(name.startswith(start) for start in wanted):
                make(name)


def any_of(package, wanted):
    """The names of a package's cases begin with its name."""
    return any(package.startswith(start) or start.startswith(package) for start in wanted)


if __name__ == "__main__":
    main()
