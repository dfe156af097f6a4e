"""What `synth` writes, read with other people's libraries."""
import json

import pytest

gguf = pytest.importorskip("gguf")
numpy = pytest.importorskip("numpy")


def test_gguf_reads_as_llama(tiny):
    reader = gguf.GGUFReader(tiny)
    value = lambda key: reader.fields[key].contents()
    assert value("general.architecture") == "llama"
    assert value("llama.block_count") == 2
    assert value("llama.attention.head_count_kv") == 2
    assert value("general.file_type") == gguf.LlamaFileType.MOSTLY_Q4_0
    tensors = {t.name: t for t in reader.tensors}
    assert len(tensors) == 2 + 2 * 9
    assert tensors["blk.0.attn_q.weight"].tensor_type == gguf.GGMLQuantizationType.Q4_0
    assert tensors["blk.0.attn_norm.weight"].tensor_type == gguf.GGMLQuantizationType.F32


def test_every_format_reads_and_has_the_right_spread(millrace, tmp_path):
    formats = json.loads(millrace("synth", "--list", "--json").out)["formats"]
    assert {"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_nl", "iq4_xs", "tq1_0", "tq2_0"} <= set(formats)
    assert len(formats) >= 22
    for name in formats:
        if name in ("q1_0", "q2_0"):
            continue  # the package does not unpack them
        path = tmp_path / f"{name}.gguf"
        millrace("synth", "--shape", "tiny", "--format", name, "--tokenizer", "none", path)
        tensor = next(t for t in gguf.GGUFReader(path).tensors if t.name == "blk.0.ffn_up.weight")
        assert tensor.tensor_type.name.lower() == name
        weights = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        assert weights.shape == (512, 256)
        assert abs(weights.std() * 256**0.5 - 1) < (0.2 if name.startswith("tq") else 0.1), name  # ternary: of a few large values
        path.unlink()


def test_seed_decides_the_file(millrace, tmp_path):
    def write(name, *more):
        millrace("synth", "--shape", "tiny", "--format", "q5_k", "--tokenizer", "none", tmp_path / name, *more)
        return (tmp_path / name).read_bytes()

    first = write("a.gguf", "--seed", 5, "-t", 1)
    assert write("b.gguf", "--seed", 5, "-t", 3) == first
    assert write("c.gguf", "--seed", 6) != first


def test_safetensors_directory(tiny_directory):
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(tiny_directory / "model.safetensors", "np") as file:
        assert "model.layers.1.mlp.down_proj.weight" in file.keys()
        assert list(file.get_slice("model.embed_tokens.weight").get_shape()) == [512, 256]
    config = json.loads((tiny_directory / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert {f.name for f in tiny_directory.iterdir()} == {"config.json", "generation_config.json", "model.safetensors"}


@pytest.mark.parametrize("shape", ["tiny", "tiny-qwen3"])
def test_transformers_computes_what_we_do(millrace, real_model, text_file, tmp_path, shape):
    """Both containers and Transformers give the same perplexity."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    directory = tmp_path / "model"
    for out in (directory, tmp_path / "m.gguf"):
        millrace("synth", "--shape", shape, "--format", "f32", "--tokenizer", real_model, out)
    ours = [
        json.loads(millrace("perplexity", out, "-f", text_file, "--kv-cache-dtype", "f32", "--json").out)["perplexity"]
        for out in (directory, tmp_path / "m.gguf")
    ]
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    ids = tokenizer(text_file.read_text(), return_tensors="pt", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        loss = model(ids, labels=ids).loss.double()
    assert ours == pytest.approx([loss.exp().item()] * 2, rel=1e-3)


def test_progress_goes_to_stderr_and_can_be_silenced(millrace, tmp_path):
    outcome = millrace("synth", "--shape", "tiny", "--format", "f32", "--tokenizer", "none", "--no-progress", tmp_path / "x.gguf")
    assert outcome.err == "" and outcome.out.count("\n") == 1


def test_list_shows_every_shape(millrace):
    shapes = [s["name"] for s in json.loads(millrace("synth", "--list", "--json").out)["shapes"]]
    table = millrace("synth", "--list").out
    assert {"tiny", "llama-135m", "llama-1b", "llama-8b", "qwen3-0.6b"} <= set(shapes)
    assert all(name in table for name in shapes)
