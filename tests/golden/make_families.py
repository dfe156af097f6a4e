#!/usr/bin/env python3
"""Makes the tiny random checkpoints of tests/golden/families with Hugging Face Transformers 5, their float32 logits and their GGUF twins.

Run by hand with the names of the families to make (none: all); the results are committed, so that the tests need none of this:
    make_families.py --converter DIR [--table FILE] [--facts FILE] [NAME ...]
Needs torch, transformers >= 5.23, safetensors, numpy, sentencepiece, protobuf; DIR is llama.cpp's source folder (convert_hf_to_gguf.py, conversion, gguf-py),
as the source archive of the Python package llama-cpp-python (0.3.36) has it in vendor/llama.cpp.

Each folder holds
    config.json, config.hub.json   the configuration as Transformers 5 writes it, and as the files on the hub are (where they differ)
    model.safetensors              bfloat16, named as on the hub; float16 holds the same values
    expected.json, .safetensors    {"tokens": [...]}, "logits" [T, V] float32; expected_short.*: a shorter prompt, where length matters
    model.gguf                     by llama.cpp's converter, where it knows the family
The script fails if the two configurations or the reloaded checkpoint give other logits, if a term of the family is not visible in them (families_maker/visible.py), if the
GGUF holds other values, or if a folder is too large.
"""

import argparse
import json
import pathlib
import re
import shutil
import tempfile
import zlib

import torch
import transformers as hf
from safetensors.torch import save_file
from transformers.core_model_loading import revert_weight_conversion

from families_maker import (
    classics,
    experts,
    gemma,
    layer_norms,
    mistral,
    openelm,
    phi,
    qwen,
    remote,
    rms_norms,
    routers,
    sigmoid_experts,
    special_experts,
    spelling,
    towers,
    twin,
    visible,
    weights,
)

OUT = pathlib.Path(__file__).parent / "families"
MAX_BYTES = 150_000
ATTEMPTS = 2000
MODULES = (gemma, phi, mistral, qwen, rms_norms, layer_norms, classics, openelm, remote, towers, experts, sigmoid_experts, special_experts)
FAMILIES = {name: f for module in MODULES for name, f in module.FAMILIES.items()}
NO_MATTER = {
    "transformers_version",
    "dtype",
    "torch_dtype",
    "architectures",
    "_name_or_path",
    "cache_implementation",
    "auto_map",
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
}


def implementations(family):
    return {"attn_implementation": family.attention} | ({"experts_implementation": "eager"} if family.margin else {})


def new_model(family, config):
    model = getattr(hf, family.loader).from_config(config, dtype=torch.float32, **implementations(family)).eval()
    if family.reshape:
        family.reshape(model)
    return model


def logits_of(model, prompts):
    with torch.no_grad():
        return [model(input_ids=p, use_cache=False).logits[0].float().contiguous() for p in prompts]


def prompts_of(family, vocabulary):
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(3, vocabulary, (1, n), generator=generator) for n in (family.tokens, family.short_tokens) if n]


def write_tensors(family, folder, model, tensors):
    named = {name: p.detach().to(torch.bfloat16) for name, p in tensors.items()}
    if family.saved:
        named = revert_weight_conversion(model, named)
    named = {family.hub_names(name): p.clone().contiguous() for name, p in named.items()}
    if family.hub_tensors:
        named = family.hub_tensors(named)
    if family.ignored:  # two small ones are enough to see whether a reader passes them over
        ignored = sorted((n for n in named if re.search(family.ignored, n)), key=lambda n: (named[n].numel(), n))
        kept = {next(n for n in ignored if n.split(".")[0] == kind) for kind in {n.split(".")[0] for n in ignored}} | set(ignored[:2])
        named = {n: t for n, t in named.items() if n not in ignored or n in kept}
    save_file(named, folder / "model.safetensors", metadata={"format": "pt"})


def write_configs(family, folder, model):
    model.config.architectures = [type(model).__name__]
    for config in {id(c): c for c in (model.config, model.config.get_text_config(), getattr(model.config, "vision_config", model.config))}.values():
        config.dtype = torch.bfloat16
    model.config.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    if family.quantization:
        config["quantization_config"] = family.quantization
    if family.remote_config:
        config = family.remote_config(config)
    if family.quantization or family.remote_config:
        spelling.write(folder / "config.json", config)
    if family.hub:
        spelling.write(folder / "config.hub.json", family.hub(config))


def effective(config):
    if isinstance(config, dict):
        return {k: effective(v) for k, v in config.items() if k not in NO_MATTER}
    return config


def differences(a, b, path=""):
    for key in sorted(a):  # what only the file of the hub has, the class does not read
        x, y = a.get(key), b.get(key)
        if isinstance(x, dict) and isinstance(y, dict):
            yield from differences(x, y, f"{path}{key}.")
        elif x != y:
            yield f"{path}{key}: {x!r} against {y!r}"


