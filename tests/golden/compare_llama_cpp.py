#!/usr/bin/env python3
"""What llama.cpp computes of the golden GGUF files beside what the files were made to give: the largest difference over the largest logit, by family.

    tests/golden/compare_llama_cpp.py [NAME...]

Run by hand, with llama-cpp-python (0.3.36), whose products of f16 leave about 1e-3. Files of another size than the published ones show where its code counts
layers (Baichuan) or has the pattern of windows fixed (EXAONE 4, OLMo 3); it has no windows for Phi 3, drops layers without MLP (Deci) and rounds PLaMo 3's
bounds of YaRN.
"""

import json
import pathlib
import subprocess
import sys

import llama_cpp
import numpy

FAMILIES = pathlib.Path(__file__).resolve().parent / "families"


def logits_of(path):
    raw = path.read_bytes()
    header = json.loads(raw[8 : 8 + (size := int.from_bytes(raw[:8], "little"))])["logits"]
    begin, end = header["data_offsets"]
    return numpy.frombuffer(raw[8 + size + begin : 8 + size + end], numpy.float32).reshape(header["shape"])


def computed(path, tokens, vocabulary):
    """The logits behind each token, or why there are none."""
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
    if not model:
        return "does not load"
    options = llama_cpp.llama_context_default_params()
    options.n_ctx = options.n_batch = options.n_ubatch = 256
    options.type_k = options.type_v = 0  # f32
    options.flash_attn_type = 0
    context = llama_cpp.llama_init_from_model(model, options)
    if not context:
        return "makes no context"
    batch = llama_cpp.llama_batch_init(len(tokens), 0, 1)
    batch.n_tokens = len(tokens)
    for i, token in enumerate(tokens):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, 1
        batch.seq_id[i][0] = 0
    if failed := llama_cpp.llama_decode(context, batch):
        return f"fails with {failed}"
    rows = [numpy.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, i), (vocabulary,)).copy() for i in range(len(tokens))]
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return numpy.stack(rows)


def compare(folder):
    silent = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(silent, None)
    llama_cpp.llama_backend_init()
    expected = logits_of(folder / "expected.safetensors")
    found = computed(folder / "model.gguf", json.loads((folder / "expected.json").read_text())["tokens"], expected.shape[1])
    print(found if isinstance(found, str) else f"{abs(found - expected).max() / abs(expected).max():.1e}")


def main(names):
    for folder in sorted(FAMILIES.iterdir()):
        if (folder / "model.gguf").exists() and (not names or folder.name in names):
            # Each in a process of its own, as llama.cpp ends the process where it meets what it does not expect.
            done = subprocess.run([sys.executable, __file__, "--one", folder], capture_output=True, text=True)
            print(f"{folder.name}: {'ends the process' if done.returncode else done.stdout.strip()}", flush=True)


if __name__ == "__main__":
    compare(pathlib.Path(sys.argv[2])) if sys.argv[1:2] == ["--one"] else main(sys.argv[1:])
