"""The bash script in a real bash; those for zsh and fish by their text, and their parsers where they are installed."""
import shutil
import subprocess

import pytest


@pytest.fixture(scope="module")
def complete(program):
    def run(*words, cwd=None):
        script = (
            'source <("$0" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _millrace; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(["bash", "-c", script, program, "millrace", *words], capture_output=True, cwd=cwd, timeout=30)
        assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
        return [line for line in done.stdout.decode().split("\n") if line]

    return run


def test_completes_subcommands(complete):
    assert {"inspect", "synth", "tokenize", "completion", "perplexity", "version"} <= set(complete(""))
    assert complete("perp") == ["perplexity"]


def test_completes_options_of_the_subcommand(complete):
    assert complete("inspect", "--tem") == ["--template"]
    assert complete("tokenize", "--tem") == []
    assert "--log-level" in complete("--lo")


def test_completes_options_that_stand_in_a_group(complete):
    assert "--json-schema" in complete("run", "--json-s")
    assert "--regex" in complete("run", "--reg")


def test_completes_values(complete):
    assert complete("perplexity", "--kv-cache-dtype", "") == ["bf16", "f16", "f32", "int8"]
    assert complete("perplexity", "--kv-layout", "v") == ["vector16"]
    assert complete("--log-level", "w") == ["warn"]
    assert complete("completion", "z") == ["zsh"]
    assert "llama-135m" in complete("synth", "--shape", "llama-1")


def test_completes_files(complete, tmp_path):
    (tmp_path / "model.gguf").touch()
    (tmp_path / "a model.gguf").touch()
    assert complete("inspect", "mod", cwd=tmp_path) == ["model.gguf"]
    assert complete("perplexity", "--file", "mod", cwd=tmp_path) == ["model.gguf"]
    assert complete("perplexity", "--file", "a", cwd=tmp_path) == ["a model.gguf"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_parse_and_name_every_subcommand(millrace, shell):
    script = millrace("completion", shell).out
    for name in ("inspect", "synth", "tokenize", "completion", "perplexity", "version"):
        assert name in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n"], input=script.encode(), capture_output=True, timeout=30)
    assert done.returncode == 0, done.stderr.decode()
