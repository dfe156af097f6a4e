"""--quantization rounds a model in 16 bits while it loads, and eval says what that costs."""
import json
import pathlib
import struct

import gguf
import numpy as np
import pytest

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"


@pytest.fixture(scope="module")
def bf16(millrace, real_model, tmp_path_factory):
    """A small model in bf16 with the tokenizer of the real one."""
    path = tmp_path_factory.mktemp("bf16") / "model"
    millrace("synth", "--shape", "tiny", "--format", "bf16", "--tokenizer", real_model, path)
    return path


def evaluate(millrace, model, text_file, *more):
    return json.loads(millrace("eval", model, "-f", text_file, "--json", *more).out)


def test_fewer_bits_lose_more(millrace, bf16, text_file):
    divergence = {}
    for name in ("q8_0", "w8a8", "q6_k", "q4_k", "int4-g64", "nf4", "fp8"):
        figures = evaluate(millrace, bf16, text_file, "--quantization", name, "--reference", bf16, "--weights")
        divergence[name] = figures["kld"]["mean"]
        worst = max(figures["weights"], key=lambda one: one["relative"])
        assert 0 < worst["relative"] < 0.2, name
        assert figures["kld"]["median"] <= figures["kld"]["p99"] <= figures["kld"]["largest"]
    assert divergence["q8_0"] < divergence["q4_k"] and divergence["q6_k"] < divergence["nf4"], divergence


def test_a_model_beside_itself(millrace, bf16, text_file):
    exact = ["--matmul-precision", "f32", "--kv-cache-dtype", "f32"]
    figures = evaluate(millrace, bf16, text_file, "--reference", bf16, "--weights", *exact)
    assert abs(figures["kld"]["mean"]) < 1e-9 and figures["kld"]["same_top"] == 1
    assert figures["perplexity"] == figures["reference_perplexity"]
    assert all(one["relative"] == 0 for one in figures["weights"])


def test_the_older_name_and_a_stride(millrace, bf16, text_file):
    whole = evaluate(millrace, bf16, text_file, "--window", 16)
    assert json.loads(millrace("perplexity", bf16, "-f", text_file, "--json", "--window", 16).out)["perplexity"] == whole["perplexity"]
    strided = evaluate(millrace, bf16, text_file, "--window", 16, "--stride", 4)
    assert strided["tokens"] > whole["tokens"] and strided["perplexity"] != whole["perplexity"]
    assert evaluate(millrace, bf16, text_file, "--limit", 9)["tokens"] == 8


def test_the_second_start_is_the_same(millrace, bf16, tmp_path):
    answer = ["run", bf16, "The sky is", "--temperature", "0", "-n", "8", "--quantization", "q4_0"]
    plain = millrace(*answer, "--packed-cache", "off").out
    for _ in range(2):
        assert millrace(*answer, "--packed-cache", tmp_path / "packed").out == plain
    # Another format of the same model keeps weights of its own.
    other = millrace(*answer[:-1], "q8_0", "--packed-cache", "off").out
    assert millrace(*answer[:-1], "q8_0", "--packed-cache", tmp_path / "packed").out == other


def test_auto_takes_what_fits(millrace, bf16):
    plan = lambda *flags: json.loads(millrace("inspect", bf16, "--json", *flags).out)["memory"]
    stored, q8_0, q4_k = plan(), plan("--quantization", "q8_0"), plan("--quantization", "q4_k")
    assert stored["weights"] > q8_0["weights"] > q4_k["weights"]
    limit = q8_0["total"] + (stored["total"] - q8_0["total"]) // 2
    assert plan("--quantization", "auto", "--memory", f"{limit}B")["weights"] == q8_0["weights"]
    outcome = millrace("run", bf16, "Hi", "-n", 1, "--quantization", "auto", "--memory", "100KB", ok=False)
    assert outcome.code == 4 and "memory is 102 kB" in outcome.err and "the smallest, int4-g128, takes" in outcome.err


@pytest.mark.parametrize("name, says", [("q9", "expected one of"), ("awq", "is stored as bf16, which loading does not change")])
def test_what_it_cannot_be_is_said(millrace, bf16, name, says):
    outcome = millrace("run", bf16, "Hi", "--quantization", name, ok=False)
    assert outcome.code == 2 and f"quantization is '{name}'" in outcome.err and says in outcome.err, outcome.err


def test_a_quantized_model_stays(millrace, tiny):
    outcome = millrace("run", tiny, "Hi", "--quantization", "q8_0", ok=False)
    assert "is stored as f32, q4_0" in outcome.err or "is stored as q4_0" in outcome.err, outcome.err


