"""The pages of docs/guide: each block of code is executed, each error it quotes occurs, each technique it lists is there.

    ninja -C build/release millrace
    MILLRACE_TEST_MODEL=SmolLM2-135M-Instruct.Q4_1.gguf pytest tests/guide

Blocks of Python run with the packages of tests/requirements-guide.txt, in an environment of their own (./dev setup).
"""
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("MILLRACE_BUILD_DIR", "build/release") / "bin" / "millrace"
PYTHON = pathlib.Path(os.environ.get("MILLRACE_GUIDE_PYTHON", ROOT / "build" / "guide" / "bin" / "python"))

sys.path.insert(0, str(ROOT / "tests" / "hub"))


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
