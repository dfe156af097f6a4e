"""The makers' own clients, pinned, against the server: openai and anthropic for Python, openai for JavaScript, lm-eval.

    ninja -C build/release millrace
    MILLRACE_TEST_MODEL=SmolLM2-135M-Instruct.Q4_1.gguf pytest tests/clients
"""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "http"))

from running_server import PROGRAM, RunningServer  # noqa: E402

KEY = "key-of-the-clients"


@pytest.fixture(scope="session")
def start_guarded(tmp_path_factory):
    path = os.environ.get("MILLRACE_TEST_MODEL", "")
    if not path:
        pytest.skip("MILLRACE_TEST_MODEL is not set")
    assert PROGRAM.exists(), f"{PROGRAM} is not built: ./dev build"

    def start(*flags, **more):
        keys = tmp_path_factory.mktemp("keys") / "keys"
        keys.write_text(f"{KEY} tenant=first\nkey-with-a-quota tenant=second rpm=1\nkey-of-an-admin scopes=admin\n")
        return RunningServer(path, keys.parent / "log", "--api-key-file", str(keys), *flags, **more)

    return start


@pytest.fixture(scope="session")
def guarded(start_guarded):
    with start_guarded(wait=True) as running:
        yield running


@pytest.fixture(scope="session")
def key():
    return KEY
