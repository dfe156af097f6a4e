"""Exit codes, and what goes to stdout and what to stderr."""
import json

import pytest


def fails(outcome, code):
    """One line on stderr, nothing on stdout."""
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    assert outcome.err.startswith("millrace: ") and outcome.err.count("\n") == 1, outcome.err
    return outcome.err


def test_version_and_help_are_results(millrace):
    assert millrace("version").out.startswith("millrace ")
    for arguments in (["--help"], ["synth", "--help"], ["inspect", "--help"]):
        outcome = millrace(*arguments)
        assert outcome.out and not outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--log-level", "debug"],
        ["nonsense"],
        ["inspect", "--nonsense"],
        ["synth", "--shape", "no-such-shape", "--format", "f32", "x.gguf"],
        ["synth", "--shape", "tiny", "--format", "q99", "x.gguf"],
        ["tokenize", "--ids", "--json", "default", "text"],
        ["perplexity", "--kv-cache-dtype", "int3", "-f", "x"],
        ["perplexity", "--kv-layout", "rows", "-f", "x"],
        ["perplexity", "--block-size", "0", "-f", "x"],
        ["completion", "powershell"],
    ],
)
def test_usage_is_2(millrace, arguments):
    outcome = millrace(*arguments, ok=False)
    assert outcome.code == 2
    assert outcome.out == "" and outcome.err != ""


def test_incomplete_synth_is_2(millrace, tmp_path):
    assert "--shape" in fails(millrace("synth", "--format", "f32", tmp_path / "x.gguf", ok=False), 2)


def test_absent_model_is_3(millrace, tmp_path):
    missing = tmp_path / "missing.gguf"
    assert str(missing) in fails(millrace("inspect", missing, ok=False), 3)
    fails(millrace("inspect", "nobody/nothing", env={"HF_HOME": str(tmp_path)}, ok=False), 3)


def test_absent_default_model_says_how_to_place_it(millrace, tmp_path):
    outcome = millrace("inspect", env={"XDG_CACHE_HOME": str(tmp_path)}, ok=False)
    assert outcome.code == 3 and outcome.out == "" and str(tmp_path) in outcome.err


def test_a_page_size_that_the_layout_has_not_is_2(millrace, tiny, text_file):
    outcome = millrace("perplexity", tiny, "-f", text_file, "--block-size", 48, ok=False)
    assert "block-size is 48: pages of kv-layout paged32 have a multiple of 32" in fails(outcome, 2)


def test_unknown_instruction_set_is_2(millrace, tiny, text_file):
    assert "wrong" in fails(millrace("inspect", tiny, env={"MILLRACE_CPU_ISA": "wrong"}, ok=False), 2)
    outcome = millrace("perplexity", tiny, "-f", text_file, env={"MILLRACE_CPU_ISA": "wrong"}, ok=False)
    assert "wrong" in fails(outcome, 2)


def test_model_without_tokenizer_is_3(millrace, tiny, text_file):
    assert "no tokenizer" in fails(millrace("perplexity", tiny, "-f", text_file, ok=False), 3)
    assert "no tokenizer" in fails(millrace("tokenize", tiny, "text", ok=False), 3)


def test_output_that_cannot_be_written_is_2(millrace, tmp_path):
    outcome = millrace("synth", "--shape", "tiny", "--format", "f32", "--tokenizer", "none", tmp_path / "no" / "x.gguf", ok=False)
    assert str(tmp_path / "no") in fails(outcome, 2)


def test_block_format_in_a_directory_is_2(millrace, tmp_path):
    outcome = millrace("synth", "--shape", "tiny", "--format", "q4_0", "--tokenizer", "none", tmp_path / "x", ok=False)
    assert "q4_0" in fails(outcome, 2)
    assert not (tmp_path / "x").exists()


def test_json_is_json_alone(millrace, tiny, tmp_path):
    for arguments in (
        ["inspect", tiny, "--json"],
        ["inspect", tiny, "--json", "--tensors"],
        ["synth", "--list", "--json"],
        ["synth", "--shape", "tiny", "--format", "q8_0", "--tokenizer", "none", "--json", tmp_path / "x.gguf"],
    ):
        outcome = millrace(*arguments)
        json.loads(outcome.out)
        assert outcome.err == ""
