"""The pages of docs/guide: each block of code is executed, each error it quotes occurs, each technique it lists is there.

    ninja -C build/release millrace
    MILLRACE_TEST_MODEL=SmolLM2-135M-Instruct.Q4_1.gguf pytest tests/guide

Blocks of Python run with the packages of tests/requirements-guide.txt, in an environment of their own (./dev setup).
"""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("MILLRACE_BUILD_DIR", "build/release") / "bin" / "millrace"
PYTHON = pathlib.Path(os.environ.get("MILLRACE_GUIDE_PYTHON", ROOT / "build" / "guide" / "bin" / "python"))

sys.path.insert(0, str(ROOT / "tests" / "hub"))

from hub_server import Hub  # noqa: E402


@pytest.fixture(scope="session")
def program():
    assert PROGRAM.exists(), f"{PROGRAM} is not built: ./dev build"
    return PROGRAM.resolve()


@pytest.fixture(scope="session")
def model():
    path = os.environ.get("MILLRACE_TEST_MODEL", "")
    if not path:
        pytest.skip("MILLRACE_TEST_MODEL is not set")
    return pathlib.Path(path).expanduser().resolve()


@pytest.fixture(scope="session")
def python():
    assert PYTHON.exists(), f"{PYTHON} is not there: ./dev setup"
    return str(PYTHON)


NAME = "bartowski/SmolLM2-135M-Instruct-GGUF"


@pytest.fixture(scope="session")
def hub(model, program, tmp_path_factory):
    """A hub of our own that has one repository, under the name of a real one. Its Q4_K_M is the tests' model, its Q8_0 a tiny one."""
    tiny = tmp_path_factory.mktemp("hub") / "tiny.gguf"
    subprocess.run([program, "synth", "--shape", "tiny", "--format", "q8_0", "--tokenizer", "none", tiny], check=True, capture_output=True)
    server = Hub()
    server.add(NAME, {"README.md": b"---\nlicense: apache-2.0\n---\n# A model\n", "SmolLM2-135M-Instruct-Q4_K_M.gguf": model.read_bytes(),
                      "SmolLM2-135M-Instruct-Q8_0.gguf": tiny.read_bytes()})
    yield server
    server.close()
