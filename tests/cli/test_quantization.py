"""--quantization rounds a model in 16 bits while it loads, and eval says what that costs."""
import json

import pytest


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
    for name in ("q8_0", "q6_k", "q4_k", "int4-g64", "nf4", "fp8"):
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
