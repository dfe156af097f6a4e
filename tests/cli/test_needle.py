"""eval --needle: a number hidden in filler text, asked for at its end."""
import json

import pytest


def needle(millrace, model, *more):
    return json.loads(millrace("eval", model, "--needle", "--json", *more).out)


def test_a_number_in_a_short_text_is_found(millrace, real_model):
    found = needle(millrace, real_model, "--needle-lengths", "256,300", "--needle-trials", 2)
    assert (found["lengths"], found["depths"], found["trials"], found["asked"]) == ([256, 300], [0, 25, 50, 75, 100], 2, 20)
    [bf16] = found["kv"]
    assert bf16["name"] == "bf16" and bf16["found"] == bf16["kept"] == sum(map(sum, bf16["right"])) >= 16
    # Chunks change nothing.
    again = needle(millrace, real_model, "--needle-lengths", "256,300", "--needle-trials", 2, "--chunk", 33)
    assert again["kv"] == found["kv"]


def test_another_kv_cache_is_compared_with_bf16(millrace, real_model):
    found = needle(millrace, real_model, "--needle-lengths", 256, "--needle-trials", 2, "--kv-cache-dtype", "int8")
    bf16, int8 = found["kv"]
    assert (bf16["name"], int8["name"]) == ("bf16", "int8")
    assert bf16["found"] - 1 <= int8["kept"] <= int8["found"]
    table = millrace("eval", real_model, "--needle", "--needle-lengths", 256, "--needle-trials", 2, "--kv-cache-dtype", "int8").out
    assert f"int8 {int8['found']}: it kept {int8['kept']} of the {bf16['found']}" in table
    assert [line.split()[:2] for line in table.splitlines()[2:4]] == [["256", "bf16"], ["256", "int8"]]


def test_a_model_of_random_weights_finds_nothing(millrace, real_model, tmp_path):
    model = tmp_path / "random.gguf"
    millrace("synth", "--shape", "tiny", "--format", "q4_0", "--tokenizer", real_model, model)
    assert needle(millrace, model, "--needle-lengths", 200, "--needle-trials", 1)["kv"][0]["found"] == 0


@pytest.mark.parametrize(
    "lengths, code, said",
    [
        ("256,9000", 2, "needle-lengths has 9000: the context of"),
        ("40", 2, "needle-lengths has 40: the question and its answer take"),
        ("0", 2, "--needle-lengths"),
        ("many", 2, "--needle-lengths"),
    ],
)
def test_lengths_that_cannot_be(millrace, real_model, lengths, code, said):
    outcome = millrace("eval", real_model, "--needle", "--needle-lengths", lengths, ok=False)
    assert outcome.code == code and outcome.err.count("\n") == 1 and said in outcome.err


def test_flags_of_texts_and_needles_do_not_mix(millrace, text_file):
    for flags in (["--needle", "-f", text_file], ["--needle", "--reference", "default"], ["--needle-lengths", "512", "-f", text_file], []):
        outcome = millrace("eval", "default", *flags, ok=False)
        assert outcome.code == 2 and outcome.out == "" and outcome.err.count("\n") == 1, flags
