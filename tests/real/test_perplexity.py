"""The real model's perplexity against Transformers on the same dequantized weights."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = pathlib.Path(os.environ.get("MILLRACE_BUILD_DIR", ROOT / "build/release")) / "bin/millrace"
MODEL = os.environ.get("MILLRACE_TEST_MODEL")


@pytest.mark.skipif(MODEL is None, reason="MILLRACE_TEST_MODEL is not set")
def test_perplexity_is_within_half_a_percent_of_the_reference():
    reference = json.loads((ROOT / "tests/golden/real_model.json").read_text())
    run = subprocess.run([BINARY, "perplexity", MODEL, "-f", ROOT / "tests/data/licenses.txt", "--json"], check=True,
                         capture_output=True, text=True)
    ours = json.loads(run.stdout)
    assert ours["tokens"] == reference["perplexity_tokens"]
    assert abs(ours["perplexity"] / reference["perplexity"] - 1) < 0.005
