"""Files of torch.save, written with Python's own pickle and zipfile, and read by us."""
import collections
import json
import os
import zipfile

import numpy as np
import pytest
from torch_save import BF16, Call, Global, dumps, save

RNG = np.random.default_rng(3)
TENSORS = {
    "fc.weight": RNG.standard_normal((6, 12)).astype(np.float32),
    "fc.bias": RNG.standard_normal(6).astype(np.float16),
    "norm.weight": BF16(RNG.integers(0, 2**16, 7).astype(np.uint16)),
    "scalar": np.array(2.5, np.float32),
    "d2t": np.arange(-3, 9),
    "t2d": np.array([True, False, True]),
}


def describe(oracle, path):
    return {t["name"]: t for t in map(json.loads, oracle("describe", path).decode().splitlines())}


def refused(oracle, path):
    code, message = oracle("describe", path, ok=False)
    assert code == 3 and message.count("\n") == 1 and str(path) in message
    return message


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("parameter", [False, True])
@pytest.mark.parametrize("force_zip64", [False, True])
def test_reads_what_python_pickles(oracle, tmp_path, protocol, parameter, force_zip64):
    path = tmp_path / "pytorch_model.bin"
    save(TENSORS, path, protocol, parameter, force_zip64)
    ours = describe(oracle, path)
    assert set(ours) == set(TENSORS)
    for name, value in TENSORS.items():
        array = value.array if isinstance(value, BF16) else value
        assert ours[name]["shape"] == list(array.shape)
        expected = "bf16" if isinstance(value, BF16) else {"float32": "f32", "float16": "f16"}.get(str(array.dtype), "integer")
        assert ours[name]["format"] == expected
        assert ours[name]["sum"] == int(np.frombuffer(array.tobytes(), np.uint8).astype(np.uint64).sum())


def test_tied_weights_are_the_same_bytes(oracle, tmp_path):
    weight = TENSORS["fc.weight"]
    save({"embed_tokens.weight": weight, "lm_head.weight": weight}, tmp_path / "m.bin")
    assert zipfile.ZipFile(tmp_path / "m.bin").namelist().count("archive/data/0") == 1
    ours = describe(oracle, tmp_path / "m.bin")
    assert ours["embed_tokens.weight"]["sum"] == ours["lm_head.weight"]["sum"]


def test_refuses_a_transposed_tensor(oracle, tmp_path):
    save({"w": TENSORS["fc.weight"].T}, tmp_path / "m.bin")
    assert "its strides [1, 12] do not go through [12, 6]" in refused(oracle, tmp_path / "m.bin")


def write_pickle(path, pickle):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("module,name", [("os", "system"), ("builtins", "exec"), ("torch", "load"), ("collections", "deque")])
def test_runs_nothing(oracle, tmp_path, protocol, module, name):
    ran = tmp_path / "ran"
    attack = Call(Global(module, name), f"touch {ran}")
    for payload in (attack, {"weight": attack}, collections.OrderedDict(weight=[attack])):
        write_pickle(tmp_path / "m.bin", dumps(payload, protocol))
        assert f"it names '{module}.{name}': refused, as reading it would run code" in refused(oracle, tmp_path / "m.bin")
    assert not os.path.exists(ran)


class Evil:
    def __reduce__(self):
        return os.mkdir, ("pickle_ran",)


def test_pythons_own_pickles_of_calls_are_refused(oracle, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_pickle(tmp_path / "m.bin", dumps({"weight": Evil()}))
    assert "it names 'posix.mkdir'" in refused(oracle, tmp_path / "m.bin")
    assert not (tmp_path / "pickle_ran").exists()


def test_refuses_compressed_entries(oracle, tmp_path):
    with zipfile.ZipFile(tmp_path / "m.bin", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", dumps({}) + b" " * 100)
    assert "its zip entry 'archive/data.pkl' is compressed" in refused(oracle, tmp_path / "m.bin")


def test_a_file_cut_short_is_refused(oracle, tmp_path):
    save(TENSORS, tmp_path / "whole.bin")
    raw = (tmp_path / "whole.bin").read_bytes()
    for keep in (0, 10, 21, 22, 100, len(raw) // 2, len(raw) - 23, len(raw) - 1):
        (tmp_path / "m.bin").write_bytes(raw[:keep])
        assert "truncated" in refused(oracle, tmp_path / "m.bin")
