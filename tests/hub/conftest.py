"""pull, list, show, rm and run against a hub of our own (hub_server.py).

    ninja -C build/release millrace
    pytest tests/hub
"""
import os
import pathlib
import random
import subprocess

import pytest
from hub_server import Hub

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("MILLRACE_BUILD_DIR", "build/release") / "bin" / "millrace"
# None of the user's own settings reaches a test.
OWN = ("MILLRACE_", "HF_", "HUGGING", "TRANSFORMERS_", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY",
       "all_proxy", "ALL_PROXY", "SSL_CERT", "CURL_CA", "REQUESTS_CA", "XDG_CACHE")


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out.decode(), err.decode()


@pytest.fixture(scope="session")
def program():
    assert PROGRAM.exists(), f"{PROGRAM} is not built: ./dev build"
    return PROGRAM


@pytest.fixture
def hub():
    server = Hub()
    yield server
    server.close()


@pytest.fixture
def environment(hub, tmp_path):
    base = {k: v for k, v in os.environ.items() if not k.startswith(OWN)}
    return base | {"HF_HOME": str(tmp_path / "hf"), "HF_ENDPOINT": hub.url, "XDG_CACHE_HOME": str(tmp_path / "cache"),
                   "MILLRACE_RETRY_DELAY": "0.01", "HF_HUB_DISABLE_PROGRESS_BARS": "0"}


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "hf" / "hub"


@pytest.fixture
def millrace(program, environment):
    def run(*arguments, ok=True, env=None, stdin=b"", **more):
        done = subprocess.run([program, *map(str, arguments)], input=stdin, capture_output=True, env=environment | (env or {}),
                              timeout=60, **more)
        outcome = Outcome(done.returncode, done.stdout, done.stderr)
        if ok:
            assert outcome.code == 0, outcome.err
        return outcome

    return run


@pytest.fixture
def fails(millrace):
    """Nothing on stdout, the last line of stderr is the error."""

    def run(code, *arguments, **more):
        outcome = millrace(*arguments, ok=False, **more)
        assert (outcome.code, outcome.out) == (code, ""), outcome.err
        error = outcome.err.rstrip("\n").split("\n")[-1]
        assert error.startswith("millrace: "), outcome.err
        return error

    return run


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


@pytest.fixture
def gguf_files():
    """A repository of three quantizations of nothing in particular, and what lies around in such repositories."""
    return {
        "README.md": b"---\nlicense: apache-2.0\n---\n# A model\n",
        ".gitattributes": b"*.gguf filter=lfs\n",
        "config.json": b"{}",
        "tiny-Q2_K.gguf": noise(20_000, 2),
        "tiny-Q4_K_M.gguf": noise(200_000, 4),
        "tiny-Q8_0.gguf": noise(30_000, 8),
        "mmproj-tiny-f16.gguf": noise(5_000, 16),
        "imatrix.gguf": noise(5_000, 17),
    }


@pytest.fixture
def safetensors_files():
    index = b'{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}'
    return {
        "README.md": b"# Another\n",
        "config.json": b'{"model_type": "llama"}',
        "generation_config.json": b"{}",
        "tokenizer.json": b"{}" + b" " * 3000,
        "tokenizer_config.json": b"{}",
        "special_tokens_map.json": b"{}",
        "additional_chat_templates/tool_use.jinja": b"x",
        "model.safetensors.index.json": index,
        "model-00001-of-00002.safetensors": noise(60_000, 1),
        "model-00002-of-00002.safetensors": noise(70_000, 2),
        "pytorch_model.bin": noise(1000, 3),
        "original/consolidated.safetensors": noise(1000, 4),
        "onnx/model.onnx": b"onnx",
        "modeling.py": b"import os",
    }


@pytest.fixture(scope="session")
def tiny_gguf(program, tmp_path_factory):
    """A model that loads, of random weights."""
    path = tmp_path_factory.mktemp("tiny") / "tiny-Q4_0.gguf"
    subprocess.run([program, "synth", "--shape", "tiny", "--format", "q4_0", "--tokenizer", "none", path], check=True, capture_output=True)
    return path
