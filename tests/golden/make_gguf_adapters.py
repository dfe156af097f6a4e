#!/usr/bin/env python3
"""Makes the GGUF files of the adapters in tests/golden/adapters with llama.cpp's own converter.

Run by hand with the names of the adapters (none: all); the results are committed, so that the tests need none of this:
    make_gguf_adapters.py --converter DIR [NAME ...]
DIR has convert_lora_to_gguf.py, conversion and gguf-py, as llama.cpp's sources do. Needs torch, transformers, safetensors.

Each folder whose adapter the converter takes gets adapter.gguf beside PEFT's files. Those it does not take are listed.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ADAPTERS = pathlib.Path(__file__).parent / "adapters"
# Types other than f32, by name: of one adapter each.
TYPES = {"llama_q_v": "bf16", "llama_tied": "q8_0"}
# A GGUF file has one alpha for all, which the converter takes from lora_alpha whatever these say.
SCALES = ["use_rslora", "alpha_pattern"]
SWAPPED = ["gpt2"]  # the converter takes A for B: their linear layers are stored the other way round, A and B are not


def convert(converter, folder):
    base = ADAPTERS.parent / (folder / "base").read_text().strip()
    configuration = json.loads((folder / "adapter_config.json").read_text())
    if lost := [field for field in SCALES if configuration.get(field)]:
        print(f"{folder.name}: not made: the converter does not read {lost[0]}")
        return
    command = [sys.executable, str(pathlib.Path(converter) / "convert_lora_to_gguf.py"), "--base", str(base)]
    command += ["--outfile", str(folder / "adapter.gguf"), "--outtype", TYPES.get(folder.name, "f32"), str(folder)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode == 0:
        print(f"{folder.name}: {(folder / 'adapter.gguf').stat().st_size} bytes")
    else:
        (folder / "adapter.gguf").unlink(missing_ok=True)
        print(f"{folder.name}: not taken: {run.stderr.strip().splitlines()[-1]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--converter", required=True)
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    for name in arguments.names or sorted(folder.name for folder in ADAPTERS.iterdir() if folder.name not in SWAPPED):
        convert(arguments.converter, ADAPTERS / name)
