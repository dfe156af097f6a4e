"""Drives the millrace program as a user does.

    ninja -C build/release millrace
    MILLRACE_TEST_MODEL=SmolLM2-135M-Instruct.Q4_1.gguf pytest tests/cli

MILLRACE_BUILD_DIR names another build folder; without MILLRACE_TEST_MODEL (a .gguf with a byte-level tokenizer) the tests that need
a real vocabulary are skipped.
"""
import os
import pathlib
import subprocess

import pytest

from chat_terminal import Chat

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("MILLRACE_BUILD_DIR", "build/release") / "bin" / "millrace"


class Outcome:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()


@pytest.fixture(scope="session")
def program():
    assert PROGRAM.exists(), f"{PROGRAM} is not built: ./dev build"
    return PROGRAM


@pytest.fixture(scope="session")
def millrace(program, tmp_path_factory):
    """millrace(arguments...) -> Outcome; with ok=True (the default) the exit code must be 0."""

    nobody_serves = {"XDG_RUNTIME_DIR": str(tmp_path_factory.mktemp("run"))}  # a server elsewhere must not answer

    def run(*arguments, stdin=b"", env=None, ok=True):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")}
        environment |= {"HF_HUB_OFFLINE": "1"} | nobody_serves | (env or {})  # no test of this folder may reach a network
        done = subprocess.run([program, *map(str, arguments)], input=stdin, capture_output=True, env=environment, timeout=120)
        outcome = Outcome(done)
        if ok:
            assert outcome.code == 0, outcome.err
        return outcome

    return run


@pytest.fixture(scope="session")
def real_model():
    path = os.environ.get("MILLRACE_TEST_MODEL", "")
    if not path:
        pytest.skip("MILLRACE_TEST_MODEL is not set")
    return pathlib.Path(path)


@pytest.fixture(scope="session")
def tiny(millrace, tmp_path_factory):
    """A small good model without a tokenizer."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    millrace("synth", "--shape", "tiny", "--format", "q4_0", "--tokenizer", "none", path)
    return path


@pytest.fixture(scope="session")
def tiny_directory(millrace, tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / "model"
    millrace("synth", "--shape", "tiny", "--format", "bf16", "--tokenizer", "none", path)
    return path


@pytest.fixture(scope="session")
def text_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("The quick brown fox jumps over the lazy dog. " * 4)
    return path


@pytest.fixture
def start(program, real_model, tmp_path):
    chats = []

    def run(*arguments, stats=True, **more):
        """`columns` wide, so wide that no line wraps unless told otherwise; further names are the environment's."""
        chat = Chat(program, tmp_path, [real_model, "--temperature", 0, *(["--stats"] if stats else []), *arguments], **more)
        chats.append(chat)
        chat.expect("/help lists the commands\r\n.*> $")
        return chat

    yield run
    for chat in chats:
        chat.close()
