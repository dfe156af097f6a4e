"""Adapters of SmolLM2-135M for tests over HTTP: files as several tools write them, and what a server makes of them."""
import json
import re

import gguf
import numpy
import pytest
from safetensors.numpy import load_file, save_file

TEXT, LOAD, UNLOAD = "/v1/completions", "/v1/load_lora_adapter", "/v1/unload_lora_adapter"
ASK = {"prompt": "The capital of France is", "max_tokens": 12, "temperature": 0, "ignore_eos": True, "cache_salt": "adapters"}
HIDDEN, KEYS, LAYERS, RANK = 576, 192, 30, 4


def write_adapter(folder, seed, size=0.5, **config):
    """A random adapter of SmolLM2-135M's queries and values, as PEFT saves it."""
    folder.mkdir()
    random, tensors = numpy.random.default_rng(seed), {}
    for layer in range(LAYERS):
        for name, rows in (("q_proj", HIDDEN), ("v_proj", KEYS)):
            module = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            tensors[f"{module}.lora_A.weight"] = (random.standard_normal((RANK, HIDDEN)) * size / HIDDEN**0.5).astype(numpy.float32)
            tensors[f"{module}.lora_B.weight"] = (random.standard_normal((rows, RANK)) * size).astype(numpy.float32)
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    settings = {"peft_type": "LORA", "r": RANK, "lora_alpha": 2 * RANK, "target_modules": ["q_proj", "v_proj"], "use_dora": False, **config}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    return folder


def write_kohya(source, file):
    """The same adapter as Kohya's scripts write it."""
    flat = {}
    for name, tensor in load_file(source / "adapter_model.safetensors").items():
        module, end = name.removeprefix("base_model.model.").split(".lora_")
        module = "lora_te_" + module.replace(".", "_")
        flat[module + {"A.weight": ".lora_down.weight", "B.weight": ".lora_up.weight"}[end]] = tensor
        flat[module + ".alpha"] = numpy.array(2 * RANK, numpy.float32)
    save_file(flat, file)


def write_single(source, file):
    """PEFT's tensors in a file without a configuration: the scale is in its metadata."""
    save_file(load_file(source / "adapter_model.safetensors"), file, metadata={"ss_network_alpha": str(2 * RANK)})


def write_gguf(source, file):
    """As llama.cpp's converter does, which turns the rows of queries' heads of 64 from halves into pairs."""
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 2 * RANK)
    for name, tensor in load_file(source / "adapter_model.safetensors").items():
        layer, module, end = re.fullmatch(r".*layers\.(\d+)\.self_attn\.([qv])_proj\.lora_([AB])\.weight", name).groups()
        if (module, end) == ("q", "B"):
            tensor = tensor.reshape(-1, 2, 32, RANK).swapaxes(1, 2).reshape(tensor.shape)
        writer.add_tensor(f"blk.{layer}.attn_{module}.weight.lora_{end.lower()}", numpy.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory of adapters; some cannot be used, and one lies outside."""
    root = tmp_path_factory.mktemp("adapters")
    for seed, name in enumerate("abcd"):
        write_adapter(root / name, seed)
    write_adapter(root / "found", 5)
    (root / "group").mkdir()
    write_adapter(root / "group" / "inner", 6)
    write_adapter(root / "dora", 9, use_dora=True)
    (root / "escape").symlink_to(write_adapter(tmp_path_factory.mktemp("outside") / "e", 8))
    return root


@pytest.fixture(scope="module")
def adapted(start, folder):
    """A server with two of them, and with all of them in its directory."""
    with start("--lora", f"a={folder / 'a'}", "--lora", f"b={folder / 'b'}", "--lora-dir", folder) as server:
        yield server


def text_of(server, **fields):
    reply = server.post(TEXT, ASK | fields)
    assert reply.status == 200, reply
    return reply.json()["choices"][0]["text"]


def names(server):
    return {card["id"]: card for card in server.call("GET", "/v1/models").json()["data"]}
