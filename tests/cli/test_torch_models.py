"""Weights that torch saved give what the same weights in safetensors give."""
import json
import pathlib
import re
import shutil
import sys
import zipfile

import pytest

FILES = pathlib.Path(__file__).resolve().parents[1] / "oracle_files"
sys.path.insert(0, str(FILES))
from torch_save import Call, Global, dumps, from_safetensors  # noqa: E402

sys.path.remove(str(FILES))


@pytest.fixture
def as_torch(tmp_path):
    """as_torch(directory, name, **how) -> a copy of the directory whose weights torch saved under that name."""

    def convert(directory, name="pytorch_model.bin", **how):
        copy = tmp_path / f"{directory.name}_torch"
        shutil.copytree(directory, copy)
        from_safetensors(copy / "model.safetensors", copy / name, **how)
        (copy / "model.safetensors").unlink()
        return copy

    return convert


def inspected(millrace, path):
    return json.loads(millrace("inspect", path, "--json", "--tensors").out)


def test_a_model_is_inspected_like_one_in_safetensors(millrace, tiny_directory, as_torch):
    ours, theirs = inspected(millrace, as_torch(tiny_directory)), inspected(millrace, tiny_directory)
    assert (ours["container"], theirs["container"]) == ("torch", "safetensors")
    for key in ("shape", "parameters", "formats", "memory", "family"):
        assert {**ours, "memory": ours["memory"]["weights"]}[key] == {**theirs, "memory": theirs["memory"]["weights"]}[key]
    sizes = lambda report: {t["name"]: (t["format"], t["shape"], t["bytes"]) for t in report["tensors"]}
    assert sizes(ours) == sizes(theirs)


def test_a_model_scores_a_text_alike(millrace, real_model, tmp_path, as_torch, text_file):
    model = tmp_path / "model"
    millrace("synth", "--shape", "tiny", "--format", "f16", "--tokenizer", real_model, model)
    score = lambda directory: millrace("perplexity", directory, "-f", text_file, "--json").out.replace(str(directory), "")
    figures = [json.loads(score(directory)) for directory in (as_torch(model), model)]
    assert figures[0]["perplexity"] == figures[1]["perplexity"]


def test_safetensors_win_where_both_are(millrace, tiny_directory, as_torch):
    directory = as_torch(tiny_directory)
    shutil.copy(tiny_directory / "model.safetensors", directory)
    assert inspected(millrace, directory)["container"] == "safetensors"
    (directory / "model.safetensors").write_bytes(b"x")
    assert "model.safetensors" in millrace("inspect", directory, ok=False).err


def test_code_in_a_model_is_refused_by_name(millrace, tiny_directory, as_torch, tmp_path):
    directory, ran = as_torch(tiny_directory), tmp_path / "ran"
    with zipfile.ZipFile(directory / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", dumps({"model.norm.weight": Call(Global("os", "system"), f"touch {ran}")}))
    outcome = millrace("inspect", directory, ok=False)
    assert outcome.code == 3 and outcome.err.count("\n") == 1
    assert "it names 'os.system': refused, as reading it would run code" in outcome.err
    assert not ran.exists()


@pytest.mark.parametrize("kind,method,name", [("medusa", "medusa", "medusa_lm_head.pt"), ("eagle", "eagle", "pytorch_model.bin"),
                                              ("eagle3", "eagle", "pytorch_model.bin")])
def test_heads_guess_what_they_guess_in_safetensors(millrace, real_model, tmp_path, as_torch, kind, method, name):
    heads = tmp_path / kind
    millrace("synth", "--heads", kind, "--shape", "llama-135m", "--format", "bf16", "--tokenizer", real_model, heads)

    def answer(directory):
        done = millrace("run", real_model, "Name a colour.", "-n", 24, "--temperature", 0, "--spec-method", method, "--spec-model",
                        directory, "--no-spec-adaptive", "--spec-tokens", 3, "--stats")
        return done.out, re.findall(r"\d+ of \d+ draft tokens accepted", done.err)

    said = answer(as_torch(heads, name, parameter=kind == "eagle"))
    assert len(said[1]) == 1 and said == answer(heads)