def older_imatrix(path, entries):
    """A file of the older form: {name: mean squares}."""
    data = struct.pack("<i", len(entries))
    for name, values in entries.items():
        data += struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", 1, len(values)) + np.asarray(values, "<f4").tobytes()
    path.write_bytes(data)
    return path


def gguf_imatrix(path, entries, tokens=7):
    writer = gguf.GGUFWriter(path, "")
    writer.add_type("imatrix")
    for name, values in entries.items():
        writer.add_tensor(f"{name}.in_sum2", tokens * np.asarray(values, np.float32)[None])
        writer.add_tensor(f"{name}.counts", np.array([[tokens]], np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def importance(bf16, millrace):
    """Mean squares for every matrix, of which a few columns count most; integers, so that no division rounds."""
    weights = json.loads(millrace("inspect", bf16, "--json", "--tensors").out)["tensors"]
    random = np.random.default_rng(3)
    draw = lambda n: np.where(random.random(n) < 0.1, 1000.0, 1.0)
    return {role: draw(cols) for role, cols in matrices(weights).items()}


def matrices(weights):
    names = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output", "gate_proj": "ffn_gate", "up_proj": "ffn_up",
             "down_proj": "ffn_down"}
    out = {}
    for one in weights:
        parts = one["name"].split(".")
        if parts[-2] in names:
            out[f"blk.{parts[2]}.{names[parts[-2]]}.weight"] = one["shape"][-1]
    return out


def test_both_forms_of_an_importance_matrix_do_the_same(millrace, bf16, text_file, importance, tmp_path):
    older, newer = older_imatrix(tmp_path / "a.dat", importance), gguf_imatrix(tmp_path / "a.gguf", importance)
    rounded = lambda *more: evaluate(millrace, bf16, text_file, "--quantization", "q4_0", "--reference", bf16, "--weights", *more)
    plain, weighed, same = rounded(), rounded("--imatrix", older), rounded("--imatrix", newer)
    assert weighed["perplexity"] == same["perplexity"] != plain["perplexity"]
    error = lambda figures: sum(one["relative"] for one in figures["weights"])
    assert error(weighed) > error(plain), "errors moved to columns that count less"


def test_packed_weights_are_those_of_their_importance_matrix(millrace, bf16, importance, tmp_path):
    first = older_imatrix(tmp_path / "a.dat", importance)
    other = older_imatrix(tmp_path / "b.dat", {name: values[::-1] for name, values in importance.items()})
    answer = ["run", bf16, "The sky is", "--temperature", "0", "-n", "8", "--quantization", "q4_0", "--imatrix"]
    kept = ["--packed-cache", tmp_path / "packed"]
    for file in (first, other, first):
        expected = millrace(*answer, file, "--packed-cache", "off").out
        assert millrace(*answer, file, *kept).out == expected
        assert millrace(*answer, file, *kept).out == expected


def refused(millrace, bf16, file, *more, code=2):
    outcome = millrace("run", bf16, "Hi", "-n", 1, "--imatrix", file, *(more or ("--quantization", "q4_0")), ok=False)
    assert outcome.code == code and outcome.err.count("\n") == 1, outcome.err
    return outcome.err


def test_an_importance_matrix_of_something_else_is_refused(millrace, bf16, importance, tmp_path):
    name, values = next(iter(importance.items()))
    write = lambda entries: older_imatrix(tmp_path / "bad.dat", entries)
    assert f"tensor '{name}' has {len(values) + 1} values, the model's has {len(values)} columns" in refused(millrace, bf16, write({name: [*values, 1.0]}))
    assert "tensor 'blk.99.attn_q.weight' is none of" in refused(millrace, bf16, write({"blk.99.attn_q.weight": values}))
    assert f"tensor '{name}': value 0 is nan" in refused(millrace, bf16, write({name: [float("nan"), *values[1:]]}), code=3)
    assert f"tensor '{name}': value 0 is -1" in refused(millrace, bf16, write({name: [-1.0, *values[1:]]}), code=3)
    whole = write(importance).read_bytes()
    (tmp_path / "cut.dat").write_bytes(whole[: len(whole) // 2])
    assert "cut.dat" in refused(millrace, bf16, tmp_path / "cut.dat", code=3)
    assert "absent.dat" in refused(millrace, bf16, tmp_path / "absent.dat", code=3)


def test_an_importance_matrix_needs_something_to_round(millrace, bf16, importance, tmp_path):
    file = older_imatrix(tmp_path / "a.dat", importance)
    outcome = millrace("run", bf16, "Hi", "--imatrix", file, ok=False)
    assert outcome.code == 2 and "quantization is not given" in outcome.err, outcome.err
    assert "there is nothing to round" in refused(millrace, GOLDEN / "gptq/v1_sym4", file, "--quantization", "gptq")
