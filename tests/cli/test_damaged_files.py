"""A good small file, one thing broken: exit code 3 and one line that names file, tensor, expected and found."""
import json
import struct

import pytest


def broken(millrace, path):
    """Loads the model to score a text; a file that is looked at alone (inspect) may not show every damage."""
    outcome = millrace("perplexity", path, "-f", path.parent / "text.txt", ok=False)
    assert outcome.code == 3, (outcome.code, outcome.out, outcome.err)
    assert outcome.out == "" and outcome.err.count("\n") == 1
    assert str(path) in outcome.err
    return outcome.err


@pytest.fixture
def copy(tiny, tmp_path):
    (tmp_path / "text.txt").write_text("text")
    path = tmp_path / "broken.gguf"
    path.write_bytes(tiny.read_bytes())
    return path


@pytest.fixture
def directory(tiny_directory, tmp_path):
    (tmp_path / "text.txt").write_text("text")
    path = tmp_path / "model"
    path.mkdir()
    for file in tiny_directory.iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    return path


def read_safetensors(directory):
    raw = (directory / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def write_safetensors(directory, header, data):
    text = json.dumps(header).encode()
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.mark.parametrize("keep", [0, 3, 20, 1000, -100])
def test_truncated_gguf(millrace, copy, keep):
    raw = copy.read_bytes()
    copy.write_bytes(raw[:keep])
    broken(millrace, copy)


def test_not_a_gguf(millrace, copy):
    copy.write_bytes(b"PK\x03\x04" + copy.read_bytes()[4:])
    assert "GGUF" in broken(millrace, copy)


def test_renamed_tensor_is_missing(millrace, copy):
    raw = copy.read_bytes()
    assert raw.count(b"blk.1.attn_q.weight") == 1
    copy.write_bytes(raw.replace(b"blk.1.attn_q.weight", b"blk.1.attn_Q.weight"))
    error = broken(millrace, copy)
    assert "'blk.1.attn_q.weight' is missing" in error and "[256, 256]" in error


def test_wrong_shape_names_expected_and_found(millrace, copy):
    raw = copy.read_bytes()
    at = raw.index(b"blk.0.attn_k.weight") + len(b"blk.0.attn_k.weight")
    dimensions = struct.pack("<IQQ", 2, 256, 128)
    assert raw[at : at + len(dimensions)] == dimensions
    copy.write_bytes(raw[:at] + struct.pack("<IQQ", 2, 256, 64) + raw[at + len(dimensions) :])
    error = broken(millrace, copy)
    assert "blk.0.attn_k.weight" in error and "[64, 256]" in error and "[128, 256]" in error


def test_overflowing_shape(millrace, copy):
    raw = copy.read_bytes()
    at = raw.index(b"blk.0.attn_k.weight") + len(b"blk.0.attn_k.weight")
    copy.write_bytes(raw[:at] + struct.pack("<IQQ", 2, 2**62, 2**62) + raw[at + 20 :])
    assert "blk.0.attn_k.weight" in broken(millrace, copy)


def test_unknown_architecture_names_the_nearest_family(millrace, copy):
    raw = copy.read_bytes()
    copy.write_bytes(raw.replace(b"llama", b"lhama"))
    error = broken(millrace, copy)
    assert "unknown architecture 'lhama'; the nearest family is llama" in error and "`millrace families` lists" in error


def test_missing_tensor_in_safetensors(millrace, directory):
    header, data = read_safetensors(directory)
    entry = header.pop("model.norm.weight")
    header["model.norm.Weight"] = entry
    write_safetensors(directory, header, data)
    assert "'model.norm.weight' is missing" in broken(millrace, directory)


def test_surplus_tensor_in_safetensors(millrace, directory):
    header, data = read_safetensors(directory)
    header["model.layers.0.adapter.weight"] = {"dtype": "F32", "shape": [4], "data_offsets": [len(data), len(data) + 16]}
    write_safetensors(directory, header, data + bytes(16))
    assert "model.layers.0.adapter.weight" in broken(millrace, directory)


def test_truncated_safetensors(millrace, directory):
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    broken(millrace, directory)


def test_config_that_disagrees_with_the_weights(millrace, directory):
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | {"intermediate_size": 768}))
    error = broken(millrace, directory)
    assert "[768, 256]" in error and "[512, 256]" in error


@pytest.mark.parametrize("change", [{"hidden_size": -1}, {"num_hidden_layers": 10**12}, {"hidden_size": "many"}])
def test_config_out_of_range(millrace, directory, change):
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | change))
    assert next(iter(change)) in broken(millrace, directory)
