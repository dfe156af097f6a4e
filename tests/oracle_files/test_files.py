import json
import struct

import gguf
import numpy as np
import pytest
from gguf.quants import quantize
from safetensors.numpy import load_file, save_file


def describe(oracle, path):
    return {t["name"]: t for t in map(json.loads, oracle("describe", path).decode().splitlines())}


@pytest.fixture
def gguf_file(tmp_path):
    """A file by the package, with every kind of value and several weight types."""
    path = tmp_path / "theirs.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint8("x.u8", 200)
    writer.add_int8("x.i8", -3)
    writer.add_uint16("x.u16", 60000)
    writer.add_int16("x.i16", -300)
    writer.add_uint32("x.u32", 4_000_000_000)
    writer.add_int32("x.i32", -7)
    writer.add_float32("x.f32", 1.5)
    writer.add_uint64("x.u64", 2**63 + 1)
    writer.add_int64("x.i64", -(2**40))
    writer.add_float64("x.f64", 0.1)
    writer.add_bool("x.bool", True)
    writer.add_string("x.text", "\u00e9\u4e2d")
    writer.add_array("x.words", ["a", "", "\u00e9"])
    writer.add_array("x.ints", [1, -2, 3])
    writer.add_array("x.floats", [0.5, 0.25])
    rng = np.random.default_rng(1)
    values = rng.standard_normal((6, 64)).astype(np.float32)
    writer.add_tensor("dense", values)
    writer.add_tensor("half", values.astype(np.float16))
    for name in ("Q4_0", "Q8_0"):
        kind = gguf.GGMLQuantizationType[name]
        writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)
    writer.add_tensor("cube", rng.standard_normal((2, 3, 5)).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_we_read_what_the_gguf_package_wrote(oracle, gguf_file):
    ours = describe(oracle, gguf_file)
    theirs = gguf.GGUFReader(gguf_file)
    assert list(ours) == [t.name for t in theirs.tensors]
    for tensor in theirs.tensors:
        mine = ours[tensor.name]
        assert mine["format"].upper() == tensor.tensor_type.name
        assert mine["shape"] == [int(n) for n in tensor.shape][::-1]
        assert mine["sum"] == int(np.ascontiguousarray(tensor.data).view(np.uint8).astype(np.uint64).sum())


def test_the_gguf_package_reads_what_we_wrote(oracle, gguf_file, tmp_path):
    copy = tmp_path / "ours.gguf"
    oracle("copy", gguf_file, copy)
    first, second = gguf.GGUFReader(gguf_file), gguf.GGUFReader(copy)
    assert list(first.fields) == list(second.fields)
    for key, field in first.fields.items():
        assert field.types == second.fields[key].types
        assert field.contents() == second.fields[key].contents()
    for a, b in zip(first.tensors, second.tensors, strict=True):
        assert (a.name, a.tensor_type, a.shape.tolist()) == (b.name, b.tensor_type, b.shape.tolist())
        assert np.array_equal(np.asarray(a.data).view(np.uint8), np.asarray(b.data).view(np.uint8))


@pytest.fixture
def safetensors_file(tmp_path):
    path = tmp_path / "theirs.safetensors"
    rng = np.random.default_rng(2)
    save_file(
        {
            "b": rng.standard_normal((3, 4)).astype(np.float32),
            "a": rng.standard_normal((5,)).astype(np.float16),
            "scalar": np.array(2.5, np.float32),
        },
        path,
        metadata={"format": "pt"},
    )
    return path


def test_we_read_what_the_safetensors_package_wrote(oracle, safetensors_file):
    ours = describe(oracle, safetensors_file)
    for name, array in load_file(safetensors_file).items():
        assert ours[name]["shape"] == list(array.shape)
        assert ours[name]["format"] == {"float32": "f32", "float16": "f16"}[str(array.dtype)]
        assert ours[name]["sum"] == int(np.frombuffer(array.tobytes(), np.uint8).astype(np.uint64).sum())


def test_the_safetensors_package_reads_what_we_wrote(oracle, safetensors_file, tmp_path):
    copy = tmp_path / "ours.safetensors"
    oracle("copy", safetensors_file, copy)
    theirs, ours = load_file(safetensors_file), load_file(copy)
    assert theirs.keys() == ours.keys()
    for name, array in theirs.items():
        assert np.array_equal(array, ours[name])


def test_both_refuse_a_truncated_safetensors_file(oracle, safetensors_file, tmp_path):
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(safetensors_file.read_bytes()[:-1])
    with pytest.raises(Exception):
        load_file(cut)
    code, message = oracle("describe", cut, ok=False)
    assert code == 3 and "truncated" in message


def test_a_lying_count_costs_nothing(oracle, tmp_path):
    path = tmp_path / "lie.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**60, 2**60))
    code, message = oracle("describe", path, ok=False)
    assert code == 3 and "metadata count" in message
