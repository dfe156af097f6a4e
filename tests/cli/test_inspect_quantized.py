"""What inspect says of checkpoints that the packages of all methods wrote (tests/golden/quantized).

golden/quantized_formats.json has format and maker of each; parameters and bits are computed here from configurations and files.
"""
import json
import pathlib
import struct

import pytest

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
REFUSED = {"ct_mxfp6"}
FORMATS = json.loads((GOLDEN / "quantized_formats.json").read_text())
NAMES = sorted(folder.name for folder in (GOLDEN / "quantized").iterdir() if folder.name not in REFUSED)


def parameters(config):
    """(all, of the embedding), as Transformers counts them."""
    hidden, layers, heads = config["hidden_size"], config["num_hidden_layers"], config["num_attention_heads"]
    head_dim = config.get("head_dim") or hidden // heads
    q, kv = heads * head_dim, config["num_key_value_heads"] * head_dim
    attention = 2 * hidden * q + 2 * hidden * kv + (q + 2 * kv + hidden if config.get("attention_bias") else 0)
    experts = config.get("num_local_experts") or config.get("num_experts")
    width = config["moe_intermediate_size"] if experts else config["intermediate_size"]
    mlp = (experts or 1) * 3 * hidden * width + (experts * hidden if experts else 0)
    norms = 2 * hidden + (2 * head_dim if config["model_type"].startswith("qwen3") else 0)
    norms += hidden + width if config["model_type"] == "bitnet" else 0
    embedding = config["vocab_size"] * hidden
    outer = embedding * (1 if config.get("tie_word_embeddings") else 2) + hidden
    return layers * (attention + mlp + norms) + outer, embedding


def tensor_bytes(folder):
    total = 0
    for path in folder.glob("model*.safetensors"):
        with open(path, "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(size))
        total += sum(end - begin for name, tensor in header.items() if name != "__metadata__" for begin, end in [tensor["data_offsets"]])
    return total


def test_every_checkpoint_has_a_line():
    assert sorted(FORMATS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_names_format_bits_and_maker(millrace, name):
    folder = GOLDEN / "quantized" / name
    report = json.loads(millrace("inspect", folder, "--json").out)
    weights = report["weights"]
    assert [weights["format"], weights["maker"]] == FORMATS[name]
    every, embedding = parameters(json.loads((folder / "config.json").read_text()))
    assert report["parameters"]["total"] == every
    assert report["parameters"]["without_embedding"] == every - embedding
    assert sum(part["values"] for part in weights["parts"]) == every
    assert weights["bits_per_weight"] == pytest.approx(8 * tensor_bytes(folder) / every)


def test_says_it_to_people_too(millrace):
    out = millrace("inspect", GOLDEN / "quantized" / "mlx_4bit").out
    assert " M without the embedding)" in out and "(- M" not in out
    assert "weights" in out and "MLX affine: 4-bit, groups of 64;" in out and "bits a weight" in out
    assert "made by" in millrace("inspect", GOLDEN / "quantized" / "modelopt_fp8").out
    shown = millrace("show", GOLDEN / "quantized" / "mlx_4bit").out
    assert "MLX affine: 4-bit, groups of 64;" in shown and "bits a weight" in shown
    assert json.loads(millrace("show", GOLDEN / "quantized" / "mlx_4bit", "--json").out)["weights"]["method"] == "MLX affine"


def test_names_the_type_of_a_gguf_file(millrace, tiny):
    weights = json.loads(millrace("inspect", tiny, "--json").out)["weights"]
    assert (weights["format"], weights["method"]) == ("Q4_0", "Q4_0")


def test_names_what_loading_makes_of_weights(millrace, tmp_path):
    model = tmp_path / "bf16.gguf"
    millrace("synth", "--shape", "tiny", "--format", "bf16", "--tokenizer", "none", "--no-progress", model)
    report = json.loads(millrace("inspect", model, "--json", "--quantization", "q8_0", "--kv-cache-dtype", "int8").out)
    assert report["weights"]["format"] == "BF16"
    assert (report["memory"]["quantization"], report["memory"]["kv_cache_dtype"]) == ("q8_0", "int8")
    assert "loaded as" in millrace("inspect", model, "--quantization", "q8_0").out


def test_a_start_says_once_what_runs_as_f32(millrace):
    model = GOLDEN / "quantized" / "mlx_nvfp4"
    outcome = millrace("bench", "latency", model, "--prompt-tokens", "8", "--output-tokens", "2", "--runs", "1",
                       env={"MILLRACE_LOG_LEVEL": "info"})
    assert outcome.err.count("computed as f32") == 1 and "'model.layers.0.mlp.down_proj.weight' [64, 96]" in outcome.err
    assert outcome.err.count("weights are MLX nvfp4: nvfp4") == 1


def test_panels_of_iquants_follow_memory(millrace):
    model = GOLDEN / "gguf_types" / "llama" / "model.gguf"
    memory = lambda *flags: json.loads(millrace("inspect", model, "--json", *flags).out)["memory"]
    fast, compact = memory("--iq-panels", "fast"), memory("--iq-panels", "compact")
    assert compact["weights"] < fast["weights"] and memory()["weights"] == fast["weights"]
    between = (fast["total"] + compact["total"]) // 2
    assert memory("--memory", f"{between}B")["weights"] == compact["weights"]
    refused = millrace("inspect", model, "--iq-panels", "small", ok=False)
    assert refused.code != 0 and "--iq-panels" in refused.err