def reload_checks(family, folder, prompts, expected):
    """Both files give the same configuration, and the checkpoint read with either the same logits."""
    found = {}
    for file in ("config.json", "config.hub.json"):
        if not (folder / file).exists() or file == "config.hub.json" and family.hub_misread:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copy(folder / file, pathlib.Path(scratch) / "config.json")
            shutil.copy(folder / "model.safetensors", scratch)
            found[file] = effective(hf.AutoConfig.from_pretrained(scratch).to_dict())
            model, info = getattr(hf, family.loader).from_pretrained(
                scratch, dtype=torch.float32, output_loading_info=True, **implementations(family)
            )
        if family.reshape:
            family.reshape(model)
        stray = (
            [n for n in info["missing_keys"] if not re.search(weights.NOT_TEXT, n)]
            + [n for n in info["unexpected_keys"] if not family.ignored or not re.search(family.ignored, n)]
            + list(info["mismatched_keys"])
        )
        assert not stray, (file, stray)
        off = max(float((a - b).abs().max()) for a, b in zip(logits_of(model.eval(), prompts), expected))
        assert off == 0, (file, off)
    if len(found) == 2:
        unequal = [d for d in differences(*found.values()) if d.split(":")[0] not in family.hub_differs]
        assert not unequal, unequal


def prove_visible(family, model, tensors, prompts):
    """The rows of the table, and the holes that Family.inert does not explain."""
    config_class = type(model.config)
    state = model.state_dict()

    def build(config):
        other = new_model(family, config_class.from_dict(config))
        other.load_state_dict(state, strict=True)
        return other

    config = {k: v for k, v in model.config.to_dict().items() if k not in ("dtype", "transformers_version")}
    table = list(visible.rows(build, config, model, tensors, prompts, logits_of, family.more))
    holes = [
        (term, change, m)
        for term, change, m in table
        if m is not None and not visible.is_visible(term, change, m) and not any(re.search(pattern, term) for pattern in family.inert)
    ]
    return table, holes


def fill(name, family, model, prompts):
    """Fills the model, until no expert's choice is near to another."""
    seed = zlib.crc32(name.encode())
    if not family.margin:
        return weights.fill(family, model, seed)
    for attempt in range(ATTEMPTS):
        tensors = weights.fill(family, model, seed + attempt)
        with routers.watched() as choices:
            logits_of(model, prompts)
        if routers.are_clear(choices, family.margin):
            return tensors
    raise SystemExit(f"{name}: experts near to each other in each of {ATTEMPTS} draws: {routers.describe(choices)}")


def make(name, family, arguments):
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config = getattr(hf, family.config + "Config")(**family.fields)
    model = new_model(family, config)
    prompts = prompts_of(family, config.get_text_config().vocab_size)
    tensors = fill(name, family, model, prompts)
    expected = logits_of(model, prompts)
    for file, prompt, logits in zip(("expected", "expected_short"), prompts, expected):
        save_file({"logits": logits}, folder / f"{file}.safetensors")
        (folder / f"{file}.json").write_text(json.dumps({"tokens": prompt[0].tolist()}) + "\n")
    table, holes = prove_visible(family, model, tensors, prompts)
    write_configs(family, folder, model)
    write_tensors(family, folder, model, tensors)
    if family.saved or not family.remote_config:
        reload_checks(family, folder, prompts, expected)
    keys, names = [], []
    if not family.gguf:
        source = "config.hub.json" if family.gguf_from == "hub" and family.hub else "config.json"
        reader = twin.convert(arguments.converter, family, folder, source, folder / "model.gguf")
        keys, names = twin.describe(reader)
        if not twin.same_values(reader, folder, family):
            holes.append(("model.gguf", "other values than model.safetensors", 0.0))
    size = sum(f.stat().st_size for f in folder.iterdir())
    if size > MAX_BYTES:
        holes.append(("folder", f"{size} bytes, more than {MAX_BYTES}", 0.0))
    weakest = min((row for row in table if row[2] is not None and row[2] > visible.LIMIT), key=lambda row: row[2])
    print(
        f"{name}: {size / 1000:.0f} kB, logits std {float(expected[0].std()):.2f} max {float(expected[0].abs().max()):.1f}, "
        f"{len(table)} terms, weakest {weakest[0]} {weakest[2]:.3f}{'' if not family.gguf else ', no gguf: ' + family.gguf}",
        flush=True,
    )
    return table, holes, keys, names


def write_reports(arguments, name, family, result):
    table, _, keys, names = result
    if arguments.table:
        with open(arguments.table, "a") as out:
            out.writelines(f"{name}\t{term}\t{change}\t{'refused' if m is None else f'{m:.4f}'}\n" for term, change, m in table)
    if arguments.facts:
        with open(arguments.facts, "a") as out:
            out.write(f"## {name}\n" + "".join(f"{line}\n" for line in keys + names))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--converter", required=True)
    parser.add_argument("--table")
    parser.add_argument("--facts")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    hf.logging.set_verbosity_error()
    hf.logging.disable_progress_bar()
    failed = False
    for name in arguments.names or FAMILIES:
        result = make(name, FAMILIES[name], arguments)
        write_reports(arguments, name, FAMILIES[name], result)
        for hole in result[1]:
            print("  HOLE", *hole)
            failed = True
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
