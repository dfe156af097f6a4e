"""The GGUF twin of a checkpoint, by llama.cpp's own converter (a folder with convert_hf_to_gguf.py, conversion and gguf-py)."""

import contextlib
import io
import json
import logging
import pathlib
import re
import shutil
import sys
import tempfile

import numpy as np
import torch
from safetensors.torch import load_file, save_file


def no_vocabulary(model):
    """Keeps the converter from asking for a tokenizer; the size of the vocabulary takes its place, as llama.cpp wants it."""

    def set_vocab():
        model._set_vocab_none()
        if not any(key.endswith(".vocab_size") for shard in model.gguf_writer.kv_data for key in shard):
            model.gguf_writer.add_vocab_size(model.hparams["vocab_size"])

    model = getattr(model, "impl", model)
    model.set_vocab = set_vocab


def dummy_tokenizer(folder, config):
    """The converter of Gemma 3 counts the pieces of tokenizer.json, and cuts the embedding to as many."""
    size = config.get("vocab_size") or config["text_config"]["vocab_size"]
    vocab = {f"t{i}": i for i in range(size)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocab}, "added_tokens": []}))


def convert(converter, family, source, config_file, out, kind="MOSTLY_F16"):
    """Writes `out`, of the checkpoint in `source` with that file as its configuration."""
    for folder in (converter, pathlib.Path(converter) / "gguf-py"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    import conversion
    import gguf
    from conversion.base import ModelBase, ModelType, get_model_architecture

    logging.getLogger("hf-to-gguf").setLevel(logging.ERROR)
    logging.getLogger("gguf").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as scratch, torch.inference_mode():
        scratch = pathlib.Path(scratch) / out.parent.name
        scratch.mkdir()
        shutil.copy(source / config_file, scratch / "config.json")
        shutil.copy(source / "model.safetensors", scratch)
        if family.gguf_prepare:
            save_file(family.gguf_prepare(load_file(source / "model.safetensors")), scratch / "model.safetensors", metadata={"format": "pt"})
        dummy_tokenizer(scratch, json.loads((scratch / "config.json").read_text()))
        fields = ModelBase.load_hparams(scratch, False) | family.gguf_fields
        architecture = get_model_architecture(fields, ModelType.TEXT)
        model_class = conversion.get_model_class(architecture, mmproj=False)
        model = model_class(scratch, gguf.LlamaFileType[kind], out, eager=True, hparams=fields)
        no_vocabulary(model)
        if family.gguf_patch:
            family.gguf_patch(model)
        with contextlib.redirect_stderr(io.StringIO()):  # its progress bars
            model.write()
    return gguf.GGUFReader(str(out))


def values_of(arrays):
    return np.sort(np.concatenate([np.asarray(a, dtype=np.float32).ravel() for a in arrays]))


def plain(tensor):
    """The values of a GGUF's tensor."""
    from gguf.quants import dequantize

    return dequantize(tensor.data, tensor.tensor_type)


def plain_tensors(tensors):
    """Those of safetensors, numbers of four bits as what they stand for: the lower half of each byte first, a power of two for 32 of them."""
    numbers = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    numbers = torch.cat([numbers, -numbers])
    for name, tensor in tensors.items():
        if name.endswith("_blocks"):
            halves = torch.stack([tensor % 16, tensor // 16], -1).flatten(-2).int()
            scales = torch.exp2(tensors[name.removesuffix("_blocks") + "_scales"].float() - 127)
            yield name, (numbers[halves] * scales[..., None]).flatten(-2)
        elif not name.endswith("_scales"):
            yield name, tensor


def same_values(reader, source, family):
    """Whether the GGUF holds the values of the checkpoint, wherever it put them."""
    twin = [plain(t) for t in reader.tensors if not re.search(family.gguf_made or "^rope_f", t.name)]
    own = []
    for name, tensor in plain_tensors(load_file(source / "model.safetensors")):
        if any(pattern and re.search(pattern, name) for pattern in (family.ignored, family.gguf_absent)):
            continue
        plus_one = 1.0 if family.plus_one and re.search(family.plus_one, name) else 0.0
        own.append(tensor.float().numpy() + next((more for pattern, more in family.gguf_plus.items() if re.search(pattern, name)), plus_one))
    a, b = values_of(twin), values_of(own)
    return a.shape == b.shape and np.array_equal(a, b) and same_experts(reader, own)


def same_experts(reader, own):
    """Whether each expert of the GGUF's stacks is one of the checkpoint, and each stack holds different ones."""

    def content(matrix):
        return np.sort(np.asarray(matrix, dtype=np.float32) + 0.0, axis=None).tobytes()  # -0 becomes 0

    matrices = {content(part) for t in own if t.ndim > 1 for matrix in t.reshape(-1, *t.shape[-2:]) for part in parts_of(matrix)}
    for tensor in reader.tensors:
        if re.search(r"_exps\.weight$", tensor.name):
            stack = [content(matrix) for matrix in plain(tensor)]
            if not matrices.issuperset(stack) or len(set(stack)) != len(stack):
                return False
    return True


def parts_of(matrix):
    """What a stack may hold of a matrix that is a gate and an up product at once: the whole, halves of its rows and columns, every other one of them."""
    rows, columns = (n // 2 for n in matrix.shape)
    return (
        matrix,
        *(matrix[:rows], matrix[rows:], matrix[0::2], matrix[1::2]),
        *(matrix[:, :columns], matrix[:, columns:], matrix[:, 0::2], matrix[:, 1::2]),
    )


def describe(reader):
    """Keys and tensors of the file, as text."""
    keys = [f"{k} = {f.contents()}" for k, f in reader.fields.items() if not k.startswith(("GGUF.", "general."))]
    tensors = [f"{t.name} {list(map(int, reversed(t.shape)))} {t.tensor_type.name}" for t in reader.tensors]
    return keys, tensors
